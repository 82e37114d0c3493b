//! The text of a page under construction: escaping, tables, figures.

use std::fmt::{self, Display, Write};

/// Escapes text for HTML, and makes control characters visible. A per cent sign stays on the line
/// of its number.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chars = self.0.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                ' ' if chars.peek() == Some(&'%') => f.write_char('\u{a0}')?,
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if c.is_control() && c != '\n' && c != '\t' => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Writing to a string cannot fail.
#[derive(Default)]
pub(crate) struct Page {
    pub(crate) text: String,
    figures: usize,
    matrices: usize,
}

/// A drawing with its texts. Plain text, except the drawing.
pub(crate) struct Figure<'a> {
    /// One for every screen, or one for wide screens and one for narrow ones.
    pub(crate) svg: &'a [String],
    /// Its name, which a screen reader reads first.
    pub(crate) title: &'a str,
    /// Its description for people who cannot see it.
    pub(crate) description: &'a str,
    pub(crate) caption: &'a str,
}

impl Page {
    pub(crate) fn add(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(text);
    }

    /// Begins a table. A column whose name begins with `#` holds numbers.
    pub(crate) fn begin_table(&mut self, caption: &str, columns: &[&str]) {
        self.add(format_args!("<table>\n"));
        self.head("", caption, columns);
    }

    pub(crate) fn end_table(&mut self) {
        self.add(format_args!("</tbody>\n</table>\n"));
    }

    /// Begins a table that may have many columns, in a box that scrolls, also by keys.
    pub(crate) fn begin_matrix(&mut self, caption: &str, columns: &[&str]) {
        self.matrices += 1;
        let number = self.matrices;
        self.add(format_args!(
            "<p class=\"hint\">What does not fit scrolls sideways.</p>\n\
             <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"table-{number}\"><table>\n"
        ));
        self.head(&format!(" id=\"table-{number}\""), caption, columns);
    }

    pub(crate) fn end_matrix(&mut self) {
        self.end_table();
        self.add(format_args!("</div>\n"));
    }

    fn head(&mut self, id: &str, caption: &str, columns: &[&str]) {
        self.add(format_args!("<caption{id}>{}</caption>\n<thead><tr>", Escaped(caption)));
        for column in columns {
            match column.strip_prefix('#') {
                Some(name) => self.add(format_args!("<th scope=\"col\" class=\"n\">{}</th>", Escaped(name))),
                None => self.add(format_args!("<th scope=\"col\">{}</th>", Escaped(column))),
            }
        }
        self.add(format_args!("</tr></thead>\n<tbody>\n"));
    }

    pub(crate) fn figure(&mut self, figure: &Figure<'_>) {
        let Figure { svg, title, description, caption } = figure;
        self.add(format_args!("<figure>\n"));
        let classes =
            if let [_, _] = svg { &["class=\"wide\" ", "class=\"narrow\" "][..] } else { &[""][..] };
        for (svg, class) in svg.iter().zip(classes) {
            self.figures += 1;
            let number = self.figures;
            let begin = format!(
                "<svg {class}role=\"img\" aria-labelledby=\"figure-{number}\" aria-describedby=\"about-{number}\" "
            );
            let svg = svg.trim_start().replacen("<svg ", &begin, 1);
            let (tag, rest) = svg.split_once('>').unwrap_or((&svg, ""));
            self.add(format_args!(
                "{tag}>\n<title id=\"figure-{number}\">{}</title>\n<desc id=\"about-{number}\">{}</desc>{rest}",
                Escaped(title),
                Escaped(description)
            ));
        }
        self.add(format_args!("<figcaption>{}</figcaption>\n</figure>\n", Escaped(caption)));
    }
}
