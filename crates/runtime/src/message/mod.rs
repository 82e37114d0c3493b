//! Active messages: small typed arguments for a function that runs on another node.
//!
//! A *request* goes from a program to any node, itself included; its handler runs when that node
//! polls or waits, and may *reply*. A reply's handler cannot send at all. So a node that waits for
//! room can always receive replies, and no program deadlocks because a buffer is full (von Eicken
//! et al., *Active Messages*, 1992; Brewer, manual, §6). Handlers never interrupt a program: they
//! run inside the calls that poll, to completion, one at a time.
//!
//! Handlers are closures on their node; they share state with the program through `Rc<Cell<_>>` and
//! the like:
//!
//! ```
//! use std::{cell::Cell, rc::Rc};
//! use strata_runtime::prelude::*;
//!
//! let sums = Machine::threads(3)?.run(|node| {
//!     let sum = Rc::new(Cell::new(0));
//!     let mut handlers = node.handlers();
//!     let add = handlers.reply({
//!         let sum = Rc::clone(&sum);
//!         move |_, value: u64| sum.set(sum.get() + value)
//!     });
//!     let double = handlers.request(move |context, value: u64| context.reply(add, 2 * value));
//!     node.install(handlers);
//!
//!     for to in 0..node.size() {
//!         node.send(to, double, 1 + node.rank() as u64);
//!     }
//!     let all = 2 * (1 + node.rank() as u64) * node.size() as u64;
//!     node.wait_until(|| sum.get() == all);
//!     Ok(sum.get())
//! })?;
//! assert_eq!(sums, [6, 12, 18]);
//! # Ok::<(), Error>(())
//! ```

mod handlers;
mod inbox;

pub use handlers::{Handlers, Replied, Reply, Request, Requested};
pub(crate) use handlers::{OWN, packets};
pub(crate) use inbox::Inbox;

/// The most bytes of one message's arguments. Longer data should go through a port
/// ([`Node::put`](crate::Node::put)).
pub const LARGEST_MESSAGE: usize = 64 << 10;
