//! A global address space for nodes on threads, MPI or simulated machines: every node reads and
//! writes the heaps of all nodes.
//!
//! ```
//! use strata_global::Space;
//! use strata_runtime::prelude::*;
//!
//! let squares = Machine::threads(3)?.run(|node| {
//!     let mut space = Space::open(node, 1 << 16)?;       // 64 KiB on each node
//!     let squares = space.alloc::<u64>(10)?;             // element i on node i mod 3
//!     for (i, p) in space.mine(&squares) {
//!         space.write(p, (i * i) as u64);                // its own: no message
//!     }
//!     space.barrier();
//!     Ok(space.read(squares.at(7)))                      // of any node
//! })?;
//! assert_eq!(squares, [49, 49, 49]);
//! # Ok::<(), Error>(())
//! ```
//!
//! | access | complete | calls |
//! |---|---|---|
//! | blocking | when the call returns | [`read`](Space::read), [`write`](Space::write), [`fetch`](Space::fetch) |
//! | split-phase | when the [`phase`](Space::phase) ends, or a [`Counter`] is completed | [`get`](Phase::get), [`put`](Phase::put) |
//! | one-way | when the receiver or all say so | [`store`](Space::store), [`store_sync`](Space::store_sync), [`all_store_sync`](Space::all_store_sync) |
//! | at the owner | when the call returns | [`at_owner`](Space::at_owner) |
//!
//! If all nodes are threads of one process, or MPI processes of one host, accesses are loads and
//! stores in shared memory. Otherwise they are active messages, which the owner handles whenever it
//! polls or waits, and bulk accesses use MPI's one-sided transfers if models predict that they are
//! faster.
//!
//! # Order
//! Blocking accesses and atomic operations on elements of up to 8 bytes occur in one order that all
//! nodes see, and a node that sees such a write also sees all earlier writes of its writer.
//! Accesses of one phase are not ordered, nor are stores. Two nodes may access the same element at
//! once: this is not a data race, but elements that cross a word of 8 bytes may then be seen in
//! part.
//!
//! After Luna, "Implementing an Efficient Portable Global Memory Layer on Distributed Memory
//! Multiprocessors" (UCB/CSD 94/810, 1994), the library under Split-C.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod array;
mod atomics;
mod book;
mod bulk;
mod bulk_models;
mod checker;
mod counter;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/global-memory.md")]
mod guide {}

mod error;
mod gather;
mod heap;
mod phase;
mod pointer;
mod segment;
mod space;
mod stores_models;
mod sync;
mod wire;

pub use array::Array;
pub use atomics::{Change, Integer, Procedure};
pub use counter::{Counter, StoreCounter};
pub use error::GlobalError;
pub use phase::Phase;
pub use pointer::{Global, Spread};
pub use space::{Space, Stores, Way};
