//! The run itself: all nodes in step; node 0 decides and writes.

use std::collections::BTreeSet;
use std::time::Instant;

use strata_model::plan::{ModelPlan, Plan, Run};
use strata_model::platform::HOSTS;
use strata_model::samples::{SpecId, Timing as Single};
use strata_model::{Platform, Seconds, count};
use strata_select::say;

use super::between;
use super::compare::{Call, Compared, Comparing};
use super::journal::Journal;
use super::order::order;
use super::progress::Progress;
use super::schedule::{Outline, PointIndex, Rules, Schedule};
use super::settings::{DEFAULT_BUDGET, Settings};
use super::signals::{Interrupt, end_with_stdin};
use super::taking::{Taken, Taking};
use super::timer::{Clock, NodeClock};
use super::{Failure, Node, Profiled};

/// The relative half width of a median that suffices if no budget was given.
const GOAL: f64 = 0.05;
/// The same if a budget was given: the run may use all of it.
const GOAL_WITH_BUDGET: f64 = 0.005;

/// Timings of each point while there is time: below six, no interval of the median reaches 95 %.
const LEAST_WITH_BUDGET: usize = 7;

/// Timings after which a point is timed no more, however much of the budget is left.
const MOST: usize = 40;

/// How a run ended, equal on all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The spec or the journal is at fault; node 0 has reported why.
    Fault,
    Interrupted,
}

/// The input of a run.
pub(crate) struct Job<'a> {
    pub(crate) spec: SpecId,
    pub(crate) models: &'a [&'a dyn Profiled],
    pub(crate) settings: Settings,
    pub(crate) interrupt: Interrupt,
    /// Creates each node's clock.
    pub(crate) clock: fn() -> Box<dyn Clock>,
    /// Seconds of other work before a timing on a real machine; `None` if the clock of a test does
    /// not see it.
    pub(crate) between: Option<f64>,
}

impl<'a> Job<'a> {
    pub(crate) fn new(
        spec: &str,
        sha256: &str,
        models: &'a [&'a dyn Profiled],
        settings: Settings,
        interrupt: Interrupt,
    ) -> Self {
        let spec = SpecId { path: spec.to_owned(), sha256: sha256.to_owned() };
        let clock: fn() -> Box<dyn Clock> = || Box::new(NodeClock);
        Self { spec, models, settings, interrupt, clock, between: Some(between::SECONDS) }
    }
}

/// Node 0's order to all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Time { place: PointIndex, count: u32, call: Call },
    End(Outcome),
}

impl Order {
    /// As four words: on a simulated machine their number costs time.
    fn encode(self) -> [i64; 4] {
        match self {
            Self::Time { place, count, call } => {
                let kind = match call {
                    Call::BetweenOtherWork => 0,
                    Call::Hot => 4,
                    Call::Replayed(calls) => 4 + i64::from(calls.max(1)),
                };
                [kind, place.model as i64, place.point as i64, i64::from(count)]
            }
            Self::End(Outcome::Done) => [1, 0, 0, 0],
            Self::End(Outcome::Fault) => [2, 0, 0, 0],
            Self::End(Outcome::Interrupted) => [3, 0, 0, 0],
        }
    }

    fn decode([kind, model, point, count]: [i64; 4]) -> Self {
        let time = |call| Self::Time {
            place: PointIndex { model: model as usize, point: point as usize },
            count: count as u32,
            call,
        };
        match kind {
            0 => time(Call::BetweenOtherWork),
            1 => Self::End(Outcome::Done),
            2 => Self::End(Outcome::Fault),
            4 => time(Call::Hot),
            5.. => time(Call::Replayed((kind - 4) as u32)),
            _ => Self::End(Outcome::Interrupted),
        }
    }

    /// # Participation
    /// Collective: all nodes get node 0's value.
    fn agree(self, node: &mut Node) -> Self {
        let mut words = self.encode();
        node.broadcast(0, &mut words);
        Self::decode(words)
    }
}

/// Runs a job.
///
/// # Participation
/// Collective over all nodes.
///
/// # Errors
/// Code of the spec failed, or node 0 cannot write; what was already written stays.
pub(crate) fn run(node: &mut Node, job: &Job<'_>) -> Result<Outcome, Failure> {
    if job.settings.end_with_stdin && node.rank() == 0 {
        end_with_stdin();
    }
    let mut clock = (job.clock)();
    let start = clock.now(node);
    let work = match read_plan(node, job) {
        Ok(work) => work,
        Err(fault) => {
            if node.rank() == 0 {
                say!("error: {fault}");
            }
            return Ok(Outcome::Fault);
        }
    };
    let mut director =
        match if node.rank() == 0 { Director::new(node, job, &work).map(Some) } else { Ok(None) } {
            Ok(director) => director,
            Err(Refusal::Fault(message)) => {
                say!("error: {message}");
                Order::End(Outcome::Fault).agree(node);
                return Ok(Outcome::Fault);
            }
            Err(Refusal::Machine(error)) => return Err(error),
        };
    // Whether node 0 could begin; other nodes report no error.
    if Order::End(Outcome::Done).agree(node) == Order::End(Outcome::Fault) {
        return Ok(Outcome::Fault);
    }
    let mut taking = Taking::new(node, job, &work);
    loop {
        let order = match &mut director {
            Some(director) => director.next(clock.now(node) - start),
            None => Order::End(Outcome::Done),
        };
        let (place, count, call) = match order.agree(node) {
            Order::Time { place, count, call } => (place, count, call),
            Order::End(outcome) => {
                if let Some(director) = director {
                    director.finish(outcome)?;
                }
                return Ok(outcome);
            }
        };
        let before = clock.now(node);
        let taken = taking.time(node, &mut *clock, place, count, call)?;
        if let Some(director) = &mut director {
            let now = clock.now(node);
            director.record(place, call, taken, (before - start, now - start))?;
        }
    }
}

/// The measurements of this run.
pub(crate) struct Tasks<'a> {
    pub(crate) seed: u64,
    /// The values of the machine that the points depend on, by name.
    machine: Vec<(String, f64)>,
    pub(crate) plans: Vec<ModelPlan>,
    /// How each model is timed.
    pub(crate) models: Vec<&'a dyn Profiled>,
}

/// Reads the plan for this number of nodes. Only node 0 reads the file: other nodes may run
/// elsewhere.
///
/// # Participation
/// Collective.
///
/// # Errors
/// The same error on every node.
fn read_plan<'a>(node: &mut Node, job: &Job<'a>) -> Result<Tasks<'a>, String> {
    let shown = job.settings.plan.display();
    let mut text = Vec::new();
    let mut fault = String::new();
    if node.rank() == 0 {
        match std::fs::read(&job.settings.plan) {
            Ok(bytes) => text = bytes,
            Err(error) => fault = format!("cannot read the plan {shown}: {error}; specc writes one"),
        }
    }
    let length = node.broadcast_value(0, if fault.is_empty() { text.len() as i64 } else { -1 });
    let Ok(length) = usize::try_from(length) else { return Err(fault) };
    text.resize(length, 0);
    node.broadcast(0, &mut text);
    let text = String::from_utf8(text).map_err(|_| format!("{shown}: this is not UTF-8 text"))?;
    let plan = Plan::parse(&text, &shown.to_string()).map_err(|error| error.to_string())?;
    if plan.spec.sha256 != job.spec.sha256 {
        return Err(format!(
            "{shown}: it was made for another version of {}; run specc again",
            plan.spec.path
        ));
    }
    let (size, platform) = (node.size(), node.platform());
    // Runs on equally many nodes differ in their hosts. One of other hosts is refused later, by name.
    let (here, others): (Vec<Run>, Vec<Run>) = (plan.runs.into_iter())
        .filter(|run| run.nodes == size)
        .partition(|run| another_machine(&run.machine, &platform).is_none());
    let Some(run) = here.into_iter().chain(others).next() else {
        let alone = match size == 1 && platform.has_processes() {
            true => {
                ", or with a launcher of the MPI that the program is built with: to another's each process is alone"
            }
            false => "",
        };
        return Err(format!(
            "{shown}: it has no points for {}; run specc with --nodes {size}{alone}",
            count(size, "node", "nodes")
        ));
    };
    let find = |plan: &ModelPlan| {
        let model = job.models.iter().find(|model| model.name() == plan.name);
        model.copied().ok_or_else(|| format!("{shown}: this program measures no model `{}`", plan.name))
    };
    let models = run.models.iter().map(find).collect::<Result<_, _>>()?;
    Ok(Tasks { seed: run.seed, machine: run.machine, plans: run.models, models })
}

/// Why a plan's points are not those of this machine, if the spec lets them depend on it.
fn another_machine(planned: &[(String, f64)], platform: &Platform) -> Option<String> {
    let (name, value) = planned.iter().find(|(name, value)| platform.machine_number(name) != Some(*value))?;
    if name == HOSTS {
        let (hosts, nodes) = (platform.all_hosts().max, platform.nodes);
        let instead = match nodes.is_multiple_of(hosts) {
            true => format!("run specc with --nodes {hosts}x{}", nodes / hosts),
            false => "place equally many on each".to_owned(),
        };
        return Some(format!(
            "it was made for {}, and the nodes run on {hosts}; {instead}",
            count(*value as usize, "host", "hosts")
        ));
    }
    let here = platform.machine_number(name).map_or("does not tell it".to_owned(), |v| format!("has {v}"));
    Some(format!(
        "it was made for a machine with {name}={value}, and this one {here} (`{platform}`); run specc on this \
         machine, or write a number for `{name}` into the spec's loops"
    ))
}

/// The size of a point, with which its cost may grow: the largest of its columns.
fn size(values: &[f64]) -> f64 {
    values.iter().copied().filter(|value| value.is_finite()).fold(1.0, f64::max)
}

/// Seconds to five digits, which is more precise than one timing and keeps files short.
fn short(seconds: f64) -> f64 {
    format!("{seconds:.4e}").parse().unwrap_or(seconds)
}

/// A moment to a tenth of a millisecond.
fn moment(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}

/// Reports that some of a model's points are too short for the clock.
fn unresolvable(model: &str, once: bool, (count, points): (usize, usize)) -> String {
    let way_out = if once {
        "begin with greater values, or leave out `once` if the task can be repeated on the same data"
    } else {
        "was it optimised away? keep its result with `std::hint::black_box`"
    };
    let which = if count == points { "all".to_owned() } else { format!("{count} of") };
    format!(
        "model {model}: at {which} {points} points the clock cannot tell the task from nothing; {way_out}"
    )
}

/// Why node 0 cannot begin.
pub(crate) enum Refusal {
    Fault(String),
    Machine(Failure),
}

/// Node 0's part: decides what is timed next, and writes.
struct Director<'a> {
    job: &'a Job<'a>,
    plans: &'a [ModelPlan],
    schedule: Schedule,
    counts: Vec<Vec<u32>>,
    /// Comparisons with variants of a call; `None` if time is simulated, and in a part of a greater
    /// run, whose samples are discarded.
    comparing: Option<Comparing>,
    journal: Journal,
    progress: Progress,
    budget: f64,
    /// If time is simulated, the real time at which the run began, because the budget is in real
    /// time. The order of timings follows simulated time, so it does not depend on this host's
    /// speed.
    began: Option<Instant>,
    /// The share of the budget spent when the last timing ended.
    spent: f64,
    /// When the last timing of the resumed run was taken, on the clock that this run continues.
    offset: f64,
    timed: u64,
    preempted: u64,
    /// The points of each model that were too short for the clock.
    unresolved: Vec<BTreeSet<usize>>,
}

impl<'a> Director<'a> {
    fn new(node: &Node, job: &'a Job<'a>, work: &'a Tasks<'a>) -> Result<Self, Refusal> {
        let plans = &work.plans;
        let settings = &job.settings;
        let budget = settings.budget.unwrap_or(DEFAULT_BUDGET);
        let platform = node.platform();
        if let Some(fault) = another_machine(&work.machine, &platform) {
            return Err(Refusal::Fault(format!("{}: {fault}", settings.plan.display())));
        }
        let simulated = node.is_simulated();
        let hosts = if simulated { 1 } else { platform.all_hosts().max };
        let discard = node.size().div_ceil(hosts) <= platform.cores;
        let (goal, least) =
            if settings.budget.is_some() { (GOAL_WITH_BUDGET, LEAST_WITH_BUDGET) } else { (GOAL, 0) };
        let (goal, most) = (settings.precision.unwrap_or(goal), settings.most.unwrap_or(MOST));
        let rules = Rules { goal, least: least.min(most), most, discard, seed: work.seed };
        // Simulated time is exact, so one timing suffices.
        let rules = if simulated { Rules { goal: f64::INFINITY, least: 0, most: 1, ..rules } } else { rules };
        let outline = |plan: &ModelPlan| Outline {
            order: order(&plan.points, work.seed),
            sizes: plan.points.iter().map(|point| size(&point.values)).collect(),
            repeat: plan.repeat,
        };
        let mut schedule = Schedule::new(plans.iter().map(outline).collect(), rules);
        let journal = Journal::open(job, &platform, plans, &mut schedule)?;
        Ok(Self {
            job,
            plans,
            offset: schedule.latest(),
            schedule,
            counts: plans.iter().map(|plan| vec![1; plan.points.len()]).collect(),
            comparing: (job.between.is_some() && !simulated && !settings.part)
                .then(|| Comparing::new(plans.len(), budget)),
            journal,
            progress: Progress::new(settings.machine, settings.part, job.interrupt.clone()),
            budget,
            began: simulated.then(Instant::now),
            spent: 0.0,
            timed: 0,
            preempted: 0,
            unresolved: vec![BTreeSet::new(); plans.len()],
        })
    }

    fn next(&mut self, elapsed: f64) -> Order {
        if self.job.interrupt.is_set() {
            return Order::End(Outcome::Interrupted);
        }
        let left = self.budget - self.elapsed(elapsed);
        let compared = self.comparing.as_ref().and_then(Comparing::next).filter(|_| left > 0.0);
        let scheduled = || self.schedule.next(left).map(|place| (place, Call::BetweenOtherWork));
        match compared.or_else(scheduled) {
            Some((place, call)) => Order::Time { place, count: self.counts[place.model][place.point], call },
            None => Order::End(Outcome::Done),
        }
    }

    /// The part of the budget spent after this many seconds of the nodes' time.
    fn elapsed(&self, elapsed: f64) -> f64 {
        self.began.map_or(elapsed, |began| began.elapsed().as_secs_f64())
    }

    /// Records the timing of an order that was executed from `begun` to `ended`, seconds since the
    /// run began.
    fn record(
        &mut self,
        place: PointIndex,
        call: Call,
        Taken { timing, count, cost, replayable, beside, given }: Taken,
        (begun, ended): (f64, f64),
    ) -> Result<(), Failure> {
        let elapsed = self.elapsed(ended);
        let price = elapsed - self.spent;
        self.spent = elapsed;
        if let Some(comparing) = &mut self.comparing {
            let plan = &self.plans[place.model];
            let clean = !timing.preempted && timing.interval.is_finite();
            let compared = Compared { seconds: timing.seconds, clean, cost, replayable };
            if call != Call::BetweenOtherWork {
                comparing.compared(compared, price);
                return Ok(());
            }
            if !plan.points[place.point].verify {
                comparing.scheduled(place, plan.hot, compared);
            }
        }
        self.counts[place.model][place.point] = count;
        self.timed += 1;
        self.preempted += u64::from(timing.preempted);
        if timing.resolved {
            self.unresolved[place.model].remove(&place.point);
        } else {
            self.unresolved[place.model].insert(place.point);
        }
        let single = if self.began.is_some() {
            Single { seconds: timing.seconds, moment: 0.0 }
        } else {
            Single { seconds: short(timing.seconds), moment: moment(self.offset + begun) }
        };
        if timing.interval == f64::INFINITY {
            self.schedule.reports(place.model);
        }
        if let Some(beside) = beside {
            self.schedule.compare(place, beside);
        }
        self.schedule.record(place, single, timing.preempted, ended - begun, price);
        self.journal.timing(place, &self.plans[place.model], given, single, timing.preempted)?;
        let model = &self.plans[place.model].name;
        self.progress.tell(&self.schedule, elapsed, self.budget, model);
        Ok(())
    }

    fn finish(self, outcome: Outcome) -> Result<(), Failure> {
        if self.preempted > 0 {
            say!("{} of {} timings were preempted", self.preempted, self.timed);
        }
        let ratios = |place| self.comparing.as_ref().map_or([None; 2], |comparing| comparing.ratios(place));
        let written = self.journal.finish(self.plans, &self.schedule, &ratios, outcome == Outcome::Done)?;
        for (model, unresolved) in self.unresolved.iter().enumerate().filter(|(_, points)| !points.is_empty())
        {
            let plan = &self.plans[model];
            let counts = (unresolved.len(), plan.points.len());
            say!("warning: {}", unresolvable(&plan.name, plan.once, counts));
        }
        for (plan, matter) in self.plans.iter().zip(self.schedule.data_matter()) {
            if let (Some([same, fresh]), false) = (matter, self.job.settings.part) {
                let (name, [same, fresh]) = (&plan.name, [same, fresh].map(|by| 100.0 * by));
                say!(
                    "model {name}: timings differ by {fresh:.0} % on fresh data, {same:.0} % on the same: each sample is the mean"
                );
            }
        }
        if outcome == Outcome::Done {
            let told = if self.job.settings.part { &[] } else { self.plans };
            let part = |(plan, (begun, points)): (&ModelPlan, (usize, usize))| {
                (begun < points).then(|| format!("{begun} of {points} points of {}", plan.name))
            };
            let parts: Vec<String> =
                told.iter().zip(self.schedule.begun_by_model()).filter_map(part).collect();
            if !parts.is_empty() {
                say!(
                    "the budget of {} sufficed for {}; go on with --resume and a longer --budget",
                    Seconds::new(self.budget).unwrap_or_default(),
                    parts.join(", ")
                );
            }
        } else {
            say!("interrupted: what was measured is kept in {}; go on with --resume", written.display());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_their_way_to_all_nodes() {
        let time = |call| Order::Time { place: PointIndex { model: 2, point: 7 }, count: 9, call };
        let calls = [Call::BetweenOtherWork, Call::Hot, Call::Replayed(1), Call::Replayed(8)];
        let ends = [Outcome::Done, Outcome::Fault, Outcome::Interrupted].map(Order::End);
        for order in calls.map(time).into_iter().chain(ends) {
            assert_eq!(Order::decode(order.encode()), order);
        }
    }
}
