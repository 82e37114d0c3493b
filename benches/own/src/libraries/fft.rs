//! Fourier transforms of prime length by `rustfft`: Rader's algorithm or Bluestein's. The crate
//! takes Rader's where no prime factor of the length less one exceeds 23.

use std::sync::{Arc, OnceLock};

use rustfft::FftPlanner;
use rustfft::algorithm::{BluesteinsAlgorithm, RadersAlgorithm};
use rustfft::num_complex::Complex;

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

impl Signal {
    /// Its spectrum, once that was computed.
    pub fn spectrum(&self) -> &[Complex<f64>] {
        &self.spectrum
    }
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
