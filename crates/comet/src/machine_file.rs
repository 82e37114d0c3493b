//! A platform file of the measured machine, so that the simulator becomes it.

use crate::results::Results;

/// The text of a platform file for `--on sim:FILE`; `None` where LogGP's parameters are missing.
///
/// Packets are one byte longer than the messages of the first protocol, so that the simulator pays
/// for a small message what was measured, and for each byte of a long one G. Processors work as fast
/// as the one where the kernels' models were calibrated (`kernel_factor = 1`): set it for another.
#[must_use]
pub fn platform(results: &Results) -> Option<String> {
    let loggp = results.loggp?;
    if results.simulated {
        return None;
    }
    let ns = |seconds: f64| format!("{:.3}", (1e9 * seconds).clamp(0.001, 1e12));
    // A packet of so many bytes takes a link as long as the gap between small messages: the overheads
    // of longer messages are then those of their packets.
    let packet = 4096;
    let each = loggp.gap_byte.value.max(1e-13);
    // Processors move every byte here, so that half of G is each one's.
    let bandwidth = (1.0 / each / 1e6).clamp(0.001, 1e9);
    let barrier = results.kernel("Barrier").and_then(|barrier| barrier.near(0.0));
    let reduce = results.kernel("Reduce").and_then(|reduce| reduce.near(0.0)).or(barrier);
    let broadcast = results.kernel("Broadcast").and_then(|broadcast| broadcast.near(8.0));
    let poll = results.kernel("Poll").and_then(|poll| poll.near(0.0)).map_or(1e-9, |poll| poll.value / 2.0);
    let mut text = format!(
        "# {}\n# as measured by `specc comet`. Figures of a machine whose nodes share memory hold for these \
         nodes.\n\nname = \"here\"\nsummary = \"this machine, as measured by specc comet\"\n\n[cpu]\n\
         frequency_mhz = 1000        # Chosen: cycles are nanoseconds.\nkernel_factor = 1           # Kernels \
         take what their models say.\n\n[interface]\nsend_ns = {}\nsend_byte_ns = 0\nafter_send_ns = \
         0\nreceive_ns = {}\nreceive_byte_ns = 0\nfailed_poll_ns = {}\ndispatch_ns = 0\nblock_setup_ns = \
         0\ncombine_word_ns = 1         # Chosen: an addition.\npacket_bytes = {packet}\nheader_bytes = \
         0\nlatency_ns = {}\nsend_queue_packets = 16     # Chosen.\nreceive_queue_packets = 16  # Chosen.\n\n\
         [topology]\nkind = \"crossbar\"\n\n[link]\nbandwidth_mb_per_s = {bandwidth:.3}\nlatency_ns = \
         0\nbuffer_packets = 16         # Chosen.\nswitching = \"cut-through\"\n",
        results.platform,
        ns(loggp.o_s.value),
        ns(loggp.o_r.value),
        ns(poll.max(1e-9)),
        ns(loggp.latency.value),
    );
    if let (Some(barrier), Some(reduce)) = (barrier, reduce) {
        let broadcast = broadcast.map_or(reduce.value, |b| (b.value - barrier.value).max(1e-9));
        text += &format!(
            "\n# Collectives of {} nodes: as a whole, as measured.\n[control]\nbarrier_ns = {}\ncombine_ns = \
             {}\ncombine_word_ns = 1\nbroadcast_ns = {}\nbroadcast_word_ns = 1\npipelined = true\n",
            results.nodes,
            ns(barrier.value),
            ns(reduce.value),
            ns(broadcast),
        );
    }
    Some(text)
}
