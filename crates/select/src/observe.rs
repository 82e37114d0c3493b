//! Whether to observe a statistic of the data before a choice: the expected value of information.
//!
//! Some inputs of a library may be statistics of the data, such as the number of different keys. To
//! observe them takes time, and changes the choice only sometimes. A program that does not observe
//! them takes the candidate with the least mean time over all cases that it deems possible
//! ([`Unobserved`]). [`Models::observation`] compares the time of that candidate in each case with
//! that of the best one there: the mean difference is what an observation is expected to gain (H.
//! Raiffa and R. Schlaifer, *Applied Statistical Decision Theory*, 1961, ch. 4). It pays if the
//! gain exceeds its cost.

use crate::library::choose_from;
use crate::{Library, MAX_INPUTS, Models, Prediction, Question, Seconds, Source};

/// The expected gain and the cost of an observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The expected time that a choice by the observed values saves, without the cost.
    pub gain: Seconds,
    /// The time that the observation takes.
    pub cost: Seconds,
}

impl Observation {
    /// True if the expected gain exceeds the cost.
    #[must_use]
    pub fn pays(&self) -> bool {
        self.gain > self.cost
    }
}

/// Models for a problem of which some inputs were not observed: a candidate's time is its mean over
/// equally likely cases. Its deviation includes how the cases differ.
///
/// A candidate without a prediction in one of the cases has none. Cases outside what was measured
/// count as the nearest measured ones. The inputs of a question are ignored.
#[derive(Clone, Copy)]
pub struct Unobserved<'a> {
    source: &'a (dyn Source + Send + Sync),
    cases: &'a [&'a [f64]],
}

impl<'a> Unobserved<'a> {
    /// The mean over `cases`: in each all inputs of the library, in order.
    #[must_use]
    pub fn new(source: &'a (dyn Source + Send + Sync), cases: &'a [&'a [f64]]) -> Self {
        Self { source, cases }
    }

    /// What `of` returns for each case, at the nearest measured inputs.
    fn each<T>(&self, of: impl Fn(&[f64]) -> T) -> impl Iterator<Item = Option<T>> {
        self.cases.iter().map(move |case| {
            let mut inputs = [0.0; MAX_INPUTS];
            let inputs = inputs.get_mut(..case.len())?;
            inputs.copy_from_slice(case);
            self.source.info().domain.nearest(1, inputs);
            Some(of(inputs))
        })
    }
}

impl Source for Unobserved<'_> {
    fn base(&self) -> Option<&dyn Source> {
        Some(self.source)
    }

    fn seconds(&self, candidate: usize, nodes: usize, _: &[f64], parameters: &[i64]) -> Option<f64> {
        let mut sum = 0.0;
        for seconds in self.each(|inputs| self.source.seconds(candidate, nodes, inputs, parameters)) {
            sum += seconds??;
        }
        Some(sum / self.cases.len() as f64)
    }

    fn predict(&self, candidate: usize, nodes: usize, _: &[f64], parameters: &[i64]) -> Option<Prediction> {
        let (mut sum, mut squares, mut half_width, mut variance) = (0.0, 0.0, 0.0, 0.0);
        for found in self.each(|inputs| self.source.predict(candidate, nodes, inputs, parameters)) {
            let found = found??;
            let seconds = found.seconds.get();
            sum += seconds;
            squares += seconds * seconds;
            half_width += found.half_width.get();
            variance += found.deviation.get() * found.deviation.get();
        }
        let count = self.cases.len() as f64;
        let mean = sum / count;
        let between = (squares / count - mean * mean).max(0.0);
        Prediction::new(mean, half_width / count)?.with_deviation((variance / count + between).sqrt())
    }

    fn sign(&self, candidate: usize, nodes: usize, _: &[f64], parameters: &[i64]) -> Option<f64> {
        let mut sum = 0.0;
        for sign in self.each(|inputs| self.source.sign(candidate, nodes, inputs, parameters)) {
            sum += sign??;
        }
        Some(sum / self.cases.len() as f64)
    }

    /// The part that the ranges of all cases share.
    fn range(
        &self,
        candidate: usize,
        parameter: usize,
        nodes: usize,
        cores: usize,
        _: &[f64],
    ) -> Option<(i64, i64)> {
        let ranges = self.each(|inputs| self.source.range(candidate, parameter, nodes, cores, inputs));
        ranges.flatten().flatten().reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))
    }
}

impl Models<'_> {
    /// What observing some inputs is expected to gain, by these models, and its `cost` in seconds.
    /// `cases`: the equally likely problems, in each all inputs of the library in order; of
    /// `question` all else counts, but for a pin. `None` if a case has no prediction, without
    /// cases, and if the cost is no time.
    ///
    /// The gain is exact only if the models are; their own errors are the same with and without the
    /// observation, and mostly cancel. This takes as long as one choice for each case and one over
    /// all of them: keep its result.
    ///
    /// ```
    /// use strata_select::{
    ///     Domain, Entry, Library, Model, Models, Prediction, Question, Row, Table, Verdict,
    /// };
    ///
    /// // Counting by a table takes 5 µs; by a search, 10 ns for each different number.
    /// static TABLE: Model = Model::Computed {
    ///     seconds: |_, _| Some(5e-6),
    ///     predict: |_, _| Prediction::new(5e-6, 0.0),
    /// };
    /// static SEARCH: Model = Model::Computed {
    ///     seconds: |_, x| Some(1e-8 * x[1]),
    ///     predict: |_, x| Prediction::new(1e-8 * x[1], 0.0),
    /// };
    /// static COUNT: Table = Table {
    ///     library: "count",
    ///     spec: "",
    ///     platform: "",
    ///     digest: "",
    ///     inputs: &["n", "different"],
    ///     domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(1.0, 1e6), (1.0, 1e6)] },
    ///     entries: &[
    ///         Entry::new("table", Verdict::Unverified, 1.0, &TABLE),
    ///         Entry::new("search", Verdict::Unverified, 1.0, &SEARCH),
    ///     ],
    /// };
    /// #[derive(Clone, Copy)]
    /// enum Count { Table, Search }
    /// impl Library for Count {
    ///     type Rows = [Row; 2];
    ///     const TABLES: &'static [&'static Table] = &[&COUNT];
    ///     fn candidate(index: usize, _: &[i64]) -> Option<Self> {
    ///         [Self::Table, Self::Search].get(index).copied()
    ///     }
    /// }
    ///
    /// let models = Models::of::<Count>(1);
    /// let question = Question::new(1, &[1000.0, 1000.0]);
    /// // Not observed, the table's 5 µs are less than 5.05 µs, the mean of the search. Where 10
    /// // numbers are different, the search saves 4.9 µs: half of that is the expected gain.
    /// let cases: &[&[f64]] = &[&[1000.0, 10.0], &[1000.0, 1000.0]];
    /// let known = models.observation::<Count>(question, cases, 1e-6, &|_| true);
    /// let observation = known.ok_or("no prediction")?;
    /// assert!((observation.gain.get() - 2.45e-6).abs() < 1e-12 && observation.pays());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn observation<L: Library>(
        &self,
        question: Question<'_, '_>,
        cases: &[&[f64]],
        cost: f64,
        applies: &dyn Fn(L) -> bool,
    ) -> Option<Observation> {
        let question = Question { pin: None, ..question };
        let able = |_, candidate| applies(candidate);
        let blind = Unobserved::new(self.source, cases);
        let blind_question = Question { inputs: cases.first()?, ..question };
        let (_, taken) = choose_from::<L, _>(&blind, blind_question, &able).ok()?;
        let (nodes, _) = self.source.info().domain.nearest(question.nodes, &mut []);
        let ratio = self.source.about(taken.index).expected_ratio;
        let mut gain = 0.0;
        for (case, inputs) in cases
            .iter()
            .zip(blind.each(|inputs| self.source.seconds(taken.index, nodes, inputs, &taken.parameters)))
        {
            let (_, best) =
                choose_from::<L, _>(self.source, Question { inputs: case, ..question }, &able).ok()?;
            gain += inputs?? * ratio - best.expected?.get();
        }
        let gain = Seconds::new((gain / cases.len() as f64).max(0.0))?;
        Some(Observation { gain, cost: Seconds::new(cost)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Entry, Model, Row, Table, Verdict};

    const fn computed(
        seconds: fn(usize, &[f64]) -> Option<f64>,
        predict: fn(usize, &[f64]) -> Option<Prediction>,
    ) -> Model {
        Model::Computed { seconds, predict }
    }

    static STEADY: Model = computed(|_, _| Some(3.0), |_, _| Prediction::new(3.0, 0.0));
    static VARYING: Model = computed(
        |_, x| (x[0] < 50.0).then_some(x[0]),
        |_, x| Prediction::new(x[0], 0.0)?.with_deviation(1.0),
    );
    static BOTH: Table = Table {
        library: "any",
        spec: "",
        platform: "",
        digest: "",
        inputs: &["x"],
        domain: Domain { nodes: (1, 4), inputs: &[(1.0, 60.0)] },
        entries: &[
            Entry::new("steady", Verdict::Unverified, 1.0, &STEADY),
            Entry::new("varying", Verdict::Unverified, 1.0, &VARYING),
        ],
    };

    #[derive(Clone, Copy)]
    struct Any;

    impl Library for Any {
        type Rows = [Row; 2];
        const TABLES: &'static [&'static Table] = &[&BOTH];
        fn candidate(index: usize, _: &[i64]) -> Option<Self> {
            (index < 2).then_some(Self)
        }
    }

    fn gain(cases: &[&[f64]]) -> Option<f64> {
        let models = Models { source: &BOTH, file: None, note: None };
        let found = models.observation::<Any>(Question::new(2, &[1.0]), cases, 0.5, &|_| true)?;
        assert_eq!(found.pays(), found.gain.get() > 0.5);
        Some(found.gain.get())
    }

    #[test]
    fn the_gain_is_what_the_blind_choice_loses_in_the_mean() {
        assert_eq!(gain(&[&[1.0], &[9.0]]), Some(1.0), "steady is taken, and loses 2 in the first case");
        assert_eq!(gain(&[&[1.0], &[4.0]]), Some(0.5), "varying is taken, and loses 1 in the second");
        assert_eq!(gain(&[&[1.0], &[2.0]]), Some(0.0), "one candidate is the best in all cases");
        assert_eq!(gain(&[&[0.1], &[9.0]]), Some(1.0), "outside what was measured: the nearest");
        assert_eq!(
            gain(&[&[1.0], &[55.0]]),
            Some(1.0),
            "a candidate without a prediction there is not taken"
        );
        assert_eq!(gain(&[]), None);
        assert_eq!(gain(&[&[1.0, 2.0]]), None, "the library has one input");
    }

    #[test]
    fn an_unobserved_time_is_the_mean_and_varies_as_the_cases() {
        let cases: &[&[f64]] = &[&[2.0], &[6.0]];
        let unobserved = Unobserved::new(&BOTH, cases);
        assert_eq!(unobserved.seconds(1, 1, &[], &[]), Some(4.0));
        let found =
            unobserved.predict(1, 1, &[], &[]).map(|found| (found.seconds.get(), found.deviation.get()));
        assert_eq!(found, Some((4.0, 5.0_f64.sqrt())), "1 of the model, 4 between the cases");
        assert_eq!(unobserved.seconds(7, 1, &[], &[]), None);
    }
}
