//! Programs of many nodes that run unchanged on threads, on MPI and on simulated machines.
//!
//! A program is one function of a [`Node`], run by every node of a [`Machine`] at once (SPMD).
//! Nodes share nothing; they meet in collective operations and exchange [`Block`]s. [`launch`]
//! takes the machine from the command that started the process, so a program never names a
//! transport.
//!
//! ```
//! use strata_runtime::prelude::*;
//!
//! let largest = Machine::threads(3)?.run(|node| {
//!     let mut values = [node.rank() as f64, -(node.rank() as f64)];
//!     node.reduce_max(&mut values);
//!     Ok(values)
//! })?;
//! assert_eq!(largest, [[2.0, 0.0]; 3]);
//! # Ok::<(), Error>(())
//! ```
//!
//! After Brewer's Strata ("High-Level Optimization via Automated Statistical Modeling", PPoPP 1995,
//! and his thesis, ch. 6 and appendix A).

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "sim"), allow(dead_code, reason = "what only simulated nodes use"))]

mod block;
mod clock;
mod collectives;
mod cycles;
pub mod develop;
mod error;
mod installed;
mod job;
mod machine;
pub mod message;
pub mod node;
mod number;
pub mod select;
mod settings;
#[cfg(feature = "sim")]
pub mod simulation;
mod transport;
#[cfg(feature = "tune")]
pub mod tune;
mod work;

/// The crate whose communicators [`Machine::on_communicator`] takes.
#[cfg(feature = "mpi")]
pub use ::mpi;
pub use block::Block;
pub use collectives::{patterns, trees};
pub use cycles::CycleTimer;
pub use error::Error;
pub use machine::{Machine, launch};
#[cfg(feature = "mpi")]
pub use machine::{MpiNode, MpiNodes};
pub use node::Node;
pub use number::{Number, Op, Operand};
/// Copies with the fastest routine for their size.
pub use strata_copy as copy;
pub use transport::{Boundary, Network};
pub use work::{Computing, Work};

/// Memory that nodes access besides ports, and messages that are prepared once and repeated.
pub mod memory {
    pub use crate::transport::{
        Doorbell, ExposedWords, LONGEST_PREPARED, LendingDesk, LentVec, Prepared, PreparedPieces, Repeated,
        RepeatedPieces, SharedWords,
    };
}

#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/halo-exchange.md")]
    struct HaloExchange;
    #[doc = include_str!("../../../docs/simulated-machines.md")]
    struct SimulatedMachines;
}

/// The usual imports: `use strata_runtime::prelude::*`.
pub mod prelude {
    pub use crate::{Block, Boundary, Error, Machine, Node, Op, Work, launch};
}
