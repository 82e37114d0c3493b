//! Settings that grids and volumes share.

use std::cell::RefCell;

use crate::solver::Limits;
use crate::{StencilError, Value};

/// The method of updating points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Successive over-relaxation in two colours: points whose column and row (and plane) add up to
    /// an even number, then the others (Brewer 1994, §4.4). If diagonal neighbours count, there are
    /// four colours: by even and odd columns and rows.
    #[default]
    RedBlack,
    /// All points are updated from the values of the previous iteration. It converges slowly, but
    /// smooths.
    Jacobi,
}

/// The state of a solution in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Number of iterations done.
    pub iteration: u64,
    /// The largest update of the last iteration.
    pub residual: f64,
}

/// The callback that receives the progress.
type Callback<'a> = RefCell<Box<dyn FnMut(Progress) + 'a>>;

/// Settings that do not depend on the number of dimensions.
pub(crate) struct Settings<'a> {
    pub(crate) method: Method,
    /// The columns and rows that nodes at edges have more.
    pub(crate) extra: [usize; 2],
    pub(crate) omega: Option<f64>,
    pub(crate) threshold: Option<f64>,
    pub(crate) iterations: u64,
    pub(crate) every: u64,
    pub(crate) progress: Option<Callback<'a>>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            method: Method::default(),
            extra: [0; 2],
            omega: None,
            threshold: Some(1e-6),
            iterations: 10_000,
            every: 1,
            progress: None,
        }
    }
}

impl Settings<'_> {
    pub(crate) fn limits(&self) -> Limits {
        Limits { iterations: self.iterations, threshold: self.threshold, every: self.every }
    }

    /// The factor of over-relaxation: the one set, or the best one for a spectral radius of
    /// `radius` of Jacobi's method (Young 1954): 2/(1 + √(1 − ρ²)).
    pub(crate) fn factor(&self, radius: f64) -> f64 {
        match (self.omega, self.method) {
            (Some(omega), _) => omega,
            (None, Method::RedBlack) if radius < 1.0 => 2.0 / (1.0 + (1.0 - radius.powi(2)).sqrt()),
            (None, _) => 1.0,
        }
    }

    /// Checks the settings together with this factor and these weights.
    pub(crate) fn check(&self, omega: f64, weights: Option<&[f64]>) -> Result<(), StencilError> {
        let most = if self.method == Method::Jacobi { 1.0 } else { 2.0_f64.next_down() };
        if !(omega > 0.0 && omega <= most) {
            return Err(StencilError::Omega(omega));
        }
        if let Some(weights) = weights {
            let sum = weights.iter().fold(0.0, |sum, weight: &f64| sum + weight.abs());
            if !(sum > 0.0 && sum <= 1.0 + 2.0 * weights.len() as f64 * f64::EPSILON) {
                return Err(StencilError::Weights(weights.to_vec()));
            }
        }
        match self.threshold.filter(|threshold| threshold.is_nan() || *threshold < 0.0) {
            Some(threshold) => Err(StencilError::Threshold(threshold)),
            None => Ok(()),
        }
    }

    /// A fingerprint that is equal on all nodes with equal settings and `parts`.
    pub(crate) fn word<T: Value>(&self, parts: impl IntoIterator<Item = u64>) -> u64 {
        let threshold = self.threshold.map_or(1, f64::to_bits);
        let [columns, rows] = self.extra;
        let own = [
            self.method as u64,
            threshold,
            self.iterations,
            self.every,
            size_of::<T>() as u64,
            columns as u64,
            rows as u64,
        ];
        own.into_iter().chain(parts).fold(0xCBF2_9CE4_8422_2325, |hash: u64, part| {
            (hash ^ part).wrapping_mul(0x100_0000_01B3).rotate_left(23)
        })
    }
}

/// Builder methods of [`Settings`], for a type with a field `settings`.
macro_rules! builders {
    () => {
        /// Sets the method.
        #[must_use]
        pub fn method(mut self, method: $crate::Method) -> Self {
            self.settings.method = method;
            self
        }

        /// Sets how far points move towards the mean of their neighbours: above 0 and below 2, with
        /// [`Method::Jacobi`](crate::Method::Jacobi) at most 1.
        #[must_use]
        pub fn omega(mut self, omega: f64) -> Self {
            self.settings.omega = Some(omega);
            self
        }

        /// Ends when the largest update of an iteration is below `threshold`, which must not be
        /// negative; 0 is never reached.
        #[must_use]
        pub fn threshold(mut self, threshold: f64) -> Self {
            self.settings.threshold = Some(threshold);
            self
        }

        /// Ends only after the greatest number of iterations; nodes then need no agreement in
        /// between.
        #[must_use]
        pub fn no_threshold(mut self) -> Self {
            self.settings.threshold = None;
            self
        }

        /// Sets the greatest number of iterations.
        #[must_use]
        pub fn iterations(mut self, most: u64) -> Self {
            self.settings.iterations = most;
            self
        }

        /// Checks the largest update only in every `iterations`-th iteration, at least 1: cheaper,
        /// but some iterations may be superfluous.
        #[must_use]
        pub fn check_every(mut self, iterations: u64) -> Self {
            self.settings.every = iterations.max(1);
            self
        }

        /// Calls `progress` on node 0 after each check of the largest update.
        #[must_use]
        pub fn progress(mut self, progress: impl FnMut($crate::Progress) + 'a) -> Self {
            self.settings.progress = Some(std::cell::RefCell::new(Box::new(progress)));
            self
        }

        /// Solves it with the data layout of the least time predicted by models of this machine.
        ///
        /// The values are equal to the bit for every layout and number of nodes. Not reaching the
        /// threshold is not an error: see [`Solution::converged`](crate::Solution::converged).
        ///
        /// # Settings
        /// `STRATA_PIN=stencil=columns:2:1` pins two columns of blocks and a halo of one,
        /// `STRATA_MODELS=FILE` chooses by that model set, `STRATA_EXPLAIN=1` prints the choice on
        /// node 0's stderr. Only node 0's environment is read.
        ///
        /// # Participation
        /// Collective: every node calls it, with equal settings and functions.
        ///
        /// # Errors
        /// See [`StencilError`](crate::StencilError); every node gets the same.
        pub fn solve(
            &self,
            node: &mut strata_runtime::Node,
        ) -> Result<$crate::Solution<T>, $crate::StencilError> {
            self.solve_with(node, &$crate::Options::default())
        }

        /// As [`solve`](Self::solve), with options.
        ///
        /// # Participation
        /// Collective, with equal options.
        ///
        /// # Errors
        /// As [`solve`](Self::solve).
        pub fn solve_with(
            &self,
            node: &mut strata_runtime::Node,
            options: &$crate::Options,
        ) -> Result<$crate::Solution<T>, $crate::StencilError> {
            $crate::problem::solve_with(self, node, options)
        }
    };
}
pub(crate) use builders;
