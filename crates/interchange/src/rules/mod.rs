//! Rules by which MPI libraries choose the algorithms of collectives, written from choices and read
//! back.
//!
//! A rule names an algorithm for messages from some size on, in communicators of some size. What is
//! written names only what was chosen ([`Chosen`]): everywhere else the library decides as it would
//! without the file.
//!
//! Source: Open MPI 4.1.4, 5.0.x and 6.0.x, `ompi/mca/coll/tuned`; of MPICH see [`Tree`]
//! and of Intel MPI [`intel`].

mod classic;
mod intel;
mod json;
mod mpich;
mod write;

use std::str::FromStr;

use strata_model::samples::SamplesErrors;
use strata_model::{intel as of_intel, mpich as of_mpich};

use crate::place::{Problems, utf8};

pub use intel::{intel, read_intel};
pub use mpich::Tree;
pub use strata_model::openmpi::{COLLECTIVES, Collective, Release, Size};
pub use write::openmpi;

/// The candidate that leaves the choice to the library.
pub const AUTO: &str = "auto";

/// Whose rules a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Open MPI's, for a release.
    OpenMpi(Release),
    /// MPICH's, for 4.0.
    Mpich,
    /// Intel MPI's, for 2021.18.
    Intel,
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = |other: &str, of: &str, known: &str| {
            Err(format!("`{other}` is no release of {of} whose rules are known; there is {known}"))
        };
        match text.split_once('-') {
            Some(("mpich", of_mpich::RELEASE)) => Ok(Self::Mpich),
            Some(("mpich", other)) => unknown(other, "MPICH", of_mpich::RELEASE),
            Some(("intel", of_intel::RELEASE)) => Ok(Self::Intel),
            Some(("intel", other)) => unknown(other, "Intel MPI", of_intel::RELEASE),
            _ => text.parse().map(Self::OpenMpi),
        }
    }
}

/// What was chosen for a collective on a number of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The collective, as the library of the model set is named.
    pub collective: String,
    /// The number of processes.
    pub processes: u64,
    /// The ranges of sizes with a choice of their own, rising; elsewhere the library decides.
    pub ranges: Vec<Range>,
}

/// An algorithm for a range of sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The least size: bytes that one process passes.
    pub from: u64,
    /// The least size above the range.
    pub to: u64,
    /// The algorithm, as the candidate is named.
    pub algorithm: String,
    /// The names and values of the candidate's parameters.
    pub parameters: Vec<(String, i64)>,
    /// A remark for readers: what is gained.
    pub note: String,
}

/// A rule file of Open MPI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFile {
    /// Its collectives.
    pub collectives: Vec<CollectiveRules>,
}

/// The rules of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveRules {
    /// Which one.
    pub collective: &'static Collective,
    /// The first that covers a communicator acts.
    pub blocks: Vec<Block>,
}

/// The rules for communicators of some sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The least number of processes.
    pub from: u64,
    /// The greatest.
    pub to: u64,
    /// The first that covers a size acts.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The least size in bytes; see [`Size`].
    pub from: u64,
    /// The greatest size.
    pub to: u64,
    /// The number of the algorithm; 0: the library decides.
    pub algorithm: u64,
    /// The fan-out of trees; 0: the library's own.
    pub fanout: u64,
    /// Bytes of a segment; 0: messages are not cut.
    pub segment: u64,
}

impl RuleFile {
    /// Reads a rule file as a release of Open MPI would, but for what that ignores silently or
    /// aborts at, which are errors here.
    ///
    /// # Errors
    /// Each with line and column: bytes that are not UTF-8, text that does not follow the grammar,
    /// numbers shifted by one, an unknown collective or algorithm, sizes that do not rise, and
    /// rules that would never act.
    pub fn read(bytes: &[u8], file_name: &str, release: Release) -> Result<Self, SamplesErrors> {
        let text = utf8(bytes, file_name)?;
        let mut problems = Problems::new(file_name, text);
        let is_json = text.trim_start().starts_with('{');
        let file = match is_json {
            true => json::read(text, release, &mut problems),
            false => classic::read(text, release, &mut problems),
        };
        if problems.is_empty() { Ok(file) } else { Err(problems.errors()) }
    }

    /// The rule that acts on a collective; `None`: the library decides.
    #[must_use]
    pub fn rule(&self, collective: &str, processes: u64, size: u64) -> Option<&Rule> {
        let own = self.collectives.iter().find(|one| one.collective.name == collective)?;
        let block = own.blocks.iter().find(|block| (block.from..=block.to).contains(&processes))?;
        block.rules.iter().find(|rule| (rule.from..=rule.to).contains(&size))
    }
}
