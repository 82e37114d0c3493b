//! Selects between the two forms of a pattern.

use super::models::{
    PatternColumn, PatternExchange, PatternGather, PatternHalo, PatternReduce, PatternRow, PatternScatter,
    PatternTranspose,
};
use crate::link::schedule::Schedule;
use crate::run::Cell;
use serde::Serialize;
use std::fmt;
use strata_runtime::select::{Options, SelectError};
use strata_runtime::{Error, Node};

/// The form in which a pattern is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// By connection sets.
    Sets,
    /// By ordinary messages.
    Messages,
}

impl Form {
    /// Both forms.
    pub const ALL: [Self; 2] = [Self::Sets, Self::Messages];
}

/// The patterns that have models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A block from the first cell to each.
    Scatter,
    /// A block from each cell to the first.
    Gather,
    /// Values combined; all cells get the result.
    Reduce,
    /// A block from each cell to each.
    Exchange,
    /// Blocks to the neighbours in a grid.
    Halo,
    /// From rows to columns of a grid.
    Transpose,
    /// From one cell of each row to the others of the row.
    Row,
    /// From one cell of each column to the others of the column.
    Column,
}

impl Kind {
    /// All.
    pub const ALL: [Self; 8] = [
        Self::Scatter,
        Self::Gather,
        Self::Reduce,
        Self::Exchange,
        Self::Halo,
        Self::Transpose,
        Self::Row,
        Self::Column,
    ];

    /// Its name in specs and pins, after `pattern_`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::Reduce => "reduce",
            Self::Exchange => "exchange",
            Self::Halo => "halo",
            Self::Transpose => "transpose",
            Self::Row => "row",
            Self::Column => "column",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! libraries {
    ($($kind:ident: $library:ident,)*) => {
        impl Kind {
            /// The fastest form of a pattern with this schedule for blocks of `bytes`, by models of
            /// this machine.
            ///
            /// # Participation
            /// Local: all cells of the task choose the same.
            ///
            /// # Errors
            /// If a setting is invalid, such as a pin.
            pub fn choose(
                self,
                cell: &mut Cell<'_>,
                schedule: &Schedule,
                bytes: usize,
            ) -> Result<Form, Error> {
                Ok(match self {
                    $(Self::$kind => match cell.choose(schedule, bytes, |one| matches!(one, $library::Sets))? {
                        $library::Sets => Form::Sets,
                        $library::Messages => Form::Messages,
                    },)*
                })
            }
        }

        /// The fingerprints of each library's models and pin, which all nodes compare.
        pub(crate) fn words(node: &mut Node) -> Result<Vec<u64>, SelectError> {
            Ok(vec![$(node.selector::<$library>(&Options::default())?.word()),*])
        }
    };
}

libraries! {
    Scatter: PatternScatter,
    Gather: PatternGather,
    Reduce: PatternReduce,
    Exchange: PatternExchange,
    Halo: PatternHalo,
    Transpose: PatternTranspose,
    Row: PatternRow,
    Column: PatternColumn,
}
