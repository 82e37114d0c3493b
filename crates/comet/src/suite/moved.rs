//! What an operation of each kernel moves: tests count it at the transport, and the points of a run
//! are measured in its order.

use super::{Size, WINDOW, model_named};
use crate::mesh::Mesh;

/// What one operation moves from node to node, over all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Messages with data.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages without data, as acknowledgements.
    pub empty: u64,
    /// False for collectives: their algorithms may move more, but not less.
    pub exact: bool,
}

/// What an operation of the model moves at this point on so many nodes; `None` without such a
/// model. The load of `Contention` is not part of it.
#[must_use]
pub fn moved(model: &str, at: &[i64], nodes: usize) -> Option<Moved> {
    let (_, known) = model_named(model)?;
    let nodes = nodes.max(1) as u64;
    let size = at.first().map_or(0, |size| u64::try_from(*size).unwrap_or(0));
    let bytes = if known.size == Size::Elements { size.saturating_mul(8) } else { size };
    let others = nodes - 1;
    let messages = |messages: u64, bytes: u64| Moved {
        messages,
        bytes: messages.saturating_mul(bytes),
        empty: 0,
        exact: true,
    };
    let collective = |count: u64, bytes: u64| Moved { exact: false, ..messages(count, bytes) };
    let window = WINDOW as u64;
    let mesh = Mesh::new(nodes as usize);
    let (rows, columns) = (mesh.rows as u64, mesh.columns as u64);
    let (line, block) = (8 * size, 8 * (size + 2) * (size + 2));
    Some(match model {
        "Echo" | "EchoLate" | "EchoLarge" | "EchoData" | "RawEcho" | "Exchange" | "RawExchange"
        | "Contention" | "Synchronous" | "Asynchronous" | "Pair" => messages(2, bytes),
        "EchoEmpty" => Moved { empty: 2, exact: true, ..Moved::default() },
        "MessageRoundTrip" => messages(2, 8),
        "SendOverhead" | "ReceiveOverhead" => Moved { empty: 1, ..messages(1, bytes) },
        "Gap" => messages(1, bytes),
        "Stream" | "LibraryWindow" | "LibraryPairs" => {
            let pairs = at.get(1).map_or(1, |pairs| u64::try_from(*pairs).unwrap_or(0));
            let pairs = if model == "LibraryPairs" { nodes / 2 } else { pairs };
            Moved { empty: pairs, ..messages(window.saturating_mul(pairs), bytes) }
        }
        "StreamBoth" | "LibraryBothWays" => {
            let pairs = at.get(1).map_or(1, |pairs| u64::try_from(*pairs).unwrap_or(0));
            messages((2 * window).saturating_mul(pairs), bytes)
        }
        "Bisection" => messages(2 * window * (nodes / 2), bytes),
        "LibraryPairsLatency" => messages(2 * (nodes / 2), bytes),
        "LibraryPut" | "LibraryGet" => messages(1, bytes),
        "Put" | "Store" => Moved { exact: false, ..messages(1, bytes) },
        "Get" => Moved { exact: false, ..messages(1, bytes) },
        "Broadcast" | "EachBroadcast" | "LibraryBroadcast" | "LibraryReduce" | "LibraryGather"
        | "LibraryScatter" | "LibraryScan" | "EachScan" | "OverlapBroadcast" | "OverlapReduce"
        | "OverlapGather" | "OverlapScatter" => collective(others, bytes),
        "EachGather" | "EachScatter" => collective(others, bytes),
        // Every node gives its part and gets the result.
        "Reduce" => collective(2 * others, 8),
        "ReduceVector" | "EachReduce" | "RawReduce" | "LibraryAllReduce" | "OverlapAllReduce" => {
            collective(2 * others, bytes)
        }
        "AllToAll"
        | "AllGather"
        | "EachAllToAll"
        | "EachAllToAllV"
        | "EachAllGather"
        | "RawAllToAll"
        | "RawAllGather"
        | "LibraryAllToAll"
        | "LibraryAllToAllV"
        | "LibraryAllGather"
        | "LibraryReduceScatter"
        | "OverlapAllToAll"
        | "OverlapAllToAllV"
        | "OverlapAllGather"
        | "OverlapReduceScatter" => collective(nodes * others, bytes),
        "Barrier" | "BarrierSkewed" | "EachBarrier" | "RawBarrier" | "LibraryBarrier" | "OverlapBarrier" => {
            Moved { empty: if others == 0 { 0 } else { nodes }, ..Moved::default() }
        }
        "Guard" => messages(4 * nodes, line),
        "Shift" | "ShiftEast" => messages(nodes, block),
        "Transpose" => messages(nodes - rows, block),
        "RowBroadcast" => {
            let count = (rows - 1) * columns;
            Moved { empty: count, ..messages(count, line) }
        }
        "ColumnBroadcast" => {
            let count = (columns - 1) * rows;
            Moved { empty: count, ..messages(count, line) }
        }
        _ => Moved { exact: true, ..Moved::default() },
    })
}

/// Bytes that cost about as much as a message without data.
const MESSAGE: f64 = 200.0;

/// Echoes of a timing beside a load; other kernels have fewer operations.
const ECHOES: f64 = 8.0;

/// The relative cost of measuring a point: bytes moved, and what sends and receives cost.
#[must_use]
pub fn cost(model: &str, at: &[i64], nodes: usize) -> f64 {
    let moved = moved(model, at, nodes).unwrap_or_default();
    let operation = moved.bytes as f64 + MESSAGE * (moved.messages + moved.empty) as f64;
    let second = at.get(1).map_or(0.0, |value| *value as f64);
    match model {
        // While a message is under way, its time's worth of load is.
        "Contention" => ECHOES * 2.0 * (operation + second),
        "Echo" => operation * (1.0 + 0.2 * second),
        // Local work costs little.
        // Their work is microseconds.
        "FixedWork" | "FixedTime" => MESSAGE * at.first().map_or(0.0, |work| *work as f64),
        "Daxpy" => MESSAGE + 0.1 * at.first().map_or(0.0, |length| *length as f64),
        "Synchronous" | "Asynchronous" => operation + 0.1 * second,
        _ => operation,
    }
}
