//! Writes a platform file of the measured machine, so that the simulator can reproduce it.

use crate::results::Results;

/// The costs of a message, from the pieces of curves.
struct Costs {
    /// Costs of each byte in s: the sender's processor, the network, the receiver's processor.
    byte: [f64; 3],
}

impl Costs {
    /// Each byte's one-way time is its share of the time of a message that is read. The parts that
    /// occupy the sender and the receiver are theirs; the rest is the network's.
    ///
    /// Nodes that share memory move the data themselves when they write or read them, so the whole
    /// time is the processors': the sender's, because the simulator charges only one of them.
    fn of(results: &Results) -> Option<Self> {
        let slope = |model: &str| -> Option<f64> {
            let kernel = results.kernel(model)?;
            let mean = || {
                // Without a curve, use the line between the least and the largest message.
                let (first, last) = (kernel.line().next()?, kernel.line().last()?);
                let more = last.belief.median - first.belief.median;
                (last.size() > first.size()).then(|| more / (last.size() - first.size()))
            };
            let last = kernel.curve.as_ref().and_then(|curve| curve.pieces.last());
            Some(last.map_or_else(mean, |piece| Some(piece.per_byte.value))?.max(0.0))
        };
        let shared = results.platform.starts_with("threads");
        let data = if shared { slope("EchoData") } else { None };
        let whole = data.or_else(|| slope("Echo"))?;
        if shared {
            return Some(Self { byte: [whole, 0.0, 0.0] });
        }
        let [sent, received] = ["SendOverhead", "ReceiveOverhead"].map(|model| slope(model).unwrap_or(0.0));
        let share = (whole / (sent + received).max(1e-30)).min(1.0);
        let busy = [sent * share, received * share];
        Some(Self { byte: [busy[0], (whole - busy[0] - busy[1]).max(0.0), busy[1]] })
    }
}

/// o_s, o_r and L in s: measured one by one, they add up to the time of a short message at most.
fn parts(results: &Results) -> Option<[f64; 3]> {
    let loggp = results.loggp?;
    let parts = [loggp.o_s, loggp.o_r, loggp.latency].map(|part| part.value.max(0.0));
    let one_way = results.kernel("Echo").and_then(|kernel| kernel.near(8.0)).map_or(0.0, |echo| echo.value);
    let sum: f64 = parts.iter().sum();
    let fits = if sum > one_way && one_way > 0.0 { one_way / sum } else { 1.0 };
    Some(parts.map(|part| fits * part))
}

/// The text of a platform file for `--on sim:FILE`; `None` if LogGP's parameters are missing.
///
/// A packet holds a whole message of up to 1 MiB, so that a message pays o_s, L and o_r once, and
/// each byte the measured cost at the processor or on the network. The times of collectives are the
/// measured ones. The times of local work are those of the run-time's models of kernels, which were
/// calibrated on one machine (`kernel_factor = 1`), or with the option `computing=measured` those
/// measured on this host.
#[must_use]
pub fn platform(results: &Results) -> Option<String> {
    if results.simulated {
        return None;
    }
    let costs = Costs::of(results)?;
    let ns = |seconds: f64| format!("{:.3}", (1e9 * seconds).clamp(0.001, 1e12));
    let byte_ns = |seconds: f64| format!("{:.6}", (1e9 * seconds).clamp(0.0, 1e9));
    // One picosecond a byte is the least that a platform file accepts.
    let bandwidth = (1.0 / costs.byte[1].max(1e-12) / 1e6).clamp(0.001, 1e6);
    let at = |model: &str, size: f64| results.kernel(model).and_then(|kernel| kernel.near(size));
    let barrier = at("Barrier", 0.0);
    let reduce = at("Reduce", 0.0).or(barrier);
    let broadcast = at("Broadcast", 8.0);
    let poll = at("Poll", 0.0).map_or(1e-9, |poll| poll.value / 2.0);
    let [o_s, o_r, latency] = parts(results)?;
    let mut text = format!(
        "# {}\n# as measured by `comet`. Figures of a machine whose nodes share memory hold for these \
         nodes.\n# STRATA_ON=sim:FILE:2,computing=measured makes local work take what it takes on the host that \
         simulates.\n\nname = \"here\"\nsummary = \"this machine, as measured by comet\"\n\n[cpu]\n\
         frequency_mhz = 1000        # Chosen: cycles are nanoseconds.\nkernel_factor = 1           # Kernels \
         take what their models say.\n\n[interface]\nsend_ns = {}\nsend_byte_ns = {}\nafter_send_ns = \
         0\nreceive_ns = {}\nreceive_byte_ns = {}\nfailed_poll_ns = {}\ndispatch_ns = 0\nblock_setup_ns = \
         0\ncombine_word_ns = 1         # Chosen: an addition.\npacket_bytes = {PACKET}      # Chosen: a \
         message.\nheader_bytes = 0\nlatency_ns = {}\nsend_queue_packets = 16     # \
         Chosen.\nreceive_queue_packets = 16  # Chosen.\n\n\
         [topology]\nkind = \"crossbar\"\n\n[link]\nbandwidth_mb_per_s = {bandwidth:.3}\nlatency_ns = \
         0\nbuffer_packets = 16         # Chosen.\nswitching = \"cut-through\"\n",
        // A comment must not contain line ends or other control characters.
        results.platform.replace(char::is_control, " "),
        ns(o_s),
        byte_ns(costs.byte[0]),
        ns(o_r),
        byte_ns(costs.byte[2]),
        ns(poll.max(1e-9)),
        ns(latency),
    );
    if let (Some(barrier), Some(reduce)) = (barrier, reduce) {
        let first = broadcast.map_or(reduce.value, |b| (b.value - barrier.value).max(1e-9));
        // The cost of each word beyond the first, from the longest measured vectors.
        let more = |model: &str, words_per_size: f64, first: f64| -> f64 {
            let last = results.kernel(model).and_then(|kernel| kernel.line().last());
            last.filter(|point| point.size() * words_per_size > 1.0).map_or(1e-9, |point| {
                (point.belief.median - first).max(0.0) / (point.size() * words_per_size - 1.0)
            })
        };
        text += &format!(
            "\n# Collectives of {} nodes: as a whole, as measured.\n[control]\nbarrier_ns = {}\ncombine_ns = \
             {}\ncombine_word_ns = {}\nbroadcast_ns = {}\nbroadcast_word_ns = {}\npipelined = true\n",
            results.nodes,
            ns(barrier.value),
            ns(reduce.value),
            ns(more("ReduceVector", 1.0, reduce.value)),
            ns(first),
            ns(more("Broadcast", 0.125, first + barrier.value)),
        );
    }
    Some(text)
}

/// The text of a platform file of SimGrid, for `--on smpi:FILE`: hosts on one switch, between which
/// a message takes o_s, L, o_r and its bytes' G, as measured; `None` if LogGP's parameters are
/// missing, or the nodes shared memory.
///
/// The model of SMPI (Degomme et al., IEEE TPDS 28(8), 2017) has these costs: `smpi/os` and
/// `smpi/or` are the processors', a route's latency and bandwidth the network's.
#[must_use]
pub fn simgrid(results: &Results) -> Option<String> {
    if results.simulated || results.platform.starts_with("threads") {
        return None;
    }
    let [sent, network, received] = Costs::of(results)?.byte;
    let [o_s, o_r, latency] = parts(results)?;
    // A comment must not contain its end.
    let machine = results.platform.replace("--", "- -").replace(char::is_control, " ");
    Some(format!(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <!-- {machine},\n     as measured by `comet`, on as many hosts as are asked for. -->\n\
         <platform version=\"4.1\">\n  <config>\n    <prop id=\"smpi/os\" value=\"0:{o_s:e}:{sent:e}\"/>\n    \
         <prop id=\"smpi/ois\" value=\"0:{o_s:e}:{sent:e}\"/>\n    <prop id=\"smpi/or\" \
         value=\"0:{o_r:e}:{received:e}\"/>\n    <prop id=\"smpi/bw-factor\" value=\"0:1\"/>\n    <prop \
         id=\"smpi/lat-factor\" value=\"0:1\"/>\n  </config>\n  <cluster id=\"here\" prefix=\"node-\" suffix=\"\" \
         radical=\"0-999\" speed=\"1Gf\"\n           bw=\"{:e}Bps\" lat=\"{:e}s\"/>\n</platform>\n",
        1.0 / network.max(1e-12),
        // A route passes the link of either host.
        latency.max(1e-9) / 2.0,
    ))
}

/// The most bytes of a packet.
const PACKET: usize = 1 << 20;
