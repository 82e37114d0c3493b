//! Which routine a copy takes.

use std::sync::OnceLock;

use strata_select::{Situation, better_than, pinned};

use crate::exchange_models::{CopyExchange, CopyExchangeUsed};
use crate::models::{CopyCold, CopyColdRead, CopyHot, CopyHotRead};
use crate::routine::Place;
use crate::{DEFAULT, Direction, Routine, SHORT, routines, strided};

/// What a program knows about the caches, as far as it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// Where the source is.
    pub source: Source,
    /// What becomes of the target.
    pub target: Target,
}

/// Where a source is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// In this thread's caches, or in none.
    #[default]
    Unknown,
    /// It was just used by this thread.
    Hot,
    /// It was not used for long.
    Cold,
    /// Another thread has just written it.
    Remote,
}

/// What becomes of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// It is this thread's, who may read it soon.
    #[default]
    Unknown,
    /// This thread does not read it soon: it is kept.
    Left,
    /// This thread reads it at once.
    Read,
    /// Another thread has read what was there before, and reads what is written.
    Remote,
}

impl Hint {
    /// To a buffer from which another thread takes it.
    pub const SEND: Self = Self { source: Source::Unknown, target: Target::Remote };

    /// From a buffer that another thread has filled.
    pub const RECEIVE: Self = Self { source: Source::Remote, target: Target::Unknown };

    /// The source was just used.
    #[must_use]
    pub const fn hot(self) -> Self {
        Self { source: Source::Hot, ..self }
    }

    /// The source was not used for long.
    #[must_use]
    pub const fn cold(self) -> Self {
        Self { source: Source::Cold, ..self }
    }

    /// This thread does not read the target soon.
    #[must_use]
    pub const fn left(self) -> Self {
        Self { target: Target::Left, ..self }
    }

    /// This thread reads the target at once.
    #[must_use]
    pub const fn read(self) -> Self {
        Self { target: Target::Read, ..self }
    }

    /// Its row in the table of choices where source and target are not aligned alike; the next row
    /// is for those that are.
    #[inline]
    pub(crate) const fn row(self) -> usize {
        2 * (self.source as usize * 4 + self.target as usize)
    }

    /// The hint of a row.
    fn of(row: usize) -> Self {
        let source = [Source::Unknown, Source::Hot, Source::Cold, Source::Remote][row / 8];
        let target = [Target::Unknown, Target::Left, Target::Read, Target::Remote][row / 2 % 4];
        Self { source, target }
    }

    /// The measured situations that it does not exclude.
    fn measured(self) -> &'static [Measured] {
        use Measured::{Cold, ColdRead, Exchange, ExchangeUsed, Hot, HotRead};
        match (self.source, self.target) {
            // Both sides of an exchange: they choose alike, whatever each one knows.
            (_, Target::Remote) | (Source::Remote, _) => &[Exchange, ExchangeUsed],
            (Source::Unknown, Target::Unknown) => &[Hot, HotRead, Cold, ColdRead],
            (Source::Unknown, Target::Left) => &[Hot, Cold],
            (Source::Unknown, Target::Read) => &[HotRead, ColdRead],
            (Source::Hot, Target::Unknown) => &[Hot, HotRead],
            (Source::Hot, Target::Left) => &[Hot],
            (Source::Hot, Target::Read) => &[HotRead],
            (Source::Cold, Target::Unknown) => &[Cold, ColdRead],
            (Source::Cold, Target::Left) => &[Cold],
            (Source::Cold, Target::Read) => &[ColdRead],
        }
    }
}

/// The situations that `specs/copy` and `specs/copy-exchange` measure, a library each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured {
    Hot,
    HotRead,
    Cold,
    ColdRead,
    Exchange,
    ExchangeUsed,
}

impl Measured {
    const ALL: [Self; 6] =
        [Self::Hot, Self::HotRead, Self::Cold, Self::ColdRead, Self::Exchange, Self::ExchangeUsed];

    /// With the models in use.
    fn situation(self) -> Situation {
        match self {
            Self::Hot => Situation::of::<CopyHot>(1),
            Self::HotRead => Situation::of::<CopyHotRead>(1),
            Self::Cold => Situation::of::<CopyCold>(1),
            Self::ColdRead => Situation::of::<CopyColdRead>(1),
            Self::Exchange => Situation::of::<CopyExchange>(2),
            Self::ExchangeUsed => Situation::of::<CopyExchangeUsed>(2),
        }
    }
}

/// The routines that are worth trying: the candidates of models of this machine, all [`routines`]
/// where there are none. The first is [`DEFAULT`].
#[must_use]
pub fn candidates() -> Vec<&'static Routine> {
    let situations = Measured::ALL.map(Measured::situation);
    let of_here = situations.iter().filter(|situation| situation.models.note.is_none());
    let mut known: Vec<&'static Routine> = vec![&DEFAULT];
    for entry in of_here.flat_map(|situation| situation.table.entries) {
        for routine in sides(entry.name).into_iter().filter_map(Routine::named) {
            if !known.contains(&routine) {
                known.push(routine);
            }
        }
    }
    if known.len() > 1 { known } else { routines().to_vec() }
}

/// The routine that [`copy_hinted`](crate::copy_hinted) takes for so many bytes; `aligned` says
/// whether source and target lie a multiple of 64 bytes apart.
///
/// The first call for a size and hint evaluates models, which takes some 10 µs; later ones look
/// the answer up. Answers hold for quarters of a power of two.
#[inline]
#[must_use]
pub fn routine_for(hint: Hint, bytes: usize, aligned: bool) -> &'static Routine {
    if bytes < SHORT {
        return &DEFAULT;
    }
    match place(hint.row(), bytes, aligned).get() {
        Some(routine) => routine,
        None => choose_first(hint, bytes, aligned),
    }
}

/// A copy of at least [`SHORT`] bytes. In a function of its own, so that a short one pays for
/// nothing but a comparison, whose branch it does not take.
///
/// The arguments are few enough for registers alone. To save a register is a store, and `rep
/// movsb`, by which `memcpy` often copies, waits for earlier stores.
#[cold]
#[inline(never)]
pub(crate) fn long(to: &mut [u8], from: &[u8], row: usize) {
    // A multiple of 64 apart: the last six bits are the same.
    let aligned = (to.as_ptr().addr() ^ from.as_ptr().addr()).is_multiple_of(64);
    match place(row, from.len(), aligned).get() {
        Some(routine) => routine.copy(to, from),
        None => first(to, from, row),
    }
}

/// The first copy of a place.
#[cold]
#[inline(never)]
fn first(to: &mut [u8], from: &[u8], row: usize) {
    let aligned = (to.as_ptr().addr() ^ from.as_ptr().addr()).is_multiple_of(64);
    choose_first(Hint::of(row), from.len(), aligned).copy(to, from);
}

#[inline(always)]
fn place(row: usize, bytes: usize, aligned: bool) -> &'static Place {
    &CHOSEN[(row | usize::from(aligned)) % ROWS][Class::of(bytes).0]
}

/// Makes and keeps the choice of a place. Threads that do so at once find the same.
#[cold]
#[inline(never)]
fn choose_first(hint: Hint, bytes: usize, aligned: bool) -> &'static Routine {
    let class = Class::of(bytes);
    let routine = pinned_routine().unwrap_or_else(|| decide(Measured::situation, hint, class, aligned));
    place(hint.row(), bytes, aligned).set(routine);
    routine
}

/// Reads the pins of `copy` and `copy_strided` in `STRATA_PIN` and finds the models of copies now,
/// not at the first copy.
///
/// A pin whose name this processor has nothing of, or a file of models of another machine, has no
/// effect, and a line on standard error says so, once in a process: a copy cannot fail. A write to
/// standard error may wait, for as long as nobody reads a full pipe. A program whose copies stand
/// where other threads wait calls this before; the run-time system does so when a job starts. Later
/// calls do nothing.
pub fn read_settings() {
    pinned_routine();
    strided::pinned_mover();
    let _ = Measured::ALL.map(Measured::situation);
    let _ = [Direction::Pack, Direction::Unpack].map(Direction::situations);
}

/// The routine of `STRATA_PIN=copy=NAME`.
fn pinned_routine() -> Option<&'static Routine> {
    static PINNED: OnceLock<Option<&'static Routine>> = OnceLock::new();
    *PINNED.get_or_init(|| Some(routines()[pinned("copy", routines().iter().map(|routine| routine.name()))?]))
}

/// Hints times alignments.
const ROWS: usize = 32;

/// By hint and alignment, and by class.
static CHOSEN: [[Place; Class::COUNT]; ROWS] = [const { [const { Place::empty() }; Class::COUNT] }; ROWS];

/// Lengths from one quarter of a power of two to the next: the exponent of a length as a floating
/// point number, and the first two bits of its fraction.
#[derive(Clone, Copy)]
struct Class(usize);

impl Class {
    const FIRST: usize = key(SHORT);
    /// The last one is that of seven fourths of 2^27 bytes, and of all longer ones.
    const COUNT: usize = key(7 << 25) - Self::FIRST + 1;

    /// The class of a length of at least `SHORT`; the longest are in the last class.
    #[inline]
    fn of(bytes: usize) -> Self {
        Self(key(bytes).wrapping_sub(Self::FIRST).min(Self::COUNT - 1))
    }

    /// The lengths at which models are asked: near both ends, and the middle.
    fn lengths(self) -> [f64; 3] {
        let (power, quarter) = (SHORT << (self.0 / 4), self.0 % 4);
        [0.02, 0.5, 0.98].map(|part| (4.0 + quarter as f64 + part) * power as f64 / 4.0)
    }
}

/// Quarters of powers of two, counted. A conversion and a shift: less than finding the highest bit.
#[inline]
pub(crate) const fn key(bytes: usize) -> usize {
    ((bytes as isize as f32).to_bits() >> (f32::MANTISSA_DIGITS - 1 - 2)) as usize
}

/// What a call through a pointer costs a program beyond what a loop that repeats one copy shows:
/// its branches are predicted worse. About one mispredicted branch.
const INDIRECT: f64 = 4e-9;

/// The routine that models choose for a class.
fn decide(
    situation: impl Fn(Measured) -> Situation,
    hint: Hint,
    class: Class,
    aligned: bool,
) -> &'static Routine {
    let shift = if aligned { 0.0 } else { 24.0 };
    let lengths = class.lengths();
    let inputs = lengths.map(|bytes| [bytes, shift]);
    let side = usize::from(hint.target != Target::Remote);
    let named = |name: &str| {
        let both = sides(name).map(Routine::named);
        both[1 - side].and(both[side])
    };
    let measured = hint.measured();
    let situations: [Situation; 4] =
        std::array::from_fn(|place| situation(measured[place.min(measured.len() - 1)]));
    let situations = &situations[..measured.len()];
    let inputs = inputs.each_ref().map(<[f64; 2]>::as_slice);
    let what = format_args!("copy of {:.0} to {:.0} bytes, {hint:?}", lengths[0], lengths[2]);
    better_than(what, DEFAULT.name(), situations, &inputs, INDIRECT, named).unwrap_or(&DEFAULT)
}

/// The names of the routines of both sides of an exchange, the sender's first; both have that of
/// a candidate unless it is called `ONE_to_OTHER`.
pub(crate) fn sides(candidate: &str) -> [&str; 2] {
    candidate.split_once("_to_").map_or([candidate; 2], |(send, receive)| [send, receive])
}

#[cfg(test)]
pub(crate) mod tests;
