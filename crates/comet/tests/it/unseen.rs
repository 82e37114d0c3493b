//! Simulated machines with costs drawn at random, for the test and the bench of LogGP's parameters.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_sim::platform::SimulatedMachine;

/// The machine of this seed. `Err`: its file is refused, in words.
pub(crate) fn machine(seed: u64) -> Result<SimulatedMachine, String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = |low: u32, high: u32| random.random_range(low..high);
    let text = format!(
        "name = \"unseen-{seed}\"\nsummary = \"made up\"\n[cpu]\nfrequency_mhz = 1000\nkernel_factor = 1\n\
         [interface]\nsend_ns = {}\nsend_byte_ns = 0\nafter_send_cycles = 0\nreceive_ns = {}\n\
         receive_byte_ns = 0\nfailed_poll_ns = {}\ndispatch_cycles = {}\nblock_setup_cycles = 0\n\
         combine_word_cycles = 4\npacket_bytes = {}\nheader_bytes = {}\nlatency_ns = {}\n\
         send_queue_packets = 8\nreceive_queue_packets = 16\n[topology]\nkind = \"crossbar\"\n[link]\n\
         bandwidth_mb_per_s = {}\nlatency_ns = {}\nbuffer_packets = 4\nswitching = \"cut-through\"\n",
        draw(100, 3000),
        draw(100, 3000),
        draw(5, 50),
        draw(0, 100),
        draw(16, 512),
        draw(0, 16),
        draw(200, 5000),
        draw(50, 5000),
        draw(10, 500),
    );
    SimulatedMachine::parse("unseen.toml", text.as_bytes()).map_err(|error| error.to_string())
}
