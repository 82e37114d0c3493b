//! Fourier transforms of prime length by `rustfft`: Rader's algorithm or Bluestein's. The crate
//! takes Rader's where no prime factor of the length less one exceeds 23.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustfft::FftPlanner;
use rustfft::algorithm::{BluesteinsAlgorithm, RadersAlgorithm};
use rustfft::num_complex::Complex;

use crate::library::{Candidate, Input, Library, Way};
use crate::random::fractions;

/// A planned transform.
pub type Transform = Arc<dyn rustfft::Fft<f64>>;

/// The greatest length.
const GREATEST: usize = 16384;

const GREATEST_FACTOR: usize = 4095;

/// The prime nearest to `n` whose predecessor's greatest prime factor is about `factor`, and that
/// factor.
pub fn prime(n: usize, factor: usize) -> (usize, usize) {
    static PRIMES: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    let primes = PRIMES.get_or_init(|| {
        let primes = (47..GREATEST).filter(|n| greatest_factor(*n) == *n);
        let pairs = primes.map(|n| (n, greatest_factor(n - 1)));
        pairs.filter(|(_, factor)| (3..=GREATEST_FACTOR).contains(factor)).collect()
    });
    let apart = |a: usize, b: usize| (a as f64 / b as f64).ln().abs();
    let distance = |(p, of): (usize, usize)| 4.0 * apart(p, n) + apart(of, factor);
    let nearest = primes.iter().copied().min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
    nearest.unwrap_or((163, 3))
}

/// The greatest prime factor of a number of at least 2.
fn greatest_factor(mut n: usize) -> usize {
    let mut factor = 2;
    while factor * factor <= n {
        if n.is_multiple_of(factor) && n > factor {
            n /= factor;
        } else {
            factor += 1;
        }
    }
    n
}

/// By Rader's algorithm, for a prime length.
pub fn rader(length: usize) -> Transform {
    Arc::new(RadersAlgorithm::new(FftPlanner::new().plan_fft_forward(length - 1)))
}

/// By Bluestein's algorithm, by way of the shortest fast transform that is long enough.
pub fn bluestein(length: usize) -> Transform {
    let least = 2 * length - 1;
    let inner = least.next_power_of_two().min(3 * least.div_ceil(3).next_power_of_two());
    Arc::new(BluesteinsAlgorithm::new(length, FftPlanner::new().plan_fft_forward(inner)))
}

/// A signal, and room for its spectrum and for the transform to work in.
pub struct Signal {
    values: Vec<Complex<f64>>,
    spectrum: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

/// A signal for this transform.
pub fn signal(transform: &Transform, seed: u64) -> Signal {
    let zeros = |count| vec![Complex::default(); count];
    let values: Vec<_> =
        fractions(transform.len(), seed).into_iter().map(|re| Complex { re, im: 0.0 }).collect();
    let spectrum = zeros(values.len());
    Signal { values, spectrum, scratch: zeros(transform.get_immutable_scratch_len()) }
}

/// Computes the spectrum.
pub fn process(transform: &Transform, Signal { values, spectrum, scratch }: &mut Signal) {
    transform.process_immutable_with_scratch(values, spectrum, scratch);
}

/// The plan of a length, made once.
fn planned(length: usize, way: usize) -> Transform {
    static PLANS: Mutex<BTreeMap<(usize, usize), Transform>> = Mutex::new(BTreeMap::new());
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    let plan = || if way == 0 { rader(length) } else { bluestein(length) };
    Arc::clone(plans.entry((length, way)).or_insert_with(plan))
}

/// The library.
pub struct Fft;

/// A signal for each algorithm.
pub struct Both {
    plans: [Transform; 2],
    signals: [Signal; 2],
    taken: usize,
}

impl Library for Fft {
    const NAME: &'static str = "fft";
    const OLD: &'static str = "rustfft: Rader up to a factor of 23";
    const INPUTS: &'static [Input] =
        &[Input::new("n", 47, GREATEST), Input::new("factor", 3, GREATEST_FACTOR)];
    const CANDIDATES: &'static [Candidate] = &[Candidate::new("rader"), Candidate::new("bluestein")];
    type Problem = Both;
    type Answer = ();

    fn problem(x: &[usize], seed: u64) -> Both {
        let plans = [planned(x[0], 0), planned(x[0], 1)];
        let signals = [signal(&plans[0], seed), signal(&plans[1], seed)];
        Both { plans, signals, taken: 0 }
    }

    fn solve(both: &mut Both, way: Way) {
        both.taken = way.candidate;
        process(&both.plans[way.candidate], &mut both.signals[way.candidate]);
    }

    fn numbers(both: &Both, (): &()) -> Vec<f64> {
        both.signals[both.taken].spectrum.iter().flat_map(|value| [value.re, value.im]).collect()
    }

    fn old(x: &[usize]) -> Way {
        Way::of(usize::from(x[1] > 23))
    }

    fn near(x: &[usize]) -> Vec<usize> {
        let (n, factor) = prime(x[0], x[1]);
        vec![n, factor]
    }
}
