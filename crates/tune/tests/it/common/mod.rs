//! Made-up programs: their time is a number, so that every run is the same.

pub(crate) mod landscape;

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_tune::{Mode, Options, Sig, SizeClass, TuneError, Tuner};

/// A tuner and a clock of nanoseconds.
pub(crate) struct Program {
    pub(crate) tuner: Tuner,
    pub(crate) now: u64,
    noise: ChaCha8Rng,
}

impl Program {
    pub(crate) fn new(options: Options) -> Self {
        Self::with(options, None).unwrap()
    }

    /// Goes on from what a former run has found.
    pub(crate) fn with(options: Options, text: Option<&str>) -> Result<Self, TuneError> {
        let seed = options.seed;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state.json");
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let mode = match options.mode {
            Mode::Tune(None) => Mode::Tune(Some(file)),
            Mode::Record(None) => Mode::Record(Some(file)),
            mode => mode,
        };
        let mut tuner = Tuner::new("made-up", Options { mode, ..options })?;
        tuner.set_tick(1e-9);
        Ok(Self { tuner, now: 0, noise: ChaCha8Rng::seed_from_u64(!seed) })
    }

    /// Calls site `name` with so many options; returns the one in force.
    pub(crate) fn call(&mut self, name: u64, options: u16) -> u16 {
        self.tuner.visit_at(Sig::here("call", SizeClass::Exactly(name), options), self.now)
    }

    /// Works for so long, with normal noise of 2 %, and once in a while ten times as long.
    pub(crate) fn work(&mut self, time: f64) {
        let normal: f64 = (0..12).map(|_| self.noise.random::<f64>()).sum::<f64>() - 6.0;
        let disturbed = if self.noise.random::<f64>() < 0.01 { 10.0 } else { 1.0 };
        self.now += (time * disturbed * (1.0 + 0.02 * normal)) as u64;
    }
}

pub(crate) fn tune(seed: u64) -> Options {
    let mut options = Options::of(Mode::Tune(None));
    // Five times the usual share, so that fewer iterations show what becomes of a search.
    (options.seed, options.loss) = (seed, 0.05);
    options
}
