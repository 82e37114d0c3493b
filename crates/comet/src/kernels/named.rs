//! The kernel of each model, as its spec calls it.

use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};
use strata_runtime::Node;

use super::{
    Blocks, Call, Collective, Direction, Order, all_gather, all_to_all, barrier, barrier_skewed, bisection,
    broadcast, column_broadcast, contention, each, echo, echo_data, echo_late, exchange, fixed_time,
    fixed_work, gap, get, guard, library, message_round_trip, overlap, overlapped, pair, poll, put, raw,
    receive_overhead, reduce, reduce_vector, row_broadcast, send_overhead, shift, store, stream, stream_both,
    transpose,
};
use crate::suite::Crossing;

/// Seconds of one operation of a model of [`KERNELS`](crate::suite::KERNELS) at a point, on node 0; of
/// a variable that is missing the value is 0, but the partner of an echo is node 1. `None` for other
/// models.
///
/// # Participation
/// Collective; wrong data, and too few nodes or too little memory, end the job.
pub fn measure(node: &mut Node, model: &str, at: &[i64]) -> Option<f64> {
    let value = |place: usize| at.get(place).map_or(0, |value| *value as usize);
    let (size, second, third) = (value(0), value(1), value(2));
    let global = match model {
        "Put" => Some(put(node, size)),
        "Get" => Some(get(node, size)),
        "Store" => Some(store(node, size)),
        _ => None,
    };
    if let Some(result) = global {
        return Some(result.unwrap_or_else(|error| node.fail(error.to_string())));
    }
    Some(match model {
        "Echo" | "EchoLarge" | "EchoEmpty" => echo(node, size, third.max(1)),
        "EchoData" => echo_data(node, size),
        "EchoLate" => echo_late(node, size, second),
        "Exchange" => exchange(node, size),
        "Broadcast" => broadcast(node, size),
        "Reduce" => reduce(node),
        "ReduceVector" => reduce_vector(node, size),
        "Barrier" => barrier(node),
        "BarrierSkewed" => barrier_skewed(node, size),
        "AllToAll" => all_to_all(node, size),
        "AllGather" => all_gather(node, size),
        "Guard" => guard::<Blocks>(node, size),
        "Shift" => shift::<Blocks>(node, size, Direction::North),
        "ShiftEast" => shift::<Blocks>(node, size, Direction::East),
        "RowBroadcast" => row_broadcast::<Blocks>(node, size),
        "ColumnBroadcast" => column_broadcast::<Blocks>(node, size),
        "Transpose" => transpose::<Blocks>(node, size),
        "Contention" => {
            let crossing = Crossing { peer: third, source: value(3), sink: value(4) };
            contention(node, size, second, crossing)
        }
        "Synchronous" => overlap(node, size, second, Order::Synchronous),
        "Asynchronous" => overlap(node, size, second, Order::Asynchronous),
        "Daxpy" => overlap(node, 1, size, Order::ComputationOnly),
        "MessageRoundTrip" => message_round_trip(node),
        "SendOverhead" => send_overhead(node, size),
        "ReceiveOverhead" => receive_overhead(node, size),
        "Gap" => gap(node, size),
        "Poll" => poll(node),
        "Stream" => stream(node, size, second),
        "StreamBoth" => stream_both(node, size, second),
        "Bisection" => bisection(node, size, second),
        "Pair" => pair(node, size, second, third),
        "FixedWork" => fixed_work(node, size, second),
        "FixedTime" => fixed_time(node, size, second),
        _ => return of_collective(node, model, size, second),
    })
}

/// A collective, or a call of the MPI library, by its part of the model's name.
fn of_collective(node: &mut Node, model: &str, size: usize, second: usize) -> Option<f64> {
    // A barrier has one variable.
    let of = |is_barrier: bool| if is_barrier { size } else { second };
    if let Some(name) = model.strip_prefix("Each") {
        let collective: Collective = named(name)?;
        return Some(each(node, collective, size, of(collective == Collective::Barrier)));
    }
    let name = model.strip_prefix("Library").or(model.strip_prefix("Overlap"));
    let name = name.or(model.strip_prefix("Raw"))?;
    let (name, bytes) = match (model, name) {
        ("RawEcho", _) => ("PingPong", size),
        ("RawExchange", _) => ("PingPing", size),
        ("RawReduce", _) => ("AllReduce", 8 * size),
        (_, name) => (name, size),
    };
    let call: Call = named(name)?;
    let of = of(call == Call::Barrier);
    Some(match model.as_bytes()[0] {
        b'L' => library(node, call, bytes, of),
        b'O' => overlapped(node, call, bytes, of),
        _ => raw(node, call, bytes),
    })
}

/// The variant of this name.
fn named<'a, T: Deserialize<'a>>(name: &'a str) -> Option<T> {
    T::deserialize(StrDeserializer::<Error>::new(name)).ok()
}
