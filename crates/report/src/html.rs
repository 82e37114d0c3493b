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
    tables: usize,
}

/// A drawing with its texts. Plain text, except the drawing.
pub(crate) struct Figure<'a> {
    pub(crate) svg: &'a str,
    /// Its name, which a screen reader reads first.
    pub(crate) title: &'a str,
    /// Its description for people who cannot see it.
    pub(crate) description: &'a str,
    /// Its caption.
    pub(crate) caption: &'a str,
}

impl Page {
    pub(crate) fn add(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(text);
    }

    /// Begins a table in a box that scrolls, also by keys, if the table is too wide. A column whose
    /// name begins with `#` holds numbers.
    pub(crate) fn begin_table(&mut self, caption: &str, columns: &[&str]) {
        self.tables += 1;
        let number = self.tables;
        self.add(format_args!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"table-{number}\"><table>\n\
             <caption id=\"table-{number}\">{}</caption>\n<thead><tr>",
            Escaped(caption)
        ));
        for column in columns {
            match column.strip_prefix('#') {
                Some(name) => self.add(format_args!("<th scope=\"col\" class=\"n\">{}</th>", Escaped(name))),
                None => self.add(format_args!("<th scope=\"col\">{}</th>", Escaped(column))),
            }
        }
        self.add(format_args!("</tr></thead>\n<tbody>\n"));
    }

    pub(crate) fn end_table(&mut self) {
        self.add(format_args!("</tbody>\n</table></div>\n"));
    }

    pub(crate) fn figure(&mut self, figure: &Figure<'_>) {
        self.figures += 1;
        let number = self.figures;
        let Figure { svg, title, description, caption } = figure;
        let begin = format!(
            "<svg role=\"img\" aria-labelledby=\"figure-{number}\" aria-describedby=\"about-{number}\" "
        );
        let svg = svg.trim_start().replacen("<svg ", &begin, 1);
        let (tag, rest) = svg.split_once('>').unwrap_or((&svg, ""));
        self.add(format_args!(
            "<figure>\n{tag}>\n<title id=\"figure-{number}\">{}</title>\n<desc id=\"about-{number}\">{}</desc>{rest}\
             <figcaption>{}</figcaption>\n</figure>\n",
            Escaped(title),
            Escaped(description),
            Escaped(caption)
        ));
    }
}
