//! All that the linker is given, as a value and as a file.

use super::{FileError, file};
use crate::describe::{App, TaskId};
use crate::link::{Image, LinkErrors, Options, link_with};
use crate::target::Target;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fs;
use std::path::Path;
use strata_model::{sha256_hex, write_atomically};

const VERSION: u32 = 1;

/// All that the linker is given: an application, its root task, a machine, and options.
///
/// ```
/// use strata_tcs::{App, Description, Image, Target};
/// strata_tcs::communication! {
///     networks { Up }
///     sets { Collect: Up; }
/// }
/// let mut app = App::new("collect");
/// let root = app.task("collect", 2);
/// app[root].connect::<f64, Up>(1, 0);
/// app[root].set::<Collect>();
/// let description = Description::new(app, root, Target::crossbar(2));
/// # let folder = std::env::temp_dir().join(format!("strata-tcs-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let (file, linked) = (folder.join("collect.json"), folder.join("collect.image"));
/// description.write(&file)?;                                // then: strata-link FILE -o IMAGE
/// # Description::read(&file)?.link()?.write(&linked, &description)?;
/// let image = Image::load(&linked, &description)?;
/// # std::fs::remove_dir_all(&folder)?;
/// assert_eq!(image.report(), description.link()?.report());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    #[serde(rename = "strata-description")]
    version: Version,
    pub(super) app: App,
    root: TaskId,
    pub(super) target: Target,
    options: Options,
}

/// The file's version, which is checked before anything else.
#[derive(Clone, Debug)]
struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        VERSION.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            VERSION => Ok(Self),
            other => Err(D::Error::custom(format!("version {other}, where version {VERSION} is read"))),
        }
    }
}

impl Description {
    /// The description of `root`, and all that it contains, for `target`, with the default options.
    #[must_use]
    pub fn new(app: App, root: TaskId, target: Target) -> Self {
        Self { version: Version, app, root, target, options: Options::default() }
    }

    /// The same with other options.
    #[must_use]
    pub fn with(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// The application's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.app.name()
    }

    /// The root task.
    #[must_use]
    pub fn root(&self) -> TaskId {
        self.root
    }

    /// Links it.
    ///
    /// # Errors
    /// All errors at once.
    pub fn link(&self) -> Result<Image, LinkErrors> {
        let image = link_with(&self.app, self.root, &self.target, &self.options)?;
        Ok(Image { description: self.digest(), ..image })
    }

    /// Its text in files.
    pub(super) fn text(&self) -> String {
        // Numbers, text and lists only, so that serialization cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The digest of its text, in hexadecimal: an image is of one description only.
    #[must_use]
    pub fn digest(&self) -> String {
        sha256_hex(self.text().as_bytes())
    }

    /// Writes it to a file, which is replaced as a whole.
    ///
    /// # Errors
    /// If the file cannot be written, or could not be read again: numbers that are not finite, and
    /// simulated machines that are not built in, have no place in it.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        let mut faults = self.app.endless_rates();
        faults.extend(self.target.faults());
        if faults.is_empty()
            && let Err(error) = serde_json::from_str::<Self>(&self.text())
        {
            faults.push(error.to_string());
        }
        if !faults.is_empty() {
            return Err(FileError::NoDescription { path: path.to_owned(), why: faults.join("; ") });
        }
        write_atomically(path, |out| writeln!(out, "{}", self.text())).map_err(file(path))
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is no description: the error names the line.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let no = |why: String| FileError::NoDescription { path: path.to_owned(), why };
        let bytes = fs::read(path).map_err(file(path))?;
        let this: Self = serde_json::from_slice(&bytes).map_err(|error| no(error.to_string()))?;
        let faults = this.app.faults();
        if faults.is_empty() { Ok(this) } else { Err(no(faults.join("; "))) }
    }
}
