//! The tuner: what a program calls.

use crate::agree::Agree;
use crate::error::TuneError;
use crate::experiment::{Experiment, Rules};
use crate::graph::{Graph, START, Visit};
use crate::idle::Idle;
use crate::intervals::{Interval, intervals};
use crate::knob::Knob;
use crate::loops;
use crate::policy::Space;
use crate::settings::{Mode, Options};
use crate::site::{Sig, SizeClass};
use crate::state::{Identity, SavedInterval};
use std::panic::Location;
use std::path::PathBuf;
use strata_select::say;

/// Chooses values of knobs at call sites, times the program's loops, and adopts configurations that
/// are significantly faster than the defaults.
///
/// Each node has its own tuner; nothing is shared. See the [crate's page](crate) for a loop in ten
/// lines.
pub struct Tuner {
    pub(crate) program: String,
    pub(crate) identity: Identity,
    pub(crate) options: Options,
    pub(crate) file: Option<PathBuf>,
    pub(crate) notes: Vec<String>,
    /// The choices set by `use:FILE`.
    pub(crate) used: Option<String>,
    pub(crate) graph: Graph,
    /// The option in force at each node.
    choices: Vec<u16>,
    roles: Vec<Role>,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) experiments: Vec<Experiment>,
    /// Intervals read from a file that have not been found in this run yet.
    pub(crate) saved: Vec<SavedInterval>,
    pub(crate) run: Run,
    pub(crate) idle: Idle,
    /// True if sites or edges are newer than the intervals; and the number of visits since the last
    /// new one.
    pub(crate) unsettled: bool,
    quiet: u64,
    clock: quanta::Clock,
    /// Seconds of a tick, and ticks that an evaluation spans.
    pub(crate) tick: f64,
    span: f64,
    /// Ticks that timing an execution takes; 0 if nodes must decide alike.
    pub(crate) clock_cost: f64,
    pub(crate) team: bool,
    pub(crate) steps: u64,
    pub(crate) visits: u64,
}

/// The role of a node in the intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Role {
    /// The interval that begins here, plus 1.
    begins: u32,
}

/// The current execution of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) active: bool,
    timed: bool,
    interval: u32,
    /// Position of the program's node.
    position: u32,
    start: u64,
}

impl Tuner {
    /// A tuner for a program, in the mode of `STRATA_TUNE`. Results of earlier runs by this build
    /// on this machine are restored; a file that does not fit is ignored with a line on standard
    /// error.
    ///
    /// # Errors
    /// If `STRATA_TUNE` is invalid, there is no cache folder, or `use:FILE` names a file that
    /// cannot be read.
    pub fn from_env(program: &str) -> Result<Self, TuneError> {
        let tuner = Self::new(program, Options::from_env()?)?;
        tuner.notes.iter().for_each(|note| say!("strata: {note}"));
        Ok(tuner)
    }

    /// A tuner with the program's own options. Its messages are in [`notes`](Self::notes).
    ///
    /// # Errors
    /// If an option is outside its range, there is no cache folder, or `use:FILE` names a file that
    /// cannot be read.
    pub fn new(program: &str, options: Options) -> Result<Self, TuneError> {
        let mut tuner = Self::blank(program, options, 1)?;
        tuner.clock_cost = clock_cost(&tuner.clock);
        tuner.open()?;
        Ok(tuner)
    }

    /// A tuner of one node of a team of `nodes`; it learns only in [`agree`](Self::agree). `text`
    /// is the state that one node has [`stored`](Self::stored), equal on all nodes. This call reads
    /// no files; that node has checked that the state fits the machine.
    ///
    /// # Errors
    /// If an option is outside its range.
    pub fn for_team(
        program: &str,
        options: Options,
        nodes: usize,
        text: Option<&str>,
    ) -> Result<Self, TuneError> {
        let mut tuner = Self::blank(program, options, nodes)?;
        tuner.team = true;
        if let Some(text) = text {
            tuner.take_up(text, "what was found before", false);
        }
        Ok(tuner)
    }

    pub(crate) fn blank(program: &str, options: Options, nodes: usize) -> Result<Self, TuneError> {
        options.check()?;
        let clock = quanta::Clock::new();
        // Measured over many ticks, so that rounding to nanoseconds does not matter.
        let many = 1u64 << 40;
        let tick = clock.delta_as_nanos(0, many) as f64 * 1e-9 / many as f64;
        let mut tuner = Self {
            program: program.to_owned(),
            identity: if options.mode == Mode::Off { Identity::default() } else { Identity::here(nodes) },
            file: None,
            notes: Vec::new(),
            used: None,
            graph: Graph::new(),
            choices: vec![0],
            roles: vec![Role::default()],
            intervals: Vec::new(),
            experiments: Vec::new(),
            saved: Vec::new(),
            run: Run::default(),
            idle: if options.mode == Mode::Off { Idle::endless() } else { Idle::default() },
            unsettled: false,
            quiet: 0,
            clock,
            tick,
            span: 0.0,
            clock_cost: 0.0,
            team: false,
            steps: 0,
            visits: 0,
            options,
        };
        tuner.set_tick(tick);
        Ok(tuner)
    }

    /// Sets the seconds of one tick of the times given to [`visit_at`](Self::visit_at), if they are
    /// not those of this machine's clock.
    pub fn set_tick(&mut self, seconds: f64) {
        self.tick = seconds;
        self.span = self.options.span as f64 * 1e-9 / seconds;
        self.clock_cost = 0.0;
        if self.options.mode != Mode::Off {
            self.idle = Idle::default();
        }
    }

    /// The value in force for this call site.
    ///
    /// Keep the value with its use: a request that completes later has the value of its own call,
    /// whatever is chosen meanwhile.
    #[track_caller]
    #[inline]
    pub fn pick<'knob, T>(&mut self, knob: &'knob Knob<T>) -> &'knob T {
        knob.value(self.option_at(Location::caller(), knob, SizeClass::Any, None))
    }

    /// As [`pick`](Self::pick), for each class of sizes separately.
    #[track_caller]
    #[inline]
    pub fn pick_for<'knob, T>(&mut self, knob: &'knob Knob<T>, size: usize) -> &'knob T {
        knob.value(self.option_at(Location::caller(), knob, SizeClass::of(size), None))
    }

    /// Marks a place without a choice where an interval may begin or end: a collective, a wait.
    #[track_caller]
    #[inline]
    pub fn mark(&mut self, op: &'static str) {
        if !self.passes() {
            self.visit(Sig::at(Location::caller(), op, SizeClass::Any, 1), Default::default, None);
        }
    }

    /// The number of the option to use at the place of the caller's own caller, at a time given by
    /// the caller (see [`visit_at`](Self::visit_at)) or by this machine's clock.
    #[inline]
    pub fn option_at<T>(
        &mut self,
        place: &'static Location<'static>,
        knob: &Knob<T>,
        class: SizeClass,
        now: Option<u64>,
    ) -> u16 {
        if self.passes() {
            return 0;
        }
        self.visit(Sig::at(place, knob.name(), class, knob.len()), || knob.describe(), now)
    }

    #[inline]
    fn visit(
        &mut self,
        sig: Sig,
        describe: impl FnOnce() -> (Vec<String>, Vec<f64>),
        now: Option<u64>,
    ) -> u16 {
        let node = if self.idle.left == 0 { self.go_to(sig, describe) } else { self.wake(sig, describe) };
        let Some(node) = node else { return 0 };
        self.pass(node, now);
        self.choices[node]
    }

    /// Visits a site at a time given by the caller in ticks (see [`set_tick`](Self::set_tick)), for
    /// example on a simulated machine. Returns the number of the option in force.
    pub fn visit_at(&mut self, sig: Sig, now: u64) -> u16 {
        if self.passes() {
            return 0;
        }
        self.visit(sig, Default::default, Some(now))
    }

    /// Follows the flow graph; `None` if it is full.
    #[inline]
    fn go_to(&mut self, sig: Sig, describe: impl FnOnce() -> (Vec<String>, Vec<f64>)) -> Option<usize> {
        self.visits += 1;
        match self.graph.visit(sig, describe) {
            Visit::Known(node) => {
                if self.unsettled {
                    self.settle();
                }
                Some(node)
            }
            Visit::New(node) => {
                self.discover();
                Some(node)
            }
            Visit::Untracked => {
                self.run.active = false;
                None
            }
        }
    }

    pub(crate) fn make_room(&mut self) {
        self.choices.resize(self.graph.nodes.len(), 0);
        self.roles.resize(self.graph.nodes.len(), Role::default());
    }

    #[cold]
    pub(crate) fn discover(&mut self) {
        self.make_room();
        self.unsettled = !matches!(self.options.mode, Mode::Use(_));
        self.quiet = 0;
    }

    /// True if no new site or edge has appeared for long enough.
    fn is_quiet(&self) -> bool {
        self.quiet >= u64::from(self.options.settle).max(2 * self.graph.edges() as u64)
    }

    #[cold]
    fn settle(&mut self) {
        self.quiet += 1;
        if !self.team && self.is_quiet() {
            self.find_intervals();
        }
    }

    /// Finds loops and intervals; earlier intervals keep their state.
    pub(crate) fn find_intervals(&mut self) {
        let successors = self.graph.successors();
        let found = intervals(&successors, START, &loops::find(&successors, START));
        let old = std::mem::take(&mut self.intervals).into_iter().zip(std::mem::take(&mut self.experiments));
        let mut old: Vec<_> = old.map(Some).collect();
        self.roles = vec![Role::default(); self.graph.nodes.len()];
        self.choices = vec![0; self.graph.nodes.len()];
        for interval in found {
            let kept = old
                .iter_mut()
                .find(|old| old.as_ref().is_some_and(|(before, _)| before.nodes == interval.nodes));
            let experiment = match kept.and_then(Option::take) {
                Some((before, mut experiment)) => {
                    let place = |stop: &usize| before.stops.iter().position(|each| each == stop);
                    let stops = interval.stops.iter();
                    experiment.stops = stops
                        .map(|stop| {
                            place(stop).map_or_else(Default::default, |at| experiment.stops[at].clone())
                        })
                        .collect();
                    experiment
                }
                None => self.new_experiment(&interval),
            };
            let knobs = self.knobs(&interval);
            for (node, option) in knobs.zip(experiment.config()) {
                self.choices[node] = *option;
            }
            self.roles[interval.nodes[0]].begins = self.intervals.len() as u32 + 1;
            self.intervals.push(interval);
            self.experiments.push(experiment);
        }
        self.run = Run::default();
        self.unsettled = false;
    }

    /// The nodes of an interval that have knobs.
    pub(crate) fn knobs(&self, interval: &Interval) -> impl Iterator<Item = usize> + use<> {
        let options = |node: &usize| self.graph.nodes[*node].site.as_ref().map_or(1, |site| site.options);
        interval.nodes.iter().copied().filter(|node| options(node) > 1).collect::<Vec<_>>().into_iter()
    }

    fn new_experiment(&mut self, interval: &Interval) -> Experiment {
        let knobs: Vec<usize> = self.knobs(interval).collect();
        let node = |node: &usize| &self.graph.nodes[*node];
        let options = knobs.iter().map(|knob| node(knob).site.as_ref().map_or(1, |site| site.options));
        let mut space = Space::new(options);
        space.prior = knobs.iter().map(|knob| node(knob).prior.clone()).collect();
        let rules = Rules {
            search: self.options.search,
            budget: self.options.budget,
            loss: self.options.loss,
            confidence: self.options.confidence,
            seed: self.options.seed,
            watch: self.options.watch,
            clock: self.price_of_timing(interval.nodes.len()),
            record: matches!(self.options.mode, Mode::Record(_)),
        };
        let mut made = Experiment::new(space, interval.stops.len(), rules, self.graph.hash(&interval.nodes));
        self.restore_into(interval, &mut made);
        made
    }

    /// Ends the current execution if the program has reached one of its stops, and begins one where
    /// an interval begins (Borg 2006, §4.3.2: a stop may be the next interval's first node).
    #[inline]
    fn pass(&mut self, node: usize, mut time: Option<u64>) {
        if self.run.active {
            let number = self.run.interval as usize;
            let interval = &self.intervals[number];
            let next = self.run.position as usize + 1;
            if interval.nodes.get(next) == Some(&node) {
                self.run.position += 1;
                return;
            }
            self.run.active = false;
            // An edge that is newer than the intervals leads to no stop, so the execution is not
            // counted.
            if let Some(stop) = interval.stops.iter().position(|stop| *stop == node) {
                // The clock is read only if a time is needed. One that has stepped back tells none.
                let clock = &self.clock;
                let now = self.run.timed.then(|| *time.get_or_insert_with(|| clock.raw()));
                let ticks = now.and_then(|now| now.checked_sub(self.run.start));
                let experiment = &mut self.experiments[number];
                if experiment.end(stop, ticks) >= self.span && ticks.is_some() && !self.team {
                    self.learn(number);
                }
            }
        }
        let Some(number) = self.roles[node].begins.checked_sub(1) else { return };
        let experiment = &mut self.experiments[number as usize];
        let mut changed = false;
        let timed = experiment.begin(self.team, |_| changed = true);
        if changed {
            self.put_in_force(number as usize);
        }
        let start = if timed { time.unwrap_or_else(|| self.clock.raw()) } else { 0 };
        self.run = Run { active: true, timed, interval: number, position: 0, start };
    }

    #[cold]
    fn learn(&mut self, number: usize) {
        let start = (self.clock_cost > 0.0).then(|| self.clock.raw());
        let batch: Vec<(f64, u32)> = self.experiments[number].batch().collect();
        self.experiments[number].learn(&batch);
        if let Some(start) = start {
            self.experiments[number].charge(self.clock.raw().saturating_sub(start));
        }
        self.rest_if_idle();
    }

    #[cold]
    pub(crate) fn put_in_force(&mut self, number: usize) {
        let knobs = self.knobs(&self.intervals[number]);
        for (node, option) in knobs.zip(self.experiments[number].config()) {
            self.choices[node] = *option;
        }
    }

    /// Drops the execution in progress, because something that is not the program's has taken time
    /// meanwhile.
    pub fn interrupt(&mut self) {
        self.run.active = false;
    }

    /// The number of call sites.
    #[must_use]
    pub fn sites(&self) -> usize {
        self.graph.nodes.len() - 1
    }

    /// True if all intervals are known and none is timed at present: what is in force stays for a
    /// while.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        !self.unsettled && !self.experiments.iter().any(Experiment::is_timing)
    }

    /// Forces this option at this node, whatever is measured.
    pub(crate) fn force(&mut self, node: usize, option: u16) {
        self.choices[node] = option;
    }

    /// A step of a team: all nodes learn the same from the slowest node's times, and use the same
    /// choices from now on. A team's choices change only here, each at its interval's next
    /// execution.
    ///
    /// # Participation
    /// Collective: every node calls it, at the same place of the program, such as once an
    /// iteration.
    ///
    /// # Errors
    /// On all nodes, if their call sites differ.
    pub fn agree(&mut self, team: &mut dyn Agree) -> Result<(), TuneError> {
        if !self.team || matches!(self.options.mode, Mode::Off | Mode::Use(_)) {
            return Ok(());
        }
        self.steps += 1;
        // Two flags: whether a node is unsettled, and whether one is not yet quiet. Then the values
        // that must be equal, and their negatives, whose maximum is the minimum.
        let sites: Vec<usize> = (1..self.graph.nodes.len()).collect();
        let (hash, structure) = (self.graph.hash(&sites), self.structure());
        let equal =
            [hash >> 32, hash & 0xffff_ffff, structure >> 32, structure & 0xffff_ffff, sites.len() as u64];
        let mut values: Vec<f64> = vec![
            f64::from(u8::from(self.unsettled)),
            f64::from(u8::from(self.unsettled && !self.is_quiet())),
        ];
        values.extend(equal.iter().flat_map(|value| [*value as f64, -(*value as f64)]));
        team.max(&mut values);
        let [unsettled, loud, equal @ ..] = &values[..] else { return Ok(()) };
        let differs = |pair: usize| equal[2 * pair] != -equal[2 * pair + 1];
        if *unsettled > 0.0 {
            if *loud == 0.0 {
                if (0..2).chain([4]).any(differs) {
                    return Err(self.name_the_difference(team, equal[8] as usize));
                }
                self.find_intervals();
            }
            return Ok(());
        }
        if (0..5).any(differs) {
            return Err(self.name_the_difference(team, equal[8] as usize));
        }
        // For each stop the slowest node's mean time, and the least number of executions.
        let mut times: Vec<f64> = Vec::new();
        for experiment in &self.experiments {
            times.extend(experiment.batch().flat_map(|(mean, count)| [mean, -f64::from(count)]));
        }
        if !times.is_empty() {
            team.max(&mut times);
        }
        let mut stops = times.chunks_exact(2).map(|pair| match pair {
            [mean, count] => (*mean, -*count as u32),
            _ => (0.0, 0),
        });
        for experiment in &mut self.experiments {
            let batch: Vec<(f64, u32)> = stops.by_ref().take(experiment.stops.len()).collect();
            if experiment.is_timing() { experiment.learn(&batch) } else { experiment.rest() }
        }
        Ok(())
    }

    /// A hash that is equal for equal intervals and stops.
    fn structure(&self) -> u64 {
        let all = self.intervals.iter().map(|each| {
            let nodes = each.nodes.iter().chain(&each.stops);
            nodes.fold(each.nodes.len() as u64, |sum, node| {
                sum.rotate_left(5) ^ self.graph.hash(std::slice::from_ref(node))
            })
        });
        all.fold(0, |sum, hash| (sum ^ hash).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(7))
    }

    /// Finds a site that only some nodes have. Collective.
    fn name_the_difference(&self, team: &mut dyn Agree, most: usize) -> TuneError {
        let mut sites: Vec<_> = self.graph.nodes.iter().filter_map(|node| node.site.clone()).collect();
        sites.sort();
        // At least one element, because a node may have no sites.
        let mut values = vec![0.0; 2 * most.max(1)];
        for (site, pair) in sites.iter().zip(values.chunks_exact_mut(2)) {
            let node = self.graph.find(site).unwrap_or(START);
            let hash = (self.graph.hash(&[node]) >> 12) as f64;
            pair.copy_from_slice(&[hash, -hash]);
        }
        team.max(&mut values);
        let first = values.chunks_exact(2).position(|pair| pair[0] != -pair[1]);
        let what = match first {
            None => "they follow each other in different orders".to_owned(),
            Some(at) => match sites.get(at) {
                Some(site) => format!("on one node the first that differs is `{site}`"),
                None => format!("one node has only {} of them", sites.len()),
            },
        };
        TuneError::SitesDiffer(format!(
            "the call sites of this team's nodes differ, so they cannot tune alike: {what}; tune only \
             what all nodes do, or set STRATA_TUNE=off"
        ))
    }
}

/// The ticks of reading the clock twice: the median of several.
fn clock_cost(clock: &quanta::Clock) -> f64 {
    let mut costs = [0; 31];
    for cost in &mut costs {
        let start = clock.raw();
        *cost = clock.raw().saturating_sub(start);
    }
    costs.sort_unstable();
    2.0 * costs[costs.len() / 2] as f64
}
