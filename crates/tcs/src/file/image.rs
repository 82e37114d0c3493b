//! Images as files: a line about the image, then the image.

use super::{Description, FileError, file};
use crate::link::Image;
use crate::link::report::Report;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use strata_model::{sha256_hex, write_atomically};

const VERSION: u32 = 1;

/// The characters of a digest in messages.
const SHORT: usize = 12;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(rename = "strata-image")]
    version: u32,
    application: String,
    target: String,
    /// The digest of the description.
    description: String,
    /// The digest of the second line, and its bytes.
    image: String,
    bytes: usize,
}

impl Image {
    /// Writes it to a file, which is replaced as a whole. `description` is what it was linked from, by
    /// [`Description::link`].
    ///
    /// # Errors
    /// If the file cannot be written, or the image was linked from something else.
    pub fn write(&self, path: impl AsRef<Path>, description: &Description) -> Result<(), FileError> {
        let path = path.as_ref();
        let digest = description.digest();
        if self.description != digest {
            let why = "the image was not linked from this description".to_owned();
            return Err(FileError::NoImage { path: path.to_owned(), why });
        }
        // Numbers, text and lists only, so that serialization cannot fail.
        let body = serde_json::to_string(self).unwrap_or_default();
        let head = Head {
            version: VERSION,
            application: self.name.clone(),
            target: self.target.name.clone(),
            description: digest,
            image: sha256_hex(body.as_bytes()),
            bytes: body.len(),
        };
        let head = serde_json::to_string(&head).unwrap_or_default();
        write_atomically(path, |out| writeln!(out, "{head}\n{body}")).map_err(file(path))
    }

    /// Reads it from a file, and verifies that it is whole, as it was linked, and of `description`:
    /// in each process of a job, before the job starts.
    ///
    /// # Errors
    /// If it cannot be read, or is not: the error tells which.
    pub fn load(path: impl AsRef<Path>, description: &Description) -> Result<Self, FileError> {
        let path = path.as_ref();
        let no = |why: String| FileError::NoImage { path: path.to_owned(), why };
        let text = fs::read_to_string(path).map_err(file(path))?;
        let (head, body) = text.split_once('\n').unwrap_or((&text, ""));
        let body = body.strip_suffix('\n').unwrap_or(body);
        let head: Head = serde_json::from_str(head).map_err(|error| no(error.to_string()))?;
        if head.version != VERSION {
            return Err(no(format!("version {}, where version {VERSION} is read", head.version)));
        }
        if body.len() != head.bytes {
            return Err(FileError::Torn { path: path.to_owned(), found: body.len(), whole: head.bytes });
        }
        if sha256_hex(body.as_bytes()) != head.image {
            return Err(FileError::Changed { path: path.to_owned() });
        }
        let mine = description.digest();
        if mine != head.description {
            let [theirs, mine] =
                [head.description, mine].map(|digest| digest.chars().take(SHORT).collect::<String>());
            return Err(FileError::OfAnother {
                path: path.to_owned(),
                application: head.application,
                target: head.target,
                theirs,
                own: description.name().to_owned(),
                own_target: description.target.name.clone(),
                mine,
            });
        }
        let mut image: Self = serde_json::from_str(body).map_err(|error| no(error.to_string()))?;
        image.report = Report::new(&description.app, &image);
        image.description = mine;
        Ok(image)
    }
}
