//! Chooses the routine of a copy.

use std::sync::OnceLock;

use strata_select::{
    learn::{Situation, better_than},
    models::pinned,
};

use crate::exchange_models::{CopyExchange, CopyExchangeUsed};
use crate::models::{CopyCold, CopyColdRead, CopyHot, CopyHotRead};
use crate::routine::Place;
use crate::{DEFAULT, Direction, Routine, SHORT, routines, strided};

/// What a program knows about the caches, if anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The state of the source.
    pub source: Source,
    /// The use of the target.
    pub target: Target,
}

/// The state of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// In this thread's caches, or in no cache.
    #[default]
    Unknown,
    /// Recently used by this thread.
    Hot,
    /// Not used for a long time.
    Cold,
    /// Just written by another thread.
    Remote,
}

/// The use of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// It belongs to this thread, which may read it soon.
    #[default]
    Unknown,
    /// This thread keeps it, and does not read it soon.
    Left,
    /// This thread reads it at once.
    Read,
    /// Another thread has read the old contents, and will read the new ones.
    Remote,
}

impl Hint {
    /// The target is a buffer that another thread empties.
    pub const SEND: Self = Self { source: Source::Unknown, target: Target::Remote };

    /// The source is a buffer that another thread has filled.
    pub const RECEIVE: Self = Self { source: Source::Remote, target: Target::Unknown };

    /// The source was recently used.
    #[must_use]
    pub const fn hot(self) -> Self {
        Self { source: Source::Hot, ..self }
    }

    /// The source was not used for a long time.
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

    /// Its row in the table of choices if source and target are aligned differently; the next row
    /// is for equal alignment.
    #[inline]
    pub(crate) const fn row(self) -> usize {
        2 * (self.source as usize * 4 + self.target as usize)
    }

    fn of(row: usize) -> Self {
        let source = [Source::Unknown, Source::Hot, Source::Cold, Source::Remote][row / 8];
        let target = [Target::Unknown, Target::Left, Target::Read, Target::Remote][row / 2 % 4];
        Self { source, target }
    }

    /// The measured situations that are consistent with the hint.
    fn measured(self) -> &'static [Measured] {
        use Measured::{Cold, ColdRead, Exchange, ExchangeUsed, Hot, HotRead};
        match (self.source, self.target) {
            // Both sides of an exchange must choose the same, even if their hints differ.
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

/// The situations that `specs/copy` and `specs/copy/exchange` measure, one library each.
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

/// The routines worth trying: the candidates of this machine's models, or all [`routines`] if there
/// are no models. The first is [`DEFAULT`].
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

/// The routine that [`copy_hinted`](crate::copy_hinted) uses for `bytes` bytes; `aligned` is true
/// if the addresses of source and target differ by a multiple of 64 bytes.
///
/// The first call for a size and hint evaluates models, which takes some 10 µs; later calls read
/// the cached choice. Choices hold for quarters of a power of two.
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

/// A copy of at least [`SHORT`] bytes. It is a separate function, so that a short copy pays only
/// for a comparison, whose branch it does not take.
///
/// The arguments fit in registers. Saving a register is a store, and `rep movsb`, which `memcpy`
/// often uses, waits for earlier stores.
#[cold]
#[inline(never)]
pub(crate) fn long(to: &mut [u8], from: &[u8], row: usize) {
    // The addresses differ by a multiple of 64 if their last six bits are equal.
    let aligned = (to.as_ptr().addr() ^ from.as_ptr().addr()).is_multiple_of(64);
    match place(row, from.len(), aligned).get() {
        Some(routine) => routine.copy(to, from),
        None => first(to, from, row),
    }
}

/// The first copy of a place: makes the choice.
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

/// Makes and stores the choice of a place. Threads that do so at once choose the same.
#[cold]
#[inline(never)]
fn choose_first(hint: Hint, bytes: usize, aligned: bool) -> &'static Routine {
    let class = Class::of(bytes);
    let routine = pinned_routine().unwrap_or_else(|| decide(Measured::situation, hint, class, aligned));
    place(hint.row(), bytes, aligned).set(routine);
    routine
}

/// Reads the pins of `copy` and `copy_strided` in `STRATA_PIN` and finds the models of copies now,
/// rather than at the first copy.
///
/// A pin that names nothing on this processor, or a model file of another machine, has no effect.
/// It is reported on standard error once in a process, because a copy cannot fail. A write to
/// standard error may block while nothing reads a full pipe. A program whose copies may delay other
/// threads calls this function first; the run-time does so when a job starts. Later calls do
/// nothing.
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

const ROWS: usize = 32;

/// The choices, by hint and alignment, and by class.
static CHOSEN: [[Place; Class::COUNT]; ROWS] = [const { [const { Place::empty() }; Class::COUNT] }; ROWS];

/// A class of lengths from one quarter of a power of two to the next: the exponent of the length as
/// a floating point number, and the first two bits of its fraction.
#[derive(Clone, Copy)]
struct Class(usize);

impl Class {
    const FIRST: usize = key(SHORT);
    /// The last class has lengths from seven fourths of 2^27 bytes on.
    const COUNT: usize = key(7 << 25) - Self::FIRST + 1;

    /// The class of a length of at least `SHORT`; the longest are in the last class.
    #[inline]
    fn of(bytes: usize) -> Self {
        Self(key(bytes).wrapping_sub(Self::FIRST).min(Self::COUNT - 1))
    }

    /// The lengths for which models are evaluated: near both ends, and the middle.
    fn lengths(self) -> [f64; 3] {
        let (power, quarter) = (SHORT << (self.0 / 4), self.0 % 4);
        [0.02, 0.5, 0.98].map(|part| (4.0 + quarter as f64 + part) * power as f64 / 4.0)
    }
}

/// The number of a quarter of a power of two. A conversion and a shift are cheaper than finding the
/// highest bit.
#[inline]
pub(crate) const fn key(bytes: usize) -> usize {
    ((bytes as isize as f32).to_bits() >> (f32::MANTISSA_DIGITS - 1 - 2)) as usize
}

/// The cost of a call through a pointer that a loop of one copy does not show: its branches are
/// predicted less well. The time of about one mispredicted branch.
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

/// The names of the routines of both sides of an exchange, the sender's first. Both are the
/// candidate's name unless it has the form `ONE_to_OTHER`.
pub(crate) fn sides(candidate: &str) -> [&str; 2] {
    candidate.split_once("_to_").map_or([candidate; 2], |(send, receive)| [send, receive])
}

#[cfg(test)]
pub(crate) mod tests;
