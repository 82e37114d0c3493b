//! Tuning of the run-time's own calls, for a program that is not changed.
//!
//! A layer between node and transport, which exists only if `STRATA_TUNE` asks for it, picks one of
//! the transport's [ways](crate::transport::Way) at each call site. A put concerns its sender alone,
//! so each node has a tuner of its own for its puts. A collective must be done in the same way by
//! all nodes: a second tuner learns the same on all of them, in agreements that follow a collective
//! now and then, as seldom as makes them cost a hundredth of the time.

use crate::block::{Contents, RawBlock};
use crate::clock::Clock;
use crate::error::Error;
use crate::number::{NumberType, Op};
use crate::settings::Settings;
use crate::transport::{
    Action, Awaited, Call, Collective, Endpoint, Extras, Failure, Network, Networks, Operation, Packet,
    Schedule, Tuned, Way, pass_on,
};
use crate::tune::stored;
use std::panic::Location;
use std::path::{Path, PathBuf};
use strata_select::{Library as _, say};
use strata_tune::{Agree, Knob, Mode, Options, Phase, SizeClass, Tuner, VARIABLE};

/// The least bytes of a call that is tuned: shorter ones take less time than the choice.
const LEAST: usize = crate::copy::SHORT;
/// Tuned collectives before the first agreement, and the most between two.
const FIRST: u64 = 4;
const MOST: u64 = 1 << 14;
/// The least tuned collectives between two agreements, in units of the program's call sites.
const ROUNDS: u64 = 4;
/// The share of agreements in the time that tuning may lose.
const SHARE: f64 = 0.5;

/// How the calls of a job are tuned, if they are: equal on all nodes.
pub(crate) fn wanted(settings: &Settings) -> Result<Option<Options>, Error> {
    if let Some(options) = &settings.tuning {
        return Ok(Some(options.clone()));
    }
    let mode = Mode::parse(settings.variable(VARIABLE).unwrap_or_default())?;
    Ok((mode != Mode::Off).then(|| Options::of(mode)))
}

/// A transport whose calls are tuned.
struct Calls {
    inner: Box<dyn Endpoint>,
    clock: Clock,
    /// For the calls of this node alone.
    own: Tuner,
    /// For those of all nodes; `None` once they were found to differ.
    team: Option<Tuner>,
    /// True if nodes agree: something may be learned.
    learns: bool,
    /// Whether each of the two has had a choice.
    used: [bool; 2],
    /// The files in which this node keeps what they found.
    files: [Option<PathBuf>; 2],
    /// By action: its ways, and the mark of a call that ends or begins an interval of puts.
    ways: Vec<Knob<Way>>,
    marks: Vec<Knob<()>>,
    schedules: Knob<Option<Schedule>>,
    /// True during an all-to-all: the calls of which it consists are not the program's.
    inside: bool,
    pace: Pace,
    /// The share of the time that agreements take.
    share: f64,
    place: &'static Location<'static>,
}

/// When the nodes agree.
struct Pace {
    /// Tuned collectives since the last agreement, and those that lead to the next one.
    done: u64,
    next: u64,
    /// The time of the last agreement in ns.
    since: u64,
}

/// The agreement of all nodes, in a maximum of their values and of some more.
struct Team<'a> {
    inner: &'a mut dyn Endpoint,
    place: &'static Location<'static>,
    more: [f64; 3],
}

impl Agree for Team<'_> {
    fn max(&mut self, values: &mut [f64]) {
        let mut all = [&*values, &self.more].concat();
        let call = Call::combine(Action::Reduce, NumberType::F64, Op::Max, all.len(), self.place);
        let operation = Operation::Reduce(NumberType::F64, Op::Max);
        self.inner.collective(call, Collective::InPlace(operation, bytemuck::cast_slice_mut(&mut all)));
        let (own, more) = all.split_at(values.len());
        values.copy_from_slice(own);
        self.more.copy_from_slice(more);
    }
}

/// The name of one of the two tuners, after that of the program.
fn names(inner: &dyn Endpoint, transport: &str) -> [String; 2] {
    let program = std::env::current_exe().ok();
    let stem = program.as_deref().and_then(Path::file_stem).unwrap_or_default().to_string_lossy();
    let (rank, size) = (inner.rank(), inner.size());
    [format!("{stem} puts on {transport}, node {rank} of {size}"), format!("{stem} calls on {transport}")]
}

/// The mode with a file beside the one that it names, which is that of the program's own tuner.
///
/// With `use:FILE` there may be no such file: the program's own tuner has been used without this
/// one, or a node has put nothing. `reads` is true on the node that reads it.
fn beside(mode: &Mode, what: &str, reads: bool) -> Mode {
    let name = |file: &Path| file.with_extension(format!("{what}.json"));
    match mode {
        Mode::Record(file) => Mode::Record(file.as_deref().map(name)),
        Mode::Tune(file) => Mode::Tune(file.as_deref().map(name)),
        Mode::Use(file) => {
            let beside = name(file);
            let others = || {
                ["calls", "puts-0"].iter().any(|what| file.with_extension(format!("{what}.json")).exists())
            };
            if reads && !beside.exists() && (file.exists() || others()) {
                Mode::Off
            } else {
                Mode::Use(beside)
            }
        }
        _ => Mode::Off,
    }
}

/// Puts the layer around `inner`, with equal options on all nodes.
///
/// # Participation
/// Collective.
///
/// # Errors
/// If an option is outside its range, there is no cache folder, or a file cannot be read.
#[track_caller]
pub(crate) fn tuned(
    mut inner: Box<dyn Endpoint>,
    clock: &Clock,
    transport: &str,
    options: &Options,
) -> Result<Box<dyn Endpoint>, Error> {
    let place = Location::caller();
    let [own, team] = names(&*inner, transport);
    let with = |mode| Options { mode, ..options.clone() };
    let its = |inner: &dyn Endpoint| format!("puts-{}", inner.rank());
    let own_options = with(beside(&options.mode, &its(&*inner), true));
    let mut mine = Tuner::new(&own, own_options.clone())?;
    mine.notes().iter().for_each(|note| say!("strata: {note}"));
    let team_options = with(beside(&options.mode, "calls", inner.rank() == 0));
    let stored = stored(&team, &team_options, inner.rank(), inner.size())?;
    let mut text = stored.text.into_bytes();
    let mut length = text.len() as u64;
    inner.broadcast(Call::moving(Action::Broadcast, 8, 0, 1, place), 0, bytemuck::bytes_of_mut(&mut length));
    text.resize(usize::try_from(length).unwrap_or(0), 0);
    if length > 0 {
        inner.broadcast(Call::moving(Action::Broadcast, 1, 0, text.len(), place), 0, &mut text);
    }
    let text = String::from_utf8_lossy(&text);
    let mut all = Tuner::for_team(&team, team_options, inner.size(), (length > 0).then_some(&*text))
        .map_err(Error::program)?;
    if clock.is_simulated() {
        mine.set_tick(1e-9);
        all.set_tick(1e-9);
    }
    let file = match own_options.mode {
        Mode::Use(_) => None,
        mode => Tuner::file_of(&own, &mode, 1)?,
    };
    let others = inner.extras().ways;
    let ways = |action: &Action| Knob::named(action.name(), ("usual", Way::Usual), others(*action));
    let ways = Action::ALL.iter().map(ways).collect();
    let mark = |action: &Action| Knob::named(action.name(), ("mark", ()), []);
    let marks = Action::ALL.iter().map(mark).collect();
    let schedules = Schedule::TABLE.entries.iter().enumerate();
    let schedules = schedules.map(|(index, entry)| (entry.name, Schedule::candidate(index, &[])));
    Ok(Box::new(Calls {
        inner,
        clock: clock.clone(),
        own: mine,
        team: Some(all),
        learns: matches!(options.mode, Mode::Record(_) | Mode::Tune(_)),
        used: [false; 2],
        files: [file, stored.file],
        ways,
        marks,
        schedules: Knob::named(Action::AllToAll.name(), ("as written", None), schedules),
        inside: false,
        share: SHARE * options.loss,
        pace: Pace { done: 0, next: FIRST, since: clock.ns() },
        place,
    }))
}

impl Calls {
    /// The time of a simulated node; others have the tuners read their clock.
    fn now(&self) -> Option<u64> {
        self.clock.is_simulated().then(|| self.clock.ns())
    }

    /// A call that ends or begins intervals of this node's puts.
    fn mark(&mut self, call: &Call) {
        if self.inside || self.own.passes() {
            return;
        }
        let now = self.now();
        let mark = &self.marks[call.action() as usize];
        self.own.option_at(call.place, mark, SizeClass::Any, now);
    }

    /// The way of a collective of `bytes` bytes, and whether it is one of which the nodes agree.
    fn way(&mut self, call: &Call, collective: &Collective<'_>) -> (Way, bool) {
        let class = match collective {
            // Nodes have blocks of different lengths.
            Collective::Exchange(_) => SizeClass::Any,
            Collective::InPlace(_, values) if values.len() >= LEAST => SizeClass::of(values.len()),
            Collective::AllGather { mine, .. } if mine.len() >= LEAST => SizeClass::of(mine.len()),
            _ => return (Way::Usual, false),
        };
        let now = self.now();
        let knob = &self.ways[call.action() as usize];
        match &mut self.team {
            Some(team) if knob.len() > 1 && !self.inside => {
                self.used[1] = true;
                (*knob.value(team.option_at(call.place, knob, class, now)), true)
            }
            _ => (Way::Usual, false),
        }
    }

    /// A tuned collective has been done: agrees if it is time to. All nodes do it after the same
    /// collective, and none needs another one to receive.
    fn agree_now_and_then(&mut self) {
        self.pace.done += 1;
        if !self.learns || self.pace.done < self.pace.next {
            return;
        }
        let Some(team) = &mut self.team else { return };
        let start = self.clock.ns();
        let each = start.saturating_sub(self.pace.since) as f64 / self.pace.done as f64;
        let (busy, sites) = (f64::from(u8::from(!team.is_idle())), team.sites() as f64);
        let mut nodes = Team { inner: &mut *self.inner, place: self.place, more: [each, busy, sites] };
        let agreed = team.agree(&mut nodes);
        let [each, busy, sites] = nodes.more;
        if let Err(why) = agreed {
            // On all nodes at once.
            if self.inner.rank() == 0 {
                say!("strata: collectives are no longer tuned: {why}");
            }
            self.team = None;
            return;
        }
        team.interrupt();
        self.own.interrupt();
        // A second maximum, because the cost is known only now, and all nodes must go on alike.
        let end = self.clock.ns();
        let mut cost = [end.saturating_sub(start) as f64];
        Team { inner: &mut *self.inner, place: self.place, more: [0.0; 3] }.max(&mut cost);
        let between = (cost[0] / (self.share * each.max(1.0))).ceil().min(MOST as f64) as u64;
        let idle = if busy == 0.0 { 2 * self.pace.next } else { 1 };
        // The execution in progress is lost: there must be whole ones in between.
        let least = FIRST.max(ROUNDS * sites as u64);
        self.pace = Pace { done: 0, next: between.max(idle).min(MOST).max(least), since: self.clock.ns() };
    }
}

impl Tuned for Calls {
    fn begins(&mut self, call: &Call, bytes: usize, wanted: Schedule) -> Schedule {
        let now = self.now();
        self.mark(call);
        let schedule = match &mut self.team {
            Some(team) if !self.inside && bytes > 0 => {
                let class = SizeClass::of(bytes);
                self.used[1] = true;
                let option = team.option_at(call.place, &self.schedules, class, now);
                let schedule = self.schedules.value(option).unwrap_or(wanted);
                self.agree_now_and_then();
                schedule
            }
            _ => wanted,
        };
        self.inside = true;
        schedule
    }

    fn ends(&mut self) {
        self.inside = false;
    }

    fn keep(&mut self) {
        let mut kept: Vec<String> = Vec::new();
        let tuners = [Some(&self.own), self.team.as_ref()].into_iter().zip(&self.files);
        for ((tuner, file), used) in tuners.zip(self.used) {
            let (Some(tuner), Some(file), true) = (tuner, file, used) else { continue };
            let report = tuner.report();
            if let Err(why) = tuner.save(file) {
                say!("strata: {why}");
            }
            let with_knobs = report.intervals.iter().filter(|each| !each.knobs.is_empty());
            let adopted = with_knobs.clone().filter(|each| each.phase == Phase::Adopted).count();
            kept.push(format!("{adopted} of {} adopted, in {}", with_knobs.count(), file.display()));
        }
        if self.inner.rank() == 0 && !kept.is_empty() {
            say!("strata: loops of the run-time's calls: {}", kept.join("; "));
        }
    }
}

impl Endpoint for Calls {
    fn place(&self) -> (usize, usize) {
        self.inner.place()
    }

    /// The tuner alone chooses the ways of calls.
    fn collective_by(&mut self, _: Way, call: Call, collective: Collective<'_>) {
        self.mark(&call);
        let (way, agrees) = self.way(&call, &collective);
        self.inner.collective_by(way, call, collective);
        if agrees {
            self.agree_now_and_then();
        }
    }

    fn start(&mut self, call: Call, operation: Operation, values: RawBlock) {
        self.mark(&call);
        self.inner.start(call, operation, values);
    }

    fn put_by(&mut self, _: Way, call: &Call, to: usize, port: usize, offset: usize, contents: Contents<'_>) {
        let (now, knob) = (self.now(), &self.ways[Action::Put as usize]);
        if contents.len() < LEAST || self.inside || knob.len() == 1 || self.own.passes() {
            return self.inner.put(call, to, port, offset, contents);
        }
        self.used[0] = true;
        let option = self.own.option_at(call.place, knob, SizeClass::of(contents.len()), now);
        match *knob.value(option) {
            Way::Pieces(each) => {
                for sent in (0..contents.len()).step_by(each.max(1)) {
                    let piece = contents.part(sent, contents.len().min(sent + each));
                    self.inner.put(call, to, port, offset + sent, piece);
                }
            }
            way => self.inner.put_by(way, call, to, port, offset, contents),
        }
    }

    pass_on! {
        test() -> bool;
        finish() -> RawBlock;
        try_send(network: Network, to: usize, packet: &Packet) -> bool;
        try_receive(network: Network, packet: &mut Packet) -> bool;
        open(port: usize, memory: RawBlock);
        close(port: usize) -> Option<RawBlock>;
        try_put(call: &Call, to: usize, port: usize, offset: usize, contents: Contents<'_>) -> bool;
        arrivals(networks: Networks, report: &mut dyn FnMut(usize, usize));
        set_async_or(value: bool);
        async_or() -> bool;
        pause(call: &Call, networks: Networks, awaited: Awaited);
        leave();
        all_left() -> bool;
        fail(failure: Failure) -> !;
    }

    fn extras(&mut self) -> Extras<'_> {
        Extras { library: None, ..self.inner.extras() }
    }

    fn tuned(&mut self) -> Option<&mut dyn Tuned> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::threads;

    /// What a collective gives in one way.
    fn result(endpoint: &mut dyn Endpoint, way: Way, action: Action) -> Vec<u8> {
        let (rank, size, place) = (endpoint.rank(), endpoint.size(), Location::caller());
        let values: Vec<f64> = (0..701).map(|at| ((rank + 2) * (at + 3)) as f64 / 7.0).collect();
        let mut mine = bytemuck::cast_slice(&values).to_vec();
        let moving = Call::moving(action, 8, 0, values.len(), place);
        match action {
            Action::Reduce => {
                // In words, as numbers are aligned.
                let mut values = values;
                let call = Call::combine(action, NumberType::F64, Op::Add, values.len(), place);
                let operation = Operation::Reduce(NumberType::F64, Op::Add);
                let words = bytemuck::cast_slice_mut(&mut values);
                endpoint.collective_by(way, call, Collective::InPlace(operation, words));
                mine = bytemuck::cast_slice(&values).to_vec();
            }
            Action::Broadcast => {
                let operation = Operation::Broadcast(size - 1);
                endpoint.collective_by(way, moving, Collective::InPlace(operation, &mut mine));
            }
            Action::AllGather => {
                let mut all = vec![0; mine.len() * size];
                endpoint.collective_by(way, moving, Collective::AllGather { mine: &mine, all: &mut all });
                return all;
            }
            _ => {
                endpoint.open(1, RawBlock::zeroed(mine.len()));
                endpoint.barrier(Call::plain(Action::Barrier, place));
                let (call, to) = (Call::to(action, (rank + 1) % size, place), (rank + 1) % size);
                endpoint.put_by(way, &call, to, 1, 0, mine.as_slice().into());
                endpoint.barrier(Call::plain(Action::Barrier, place));
                return endpoint.close(1).unwrap_or_default().as_bytes().to_vec();
            }
        }
        mine
    }

    #[test]
    fn every_way_gives_the_same_result_to_the_bit() {
        for nodes in [1, 2, 3, 5, 8] {
            let run = threads::run(nodes, |mut endpoint| {
                for action in [Action::Reduce, Action::Broadcast, Action::AllGather, Action::Put] {
                    let usual = result(&mut *endpoint, Way::Usual, action);
                    let ways = (endpoint.extras().ways)(action);
                    assert!(!ways.is_empty(), "{action:?}");
                    for (name, way) in ways {
                        assert_eq!(result(&mut *endpoint, way, action), usual, "{action:?}: {name}, {nodes}");
                    }
                }
                Ok(())
            });
            assert_eq!(run.map(|results| results.len()).unwrap(), nodes);
        }
    }
}
