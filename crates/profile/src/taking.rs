//! Taking one timing: other work before it, calls before it, and repetitions of a short task,
//! agreed among all nodes.

use std::collections::BTreeMap;

use strata_model::plan::ModelPlan;

use super::between::OtherWork;
use super::compare::Call;
use super::draws::{Beside, REPEATED};
use super::nodes::Op;
use super::panics::guard;
use super::run::{Job, Tasks};
use super::schedule::PointIndex;
use super::timer::{Clock, Timer, Timing};
use super::{Bench, Failure, Node, Point, Random, Scratch};

/// A task that is measured hot and takes less than this is called once, untimed, before the timing:
/// waking a pool of threads costs tens of microseconds.
const HOT: f64 = 5e-3;

/// One timing, and its cost.
pub(crate) struct Taken {
    pub(crate) timing: Timing,
    /// How often it executed the task.
    pub(crate) count: u32,
    /// Seconds of the last execution with its setup, without other work.
    pub(crate) cost: f64,
    /// Whether its data can be made again from the same seeds.
    pub(crate) replayable: bool,
    /// Beside the timing before it of the same point, if data are drawn.
    pub(crate) beside: Option<Beside>,
    /// The inputs that this node's task gave with the seconds.
    pub(crate) given: Vec<f64>,
}

/// One node's part in taking timings.
pub(crate) struct Taking<'a> {
    work: &'a Tasks<'a>,
    bench: Bench,
    other: Option<OtherWork>,
    /// How many timings were taken; each has random numbers of its own.
    timings: u64,
    /// The last timing of each point, and for each model how many were repeated on the same data.
    last: BTreeMap<PointIndex, Last>,
    repeated: Vec<usize>,
}

/// The last timing of a point.
struct Last {
    stream: u64,
    count: u32,
    /// Not a number if it was preempted.
    seconds: f64,
    /// Whether it had the data of the one before.
    again: bool,
}

impl<'a> Taking<'a> {
    /// Instruments, and other work where time is real.
    ///
    /// # Participation
    /// Collective.
    pub(crate) fn new(node: &mut Node, job: &Job<'_>, work: &'a Tasks<'a>) -> Self {
        let between = job.between.filter(|_| !node.is_simulated());
        Self {
            work,
            bench: instruments(node, job, work.seed),
            other: between.map(OtherWork::new),
            timings: 0,
            last: BTreeMap::new(),
            repeated: vec![0; work.models.len()],
        }
    }

    /// One timing of the slowest node. Short tasks are repeated with a higher count until the
    /// timing is long enough, if the schedule wanted it and does not only compare.
    ///
    /// # Participation
    /// Collective.
    pub(crate) fn time(
        &mut self,
        node: &mut Node,
        clock: &mut dyn Clock,
        place: PointIndex,
        mut count: u32,
        call: Call,
    ) -> Result<Taken, Failure> {
        let plan = &self.work.plans[place.model];
        // Calls that come before the one that is timed.
        let mut before = match call {
            Call::BetweenOtherWork => u32::from(plan.hot && self.other.is_some()),
            Call::Hot => 1,
            Call::Replayed(calls) => calls,
        };
        // Repeats the data of the timing before it. Simulated time has no noise to compare with.
        let mut again = (self.last.get(&place))
            .filter(|last| call == Call::BetweenOtherWork && !node.is_simulated() && !last.again)
            .filter(|last| last.count == count && self.repeated[place.model] < REPEATED)
            .map(|last| last.stream);
        let mut stream = again.filter(|_| before == 0).unwrap_or_else(|| self.stream(node));
        loop {
            if let (Some(other), Call::BetweenOtherWork, false) = (&mut self.other, call, plan.hot) {
                other.work(node, clock);
            }
            // Where nothing is compared, no clock is read: that may take simulated time.
            let began = self.other.as_ref().map(|_| clock.now(node));
            let mut timing = self.call(node, place, count, stream, matches!(call, Call::Replayed(_)))?;
            let cost = began.map_or(0.0, |began| clock.now(node) - began);
            let more = self.bench.timer.raise(count, timing.interval);
            match more {
                // Without comparisons no clock is read: a reading may take simulated time.
                Some(more) if call == Call::BetweenOtherWork && !plan.once && !node.is_simulated() => {
                    (count, before, again) = (more, 0, None);
                    stream = self.stream(node);
                }
                // All nodes know the same interval.
                _ if before > 0 && (call != Call::BetweenOtherWork || timing.interval < HOT) => {
                    before -= 1;
                    if !matches!(call, Call::Replayed(_)) {
                        stream = again.filter(|_| before == 0).unwrap_or_else(|| self.stream(node));
                    }
                }
                _ => {
                    let bench = &self.bench;
                    timing.resolved = node.is_simulated() || bench.timer.resolves(&timing);
                    // Numbers that are drawn in turn differ between the repetitions of a timing.
                    let replayable = bench.seeds.is_drawn() && (count == 1 || !bench.random.is_drawn());
                    let drawn = bench.seeds.is_drawn() || bench.random.is_drawn();
                    let given = self.bench.timer.take_given();
                    let beside = match call {
                        Call::BetweenOtherWork => {
                            self.beside(place, (stream, again.is_some()), count, timing)
                        }
                        _ => None,
                    }
                    .filter(|_| drawn);
                    return Ok(Taken { timing, count, cost, replayable, beside, given });
                }
            }
        }
    }

    /// Notes a timing, and compares it with the one before it of the same point.
    fn beside(
        &mut self,
        place: PointIndex,
        (stream, again): (u64, bool),
        count: u32,
        timing: Timing,
    ) -> Option<Beside> {
        self.repeated[place.model] += usize::from(again);
        let seconds = if timing.preempted { f64::NAN } else { timing.seconds };
        let last = self.last.insert(place, Last { stream, count, seconds, again })?;
        (last.count == count).then(|| Beside { ratio: seconds / last.seconds, same: again })
    }

    /// The number of a random stream that no other timing has, unless it repeats one.
    fn stream(&mut self, node: &Node) -> u64 {
        let stream = self.timings * node.size() as u64 + node.rank() as u64;
        self.timings += 1;
        stream + 1
    }

    /// Calls the task with its setup; `same`: all repetitions have the same seed.
    fn call(
        &mut self,
        node: &mut Node,
        place: PointIndex,
        count: u32,
        stream: u64,
        same: bool,
    ) -> Result<Timing, Failure> {
        let (model, plan) = (self.work.models[place.model], &self.work.plans[place.model]);
        let point = &plan.points[place.point];
        let bench = &mut self.bench;
        bench.random = Random::new(self.work.seed, &plan.name, stream);
        let seeds = Random::new(!self.work.seed, &plan.name, stream);
        bench.seeds = if same { seeds.repeating() } else { seeds };
        bench.timer.prepare(count);
        let failure = match guard(|| model.measure(node, point, bench)) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(panic) => Some(panic),
        };
        if let Some(failure) = failure {
            return Err(format!("model {}: {failure}", describe(plan, point)).into());
        }
        let Some(own) = bench.timer.take() else {
            return Err(
                format!("model {}: the task left before the timing ended", describe(plan, point)).into()
            );
        };
        let given = bench.timer.given();
        if given.len() != plan.gives.len() || !given.iter().all(|input| input.is_finite()) {
            let text = format!(
                "model {}: its `sample` gives {given:?} for {}, where finite numbers are due",
                describe(plan, point),
                plan.gives.join(", ")
            );
            return Err(text.into());
        }
        Ok(slowest(node, own))
    }
}

/// The longest of all nodes' timings; NaN if one of them is.
fn slowest(node: &mut Node, own: Timing) -> Timing {
    let nan = own.seconds.is_nan();
    let seconds = if nan { f64::NEG_INFINITY } else { own.seconds };
    let mut all = [seconds, f64::from(u8::from(nan)), own.interval, f64::from(u8::from(own.preempted))];
    node.reduce(Op::Max, &mut all);
    let [seconds, nan, interval, preempted] = all;
    Timing {
        seconds: if nan > 0.0 { f64::NAN } else { seconds },
        interval,
        preempted: preempted > 0.0,
        resolved: true,
    }
}

fn describe(plan: &ModelPlan, point: &Point) -> String {
    let mut text = plan.name.clone();
    for (index, (name, value)) in plan.variables.iter().zip(&point.at).enumerate() {
        text += &format!("{} {name}={value}", if index == 0 { " at" } else { "," });
    }
    text
}

/// Calibrates the timers, one node after the other, so that they do not disturb each other.
fn instruments(node: &mut Node, job: &Job<'_>, seed: u64) -> Bench {
    let mut timer = Timer::new((job.clock)());
    for rank in 0..node.size() {
        if rank == node.rank() {
            timer.calibrate(node);
        }
        node.barrier();
    }
    let tick = node.reduce_max(timer.tick());
    timer.set_tick(tick);
    let random = || Random::new(seed, "", 0);
    Bench { timer, scratch: Scratch::default(), random: random(), seeds: random() }
}
