//! What a job says when it has to end, on every transport: each law once, as a row of a table.

use super::UNLIKE;
use strata_runtime::message::Request;
use strata_runtime::patterns::{Schedule, all_to_all};
use strata_runtime::prelude::*;

/// What the nodes of a job do that must fail.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// Misuse, after which all go on with collectives.
    Misuse(fn(&mut Node)),
    /// The same, where messages are as long as they should be: found only if calls are compared.
    Checked(fn(&mut Node)),
    /// All that they do.
    All(fn(&mut Node) -> Result<(), Error>),
}

/// What nodes do, on how many nodes at least, and all that the job must say. Node 1 is at fault where
/// only one node is.
pub(crate) struct Law(pub(crate) usize, pub(crate) &'static [&'static str], pub(crate) Does);

type Says = &'static [&'static str];

const fn misuse(least: usize, says: Says, does: fn(&mut Node)) -> Law {
    Law(least, says, Does::Misuse(does))
}

const fn checked(least: usize, says: Says, does: fn(&mut Node)) -> Law {
    Law(least, says, Does::Checked(does))
}

const fn all(least: usize, says: Says, does: fn(&mut Node) -> Result<(), Error>) -> Law {
    Law(least, says, Does::All(does))
}

impl Law {
    /// A node's part.
    pub(crate) fn run(&self, node: &mut Node) -> Result<(), Error> {
        match self.2 {
            Does::Misuse(misuse) | Does::Checked(misuse) => {
                misuse(node);
                go_on(node)
            }
            Does::All(all) => all(node),
        }
    }
}

/// Collectives without end, of every kind: what the other nodes are in when one fails.
pub(crate) fn go_on(node: &mut Node) -> Result<(), Error> {
    let size = node.size();
    loop {
        node.barrier();
        node.reduce_add(&mut vec![1.0; 500]);
        node.all_to_all_v((0..size).map(|_| Block::from_slice(&[1u8])).collect());
        node.scan_add(1u64);
    }
}

/// Node 1, which is at fault where only one node is.
fn is_other(node: &Node) -> bool {
    node.rank() == 1
}

fn request(node: &mut Node) -> Request<u8> {
    let mut handlers = node.handlers();
    let request = handlers.request(|_, _: u8| {});
    node.install(handlers);
    request
}

/// With port 3, of ten numbers.
fn with_port(node: &mut Node) {
    node.install(node.handlers());
    node.open_port(3, Block::<u64>::zeroed(10));
    node.barrier();
}

fn node_0_puts(node: &mut Node, port: usize, first: usize) {
    with_port(node);
    if node.rank() == 0 {
        node.put(1, port, first, &[1u64, 2]);
    }
}

fn sends(node: &mut Node, to: usize) {
    let request = request(node);
    node.send(to, request, 1);
}

pub(crate) const LAWS: &[Law] = &[
    // How a job ends.
    misuse(2, &["node 1: panicked: a quiet panic"], |node| {
        node.barrier();
        node.reduce_add(&mut [1.0; 500]);
        if is_other(node) {
            std::panic::resume_unwind(Box::new("a quiet panic"));
        }
    }),
    all(
        2,
        &["node 1: no more"],
        |node| if is_other(node) { Err(Error::program("no more")) } else { go_on(node) },
    ),
    misuse(2, &["node 1: cannot go on (at ", "laws.rs:"], |node| {
        if is_other(node) {
            node.fail("cannot go on");
        }
    }),
    misuse(2, &["node 1: panicked: the handler's fault"], |node| {
        let mut handlers = node.handlers();
        let request = handlers.request(|_, _: u8| std::panic::resume_unwind(Box::new("the handler's fault")));
        node.install(handlers);
        if node.rank() == 0 {
            node.send(1, request, 1);
        }
    }),
    // Nodes that can never go on.
    all(2, &[" in barrier at ", "laws.rs:"], |node| if is_other(node) { Ok(()) } else { go_on(node) }),
    misuse(1, &["deadlock", " in wait_until at "], |node| node.wait_until(|| false)),
    all(3, &["deadlock", " in wait_until at "], |node| {
        if !is_other(node) {
            node.wait_until(|| false);
        }
        Ok(())
    }),
    all(3, &["deadlock", " in wait_until at ", "node 1 waits for the others to end"], |node| {
        node.install(node.handlers());
        if !is_other(node) {
            node.wait_until(|| false);
        }
        Ok(())
    }),
    misuse(2, &["deadlock", "node 0 waits in barrier at "], |node| {
        if node.rank() == 0 { node.barrier() } else { node.wait_until(|| false) }
    }),
    misuse(2, &["deadlock", "node 0 waits in wait_until at ", " in reduce add of 10000 u64 at "], |node| {
        match node.rank() {
            0 => node.wait_until(|| false),
            _ => node.reduce_add(&mut vec![1u64; 10_000]),
        }
    }),
    misuse(2, &["deadlock", "node 1 waits in wait_until at ", " in reduce add of 10000 u64 at "], |node| {
        node.install(node.handlers());
        if is_other(node) {
            node.receiving(|node| node.wait_until(|| false));
        }
        node.reduce_add(&mut vec![1u64; 10_000]);
    }),
    // Calls with wrong arguments.
    misuse(1, &["all_gather of 2 elements of 1 bytes at ", "laws.rs:"], |node| {
        node.all_gather_into(&[1u8; 2], &mut [0; 7])
    }),
    misuse(1, &["broadcast from node 99 of 1 elements of 4 bytes at ", "there is no node 99"], |node| {
        node.broadcast(99, &mut [1u32])
    }),
    misuse(1, &["all_to_all_v of elements of 1 bytes at ", "9 blocks for "], |node| {
        drop(node.all_to_all_v(vec![Block::<u8>::default(); 9]))
    }),
    misuse(1, &["reduce xor of 1 f64 at "], |node| node.reduce(Op::Xor, &mut [1.0])),
    // Calls that differ.
    misuse(2, &["node 1: reduce add of 1002 i64 at ", "but node 0 called reduce add of 2 i64 at "], |node| {
        node.reduce_add(&mut vec![1i64; 2 + 1000 * node.rank().min(1)])
    }),
    misuse(2, &["node 1: scan max of 200 i32 at ", "but node 0 called scan max of 100 i32 at "], |node| {
        node.scan(Op::Max, &mut vec![1; 100 << node.rank().min(1)])
    }),
    misuse(
        2,
        &["node 1: all_gather of 5 elements of 2 bytes at ", "but node 0 called all_gather of 9 "],
        |node| drop(node.all_gather(&[1u16; 9][..if is_other(node) { 5 } else { 9 }])),
    ),
    misuse(2, &["node 1: reduce max of 1 i64 at ", "but node 0 called reduce min of 1 i64 at "], |node| {
        node.reduce(if is_other(node) { Op::Max } else { Op::Min }, &mut [1i64])
    }),
    misuse(
        2,
        &["node 1: broadcast from node 1 of 100 elements of 8 bytes at ", "but node 0 called broadcast"],
        |node| node.broadcast(node.rank() % 2, &mut [0u64; 100]),
    ),
    misuse(2, &["node 1: barrier at ", "but node 0 called scan add of 3 u32 at "], |node| {
        if is_other(node) { node.barrier() } else { node.scan_add(&mut [1u32; 3]) }
    }),
    misuse(
        2,
        &["node 1: all_gather of 1 elements of 1 bytes at ", "but node 0 called scan add of 500 f64 at "],
        |node| match is_other(node) {
            true => drop(node.all_gather(&[1u8])),
            false => node.scan_add(&mut [1.0; 500]),
        },
    ),
    misuse(2, &["node 1: ", UNLIKE[0].1, ", but node 0 called "], UNLIKE[0].0),
    misuse(2, &["node 1: ", UNLIKE[1].1, ", but node 0 called "], UNLIKE[1].0),
    misuse(2, &["node 1: ", UNLIKE[2].1, ", but node 0 called "], UNLIKE[2].0),
    misuse(2, &["node 1: ", UNLIKE[3].1, ", but node 0 called "], UNLIKE[3].0),
    misuse(2, &["node 1: ", UNLIKE[4].1, ", but node 0 called "], UNLIKE[4].0),
    checked(
        2,
        &["all_to_all of 2 elements of 1 bytes at ", "but node 0 called all_to_all of 1 elements"],
        |node| {
            let each = if is_other(node) { 2 } else { 1 };
            all_to_all(node, &vec![1u8; each * node.size()], Block::default(), Schedule::Free);
        },
    ),
    misuse(2, &[" elements cannot be shared out to "], |node| {
        all_to_all(node, &vec![1u8; node.size() + 1], Block::default(), Schedule::Free);
    }),
    // Messages.
    misuse(1, &["send to node 99 at ", "there is no node 99: nodes are 0 to "], |node| sends(node, 99)),
    misuse(1, &["send to node ", "there is no node 18446744073709551615"], |node| {
        sends(node, 0usize.wrapping_sub(1))
    }),
    misuse(1, &["send to node 0 at ", "Request<u8>(0) is not installed"], |node| {
        let request = node.handlers().request(|_, _: u8| {});
        node.send(0, request, 1);
    }),
    misuse(1, &["send to node 0 at ", "Reply<u8>(0) is not installed"], |node| {
        let reply = node.handlers().reply(|_, _: u8| {});
        node.send_either(0, reply, 1);
    }),
    misuse(2, &["send to node 1 at ", "a message of 65537 bytes: at most 65536"], |node| {
        let mut handlers = node.handlers();
        let request = handlers.request_with_bytes(|_, _: u8, _| {});
        node.install(handlers);
        node.send_with_bytes(1, request, 1, &[0; 65536]);
    }),
    misuse(2, &["send to node 1 at ", "a message of 65540 bytes: at most 65536"], |node| {
        let mut handlers = node.handlers();
        let reply = handlers.reply_with_bytes(|_, _: u32, _| {});
        node.install(handlers);
        node.send_either_with_bytes(1, reply, 1, &[0; 65536]);
    }),
    misuse(2, &["panicked: a reply of 65540 bytes: at most 65536"], |node| {
        let mut handlers = node.handlers();
        let reply = handlers.reply_with_bytes(|_, _: u32, _| {});
        let request = handlers.request(move |context, ()| context.reply_with_bytes(reply, 1, &[0; 65536]));
        node.install(handlers);
        node.send(1, request, ());
        node.barrier();
    }),
    misuse(2, &["install at ", "the nodes install different handlers"], |node| {
        let mut handlers = node.handlers();
        if is_other(node) {
            handlers.request(|_, _: u16| {});
        } else {
            handlers.request(|_, _: i16| {});
        }
        node.install(handlers);
    }),
    misuse(1, &["install at ", "other handlers were installed"], |node| {
        let mut handlers = node.handlers();
        handlers.request(|_, _: u16| {});
        request(node);
        node.install(handlers);
    }),
    // Ports.
    misuse(
        2,
        &["put to node 1 at ", "the offset -2 is negative: offsets count from the first element"],
        |node| {
            with_port(node);
            node.put(1, 3, 0usize.wrapping_sub(2), &[1u64]);
        },
    ),
    misuse(2, &["node 0: put ", "port 3 of node 1, which has 80 bytes"], |node| node_0_puts(node, 3, 9)),
    misuse(2, &["node 0: put ", "port 3 of node 1, which has 80 bytes"], |node| {
        node_0_puts(node, 3, isize::MAX.unsigned_abs())
    }),
    misuse(2, &["node 0: put ", "port 4", "not open"], |node| node_0_puts(node, 4, 0)),
    misuse(1, &["put to node 99 at ", "there is no node 99"], |node| {
        with_port(node);
        node.put(99, 3, 0, &[1u8]);
    }),
    misuse(2, &["there is no port 4096: ports are 0 to 4079"], |node| {
        with_port(node);
        node.put(1, 4096, 0, &[1u8]);
    }),
    misuse(1, &["port 3 is open already"], |node| {
        with_port(node);
        node.open_port(3, Block::<u8>::zeroed(1));
    }),
    misuse(1, &["port 5 of this node is not open"], |node| {
        with_port(node);
        node.close_port::<u8>(5);
    }),
    misuse(1, &["uninstall at ", "a port is open"], |node| {
        with_port(node);
        node.uninstall();
    }),
    misuse(1, &["port 1 before `install`"], |node| node.open_port(1, Block::<u8>::zeroed(1))),
    misuse(2, &["sent a header for port 8, which is not open"], |node| {
        with_port(node);
        node.send_header::<u8>((node.rank() + 1) % node.size(), 8, 1);
    }),
];
