//! Lamellar's side of the race, on two processes: reads lines `ACCESS TIMES`, makes that many
//! accesses, and answers with the seconds of one.

use std::time::Instant;

use lamellar::active_messaging::prelude::*;
use lamellar::array::prelude::*;

/// Words of the array, half of them on each process.
const WORDS: usize = 1 << 20;
/// Words of a line of the cache.
const LINE: usize = 8;

#[AmData(Clone)]
struct Load {
    array: AtomicArray<u64>,
    at: usize,
}

#[lamellar::am]
impl LamellarAM for Load {
    async fn exec(self) -> u64 {
        self.array.load(self.at).await
    }
}

fn main() {
    let world = lamellar::LamellarWorldBuilder::new().build();
    let me = world.my_pe();
    let new = || AtomicArray::<u64>::new(&world, WORDS, Distribution::Block).block();
    let (array, counts) = (new(), new());
    let mut counted = 0;
    let far = WORDS / 2;
    let at = |i: usize| far + (i * LINE) % far;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ me as u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    world.barrier();
    if me == 0 {
        println!("ready");
    }
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let (what, times) = line.split_once(' ').expect("a question is `ACCESS TIMES`");
        let times: usize = times.parse().expect("times are a number");
        let words: Vec<u64> = (0..times).map(|_| random()).collect();
        let indices: Vec<usize> = words.iter().map(|word| *word as usize % WORDS).collect();
        world.barrier();
        let start = Instant::now();
        match what {
            "histogram" => {
                counts.batch_add(indices, 1).block();
                counted += times as u64;
            }
            "gups" => {
                array.batch_bit_xor(indices, words).block();
            }
            _ if me != 0 => {}
            "read" => {
                let sum: u64 = (0..times).map(|i| array.load(at(i)).block()).sum();
                std::hint::black_box(sum);
            }
            "store" => (0..times).for_each(|i| drop(array.store(at(i), 1).spawn())),
            "fetch_add" => {
                let sum: u64 = (0..times).map(|i| array.fetch_add(at(i), 1).block()).sum();
                std::hint::black_box(sum);
            }
            "message" => {
                for i in 0..times {
                    world.exec_am_pe(1, Load { array: array.clone(), at: at(i) }).block();
                }
            }
            other => panic!("there is no access `{other}`"),
        }
        world.wait_all();
        world.barrier();
        let seconds = start.elapsed().as_secs_f64();
        if what == "histogram" {
            let sum = counts.sum().block();
            assert_eq!(sum, Some(2 * counted), "counts are lost");
        }
        if me == 0 {
            println!("{}", seconds / times as f64);
        }
    }
    world.barrier();
}
