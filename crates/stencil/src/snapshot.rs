//! Fields in files in NumPy's format, for other programs and for restarts.
//!
//! The values of all points are the whole state of a solver. A program that restarts from a file
//! computes the same values, to the bit, as an uninterrupted one, on any number of nodes.

use std::path::{Path, PathBuf};

use strata_model::write_atomically;
use strata_runtime::Node;
use thiserror::Error;

use crate::{Solution, Value};

/// The start of a NumPy file, with version 1.0 of the format.
const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// Why a field could not be written or read.
#[derive(Clone, Debug, Error)]
#[error("{}: {reason}", path.display())]
pub struct SnapshotError {
    /// The file.
    pub path: PathBuf,
    /// The fault.
    pub reason: String,
}

impl From<SnapshotError> for strata_runtime::Error {
    fn from(error: SnapshotError) -> Self {
        Self::program(error)
    }
}

/// The values of all points of a grid, from a file.
///
/// ```
/// use strata_runtime::prelude::*;
/// use strata_stencil::{Edge, Grid, snapshot::Snapshot};
///
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("field.npy");
/// let grid = || Grid::<f64>::new(30, 20).boundaries(Edge::value(1.0)).no_threshold();
/// let whole = Machine::threads(1)?.run(|node| Ok(grid().iterations(50).solve(node)?.gather(node)))?;
/// // 20 iterations on three nodes, and the others on two.
/// Machine::threads(3)?.run(|node| {
///     let solution = grid().iterations(20).solve(node)?;
///     solution.save(node, &file).map_err(Error::program)
/// })?;
/// let rest = Machine::threads(2)?.run(|node| {
///     let before = Snapshot::read(&file)?;
///     Ok(grid().initial(move |x, y| before.at(x, y)).iterations(30).solve(node)?.gather(node))
/// })?;
/// assert_eq!(rest[0], whole[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<T> {
    size: [usize; 3],
    values: Vec<T>,
}

impl<T: Value> Snapshot<T> {
    /// Reads a file of [`Solution::save`], or any NumPy file with two or three dimensions, in C
    /// order, with little-endian elements of type `T`.
    ///
    /// # Participation
    /// Local: each node that needs values reads the file.
    ///
    /// # Errors
    /// If the file cannot be read, has another format, or is incomplete.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| error.to_string());
        let parsed = bytes.and_then(|bytes| Self::parse(&bytes));
        parsed.map_err(|reason| SnapshotError { path: path.to_owned(), reason })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let no_file = "not a file of NumPy's format 1.0";
        let rest = bytes.strip_prefix(MAGIC).ok_or(no_file)?;
        let (length, rest) = rest.split_first_chunk().ok_or(no_file)?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (header, data) = rest.split_at_checked(length).ok_or("the file ends within its header")?;
        let header = String::from_utf8_lossy(header);
        let expected = format!("'{}'", descriptor::<T>());
        if !header.contains(&expected) || !header.contains("'fortran_order': False") {
            return Err(format!("its header is {}, not one of {expected} in C's order", header.trim()));
        }
        let shape = header.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')'));
        let numbers = shape.map(|(shape, _)| shape.split(',').map(|n| n.trim().parse::<usize>()));
        let numbers: Option<Vec<usize>> = numbers.and_then(|numbers| numbers.collect::<Result<_, _>>().ok());
        let [width, height, depth] = match numbers.as_deref() {
            Some(&[height, width]) => [width, height, 1],
            Some(&[depth, height, width]) => [width, height, depth],
            _ => return Err(format!("its header is {}, without two or three dimensions", header.trim())),
        };
        let bytes = [height, depth, size_of::<T>()];
        let whole = bytes.iter().try_fold(width, |product, factor| product.checked_mul(*factor));
        if whole != Some(data.len()) {
            return Err(format!(
                "{} bytes of data where {width} by {} points of {} bytes are said: it was cut short, or changed",
                data.len(),
                height.saturating_mul(depth),
                size_of::<T>()
            ));
        }
        let values = data.chunks_exact(size_of::<T>()).map(T::from_little_endian).collect();
        Ok(Self { size: [width, height, depth], values })
    }

    /// Width and height of the grid.
    #[must_use]
    pub fn size(&self) -> [usize; 2] {
        [self.size[0], self.size[1]]
    }

    /// Planes of the volume; 1 of a grid.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.size[2]
    }

    /// The value of a point; NaN outside the grid, which a solver rejects.
    #[must_use]
    pub fn at(&self, x: usize, y: usize) -> T {
        self.at_plane(x, y, 0)
    }

    /// The value of a point of a volume; NaN outside it.
    #[must_use]
    pub fn at_plane(&self, x: usize, y: usize, z: usize) -> T {
        let [width, height, depth] = self.size;
        match x < width && y < height && z < depth {
            true => self.values[(z * height + y) * width + x],
            false => T::nearest(f64::NAN),
        }
    }
}

impl<T: Value> Solution<T> {
    /// Writes all points to a file for NumPy (`numpy.load`), as an array of rows, or of planes of
    /// rows. The file is replaced only when all of the new one is on the disk.
    ///
    /// # Participation
    /// Collective; node 0 writes.
    ///
    /// # Errors
    /// If the file cannot be written; every node gets an error.
    pub fn save(&self, node: &mut Node, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        let path = path.as_ref();
        let written = self.gather(node).map(|values| {
            let [width, height] = self.size();
            let shape = match self.depth() {
                1 => vec![height, width],
                depth => vec![depth, height, width],
            };
            let written = write_atomically(path, |file| file.write_all(&bytes(&shape, &values)));
            written.map_err(|error| {
                let text = error.to_string();
                text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&text).to_owned()
            })
        });
        let failed = node.global_or(matches!(written, Some(Err(_))));
        match written {
            Some(Err(reason)) => Err(SnapshotError { path: path.to_owned(), reason }),
            _ if failed => {
                let reason = "node 0 could not write it".to_owned();
                Err(SnapshotError { path: path.to_owned(), reason })
            }
            _ => Ok(()),
        }
    }
}

/// NumPy's name of the type.
fn descriptor<T>() -> &'static str {
    if size_of::<T>() == 4 { "<f4" } else { "<f8" }
}

/// The file's contents.
fn bytes<T: Value>(shape: &[usize], values: &[T]) -> Vec<u8> {
    let shape = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let header =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({shape}), }}", descriptor::<T>());
    // Data begin at a multiple of 64 bytes; the header ends with a newline.
    let length = (MAGIC.len() + 2 + header.len() + 1).next_multiple_of(64) - MAGIC.len() - 2;
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(length as u16).to_le_bytes());
    bytes.extend_from_slice(format!("{header:<width$}\n", width = length - 1).as_bytes());
    values.iter().for_each(|value| value.extend_little_endian(&mut bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_short_is_not() {
        let values: Vec<f32> = (0..15).map(|i| i as f32 / 3.0).collect();
        let bytes = bytes(&[3, 5], &values);
        assert_eq!(bytes.len(), 128 + 60);
        let snapshot = Snapshot::<f32>::parse(&bytes).unwrap();
        assert_eq!((snapshot.size(), snapshot.at(4, 2), snapshot.at(0, 1)), ([5, 3], 14.0 / 3.0, 5.0 / 3.0));
        assert!(snapshot.at(5, 0).is_nan() && snapshot.at(0, 3).is_nan());
        for end in 0..bytes.len() {
            let error = Snapshot::<f32>::parse(&bytes[..end]).unwrap_err();
            assert!(end < 128 || error.contains("cut short"), "{error}");
        }
        assert!(Snapshot::<f64>::parse(&bytes).unwrap_err().contains("not one of '<f8'"));
    }
}
