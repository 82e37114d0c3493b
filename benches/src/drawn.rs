//! Simulated machines whose costs are drawn at random.

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use strata_runtime::simulation::SimulatedMachine;

/// A machine with costs between those of a cluster of 1993 and those of one of today.
///
/// # Errors
/// The text of the platform file is at fault.
pub fn drawn(seed: u64) -> Result<SimulatedMachine, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut between = |least: f64, most: f64| least * (most / least).powf(rng.random::<f64>());
    let frequency = between(50.0, 4000.0);
    // Kernels were calibrated at some 3 GHz; processors differ beyond their clock.
    let work = 3000.0 / frequency * between(0.5, 3.0);
    let memory = work * between(0.5, 3.0);
    let send = between(100.0, 10_000.0);
    let receive = send * between(0.5, 2.0);
    let (send_byte, receive_byte) = (between(0.05, 10.0), between(0.05, 10.0));
    let dispatch = receive * between(0.05, 0.3);
    let poll = receive * between(0.05, 0.3);
    let setup = send * between(0.5, 2.0);
    let (word, latency) = (1000.0 / frequency * between(5.0, 60.0), between(200.0, 50_000.0));
    let packet = [16, 80, 256, 1024, 4096][(between(1.0, 32.0).log2()) as usize % 5];
    let bandwidth = between(20.0, 10_000.0);
    let dma = between(1.0, 4.0) < 2.0;
    let control = between(1.0, 4.0) < 2.0;
    let barrier = between(500.0, 20_000.0);
    let mut text = format!(
        "name = \"drawn-{seed}\"\nsummary = \"drawn\"\n[cpu]\nfrequency_mhz = {frequency}\n\
         kernel_factor = {work}\n[interface]\nsend_ns = {send}\nsend_byte_ns = {send_byte}\n\
         after_send_ns = 0\nreceive_ns = {receive}\nreceive_byte_ns = {receive_byte}\n\
         failed_poll_ns = {poll}\ndispatch_ns = {dispatch}\nblock_setup_ns = {setup}\n\
         combine_word_ns = {word}\npacket_bytes = {packet}\nheader_bytes = 8\nlatency_ns = {latency}\n\
         send_queue_packets = 16\nreceive_queue_packets = 16\n[topology]\nkind = \"crossbar\"\n[link]\n\
         bandwidth_mb_per_s = {bandwidth}\nlatency_ns = 50\nbuffer_packets = 16\n\
         switching = \"cut-through\"\n[kernels]\nHistogram = {work}\nLocalSort = {work}\n\
         Copy = {memory}\nClear = {memory}\nScatter = {memory}\nPack = {memory}\n"
    );
    if dma {
        text += &format!("[dma]\nsetup_ns = {setup}\nleast_bytes = {}\n", packet + 1);
    }
    if control {
        text += &format!(
            "[control]\nbarrier_ns = {barrier}\ncombine_ns = {}\ncombine_word_ns = {word}\n\
             broadcast_ns = {barrier}\nbroadcast_word_ns = {word}\npipelined = true\n",
            1.5 * barrier
        );
    }
    SimulatedMachine::parse("drawn", text.as_bytes()).map_err(|error| format!("{error}: {error:?}"))
}
