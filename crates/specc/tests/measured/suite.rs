//! 25 benchmarks, five functions at five sizes, as Google Benchmark writes them. `PLANT=name:percent`
//! at compile time makes one function take so much longer from n = 1000 on.
use std::hint::black_box;
use std::time::Instant;

const REPEATS: usize = 20;

const PLANT: Option<&str> = option_env!("PLANT");

fn more(name: &str, n: usize) -> usize {
    match PLANT.and_then(|plant| plant.split_once(':')) {
        Some((planted, percent)) if planted == name && n >= 1000 => n * percent.parse::<usize>().unwrap() / 100,
        _ => 0,
    }
}
#[inline(never)]
fn sum(data: &[u64], passes: usize) -> u64 {
    data.iter().cycle().take(passes).fold(0, |sum, x| sum.wrapping_mul(3).wrapping_add(*x))
}
#[inline(never)]
fn hash(data: &[u64], passes: usize) -> u64 {
    (0..passes).fold(14695981039346656037, |hash, i| (hash ^ data[i % data.len()]).wrapping_mul(1099511628211))
}
#[inline(never)]
fn search(data: &[u64], passes: usize) -> u64 {
    (0..passes).map(|i| data.binary_search(&(i as u64 * 7)).unwrap_or_else(|at| at) as u64).sum()
}
#[inline(never)]
fn divide(data: &[u64], passes: usize) -> u64 {
    (0..passes).map(|i| u64::MAX / (data[i % data.len()] | 1)).fold(0, u64::wrapping_add)
}
#[inline(never)]
fn chase(data: &[u64], passes: usize) -> u64 {
    (0..passes).fold(1, |at, _| data[at as usize % data.len()] ^ (at >> 1))
}
fn main() {
    let functions: [(&str, fn(&[u64], usize) -> u64); 5] =
        [("sum", sum), ("hash", hash), ("search", search), ("divide", divide), ("chase", chase)];
    // The least time of a repeat, in µs.
    let wanted = std::env::args().nth(1).map_or(300.0, |text| text.parse::<f64>().unwrap());
    let mut rows = Vec::new();
    for (name, function) in functions {
        for n in [10, 100, 1000, 10000, 100000_usize] {
            let data: Vec<u64> = (0..n as u64).map(|i| i * 5 % (n as u64 * 5)).collect();
            let passes = n + more(name, n);
            let once = || black_box(function(black_box(&data), black_box(passes)));
            let timed = |iterations: u32| {
                let start = Instant::now();
                (0..iterations).for_each(|_| { once(); });
                start.elapsed().as_nanos() as f64
            };
            let mut iterations = 1_u32;
            while timed(iterations) < wanted * 1e3 {
                iterations *= 2;
            }
            for _ in 0..REPEATS {
                let time = timed(iterations) / f64::from(iterations);
                rows.push(format!(
                    "{{\"name\": \"{name}/{n}\", \"run_type\": \"iteration\", \"iterations\": {iterations}, \
                     \"real_time\": {time:e}, \"time_unit\": \"ns\"}}"
                ));
            }
        }
    }
    println!("{{\"context\": {{}}, \"benchmarks\": [\n{}\n]}}", rows.join(",\n"));
}
