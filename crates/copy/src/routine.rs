//! The catalogue of all routines that this processor can run, behind one safe call.

#![allow(unsafe_code, reason = "calls the kernels; `Routine::copy` checks what they require")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{fmt, ptr};

/// A routine that copies bytes.
///
/// All of [`routines`] can run on this processor; the first is the C library's `memcpy`.
#[derive(Clone, Copy)]
pub struct Routine {
    name: &'static str,
    least: usize,
    features: Features,
    #[cfg(target_arch = "x86_64")]
    kernel: Option<crate::x86_64::Kernel>,
}

/// The processor features that a routine needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Features {
    None,
    #[cfg(target_arch = "x86_64")]
    Strings,
    #[cfg(target_arch = "x86_64")]
    Avx,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The reference for all other routines: the C library's `memcpy`.
pub static DEFAULT: Routine = MEMCPY;

const MEMCPY: Routine = Routine {
    name: "memcpy",
    least: 0,
    features: Features::None,
    #[cfg(target_arch = "x86_64")]
    kernel: None,
};

impl Routine {
    /// Its name in models and settings, such as `avx512_forward_stream`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The least number of bytes that it copies; `memcpy` copies fewer.
    #[must_use]
    pub const fn least(&self) -> usize {
        self.least
    }

    /// The routine of this name; `None` if there is none or this processor cannot run it.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        routines().iter().copied().find(|routine| routine.name == name)
    }

    /// True for `memcpy`.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.name == DEFAULT.name
    }

    /// Copies all of `from` to `to`. The written bytes are visible to other threads as after any
    /// copy, even after streaming stores.
    ///
    /// # Panics
    /// If the lengths differ, as with `copy_from_slice`.
    #[inline]
    #[track_caller]
    pub fn copy(&self, to: &mut [u8], from: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = self.kernel
            && from.len() >= self.least
        {
            if to.len() != from.len() {
                different(to.len(), from.len());
            }
            // SAFETY: both slices are valid for their length, which is at least `least`, and a
            // mutable one overlaps no other. A `Routine` with a kernel is only reached through
            // `routines`, which leaves out those whose features this processor lacks.
            return unsafe { kernel(to.as_mut_ptr(), from.as_ptr(), from.len()) };
        }
        to.copy_from_slice(from);
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn different(to: usize, from: usize) -> ! {
    panic!("a copy of {from} bytes to {to}: the lengths differ");
}

impl fmt::Debug for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Routine({}, from {} bytes)", self.name, self.least)
    }
}

impl PartialEq for Routine {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Routine {}

pub(crate) fn has(features: Features) -> bool {
    match features {
        Features::None => true,
        // Every x86_64 has `rep movsb`; if it is not "enhanced" it is slow, and models predict
        // that.
        #[cfg(target_arch = "x86_64")]
        Features::Strings => true,
        #[cfg(target_arch = "x86_64")]
        Features::Avx => is_x86_feature_detected!("avx"),
        #[cfg(target_arch = "x86_64")]
        Features::Avx512 => is_x86_feature_detected!("avx512f"),
    }
}

/// The routines that this processor can run; the first is [`DEFAULT`].
///
/// On processors other than x86_64 it is the only one.
#[must_use]
pub fn routines() -> &'static [&'static Routine] {
    static RUNNABLE: OnceLock<Vec<&'static Routine>> = OnceLock::new();
    RUNNABLE.get_or_init(|| CATALOGUE.iter().filter(|routine| has(routine.features)).collect())
}

#[cfg(not(target_arch = "x86_64"))]
static CATALOGUE: [Routine; 1] = [MEMCPY];

#[cfg(target_arch = "x86_64")]
use x86_64::CATALOGUE;

/// A place for one of [`routines`], initially empty; reading it takes one load.
pub(crate) struct Place(AtomicPtr<Routine>);

impl Place {
    pub(crate) const fn empty() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The stored routine. Only [`set`](Self::set) fills it, with one that this processor can run.
    #[inline]
    pub(crate) fn get(&self) -> Option<&'static Routine> {
        // SAFETY: null, or a reference to a static that is not written.
        unsafe { self.0.load(Ordering::Relaxed).as_ref() }
    }

    /// Stores a routine; stores the default in place of a routine that this processor cannot run.
    pub(crate) fn set(&self, routine: &'static Routine) {
        let routine = if has(routine.features) { routine } else { &DEFAULT };
        self.0.store(ptr::from_ref(routine).cast_mut(), Ordering::Relaxed);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::{Features, MEMCPY, Routine};
    use crate::x86_64::{
        CACHED, GROUPED, IN_TURN, Kernel, NO_PREFETCH, STREAMED, TO_ALL, TO_NEAREST, avx, avx512, rep_movsb,
        sse2,
    };

    const fn routine(name: &'static str, least: usize, features: Features, kernel: Kernel) -> Routine {
        Routine { name, least, features, kernel: Some(kernel) }
    }

    /// The twelve routines of one width.
    macro_rules! of_width {
        ($module:ident, $features:expr) => {
            [
                of_width!($module, $features, "forward", forward::<CACHED, NO_PREFETCH, IN_TURN>),
                of_width!($module, $features, "forward_grouped", forward::<CACHED, NO_PREFETCH, GROUPED>),
                of_width!($module, $features, "forward_t0", forward::<CACHED, TO_ALL, GROUPED>),
                of_width!($module, $features, "forward_nta", forward::<CACHED, TO_NEAREST, GROUPED>),
                of_width!($module, $features, "forward_stream", forward::<STREAMED, NO_PREFETCH, IN_TURN>),
                of_width!(
                    $module,
                    $features,
                    "forward_stream_grouped",
                    forward::<STREAMED, NO_PREFETCH, GROUPED>
                ),
                of_width!($module, $features, "forward_stream_nta", forward::<STREAMED, TO_NEAREST, GROUPED>),
                of_width!($module, $features, "backward", backward::<CACHED, NO_PREFETCH, IN_TURN>),
                of_width!($module, $features, "backward_t0", backward::<CACHED, TO_ALL, GROUPED>),
                of_width!($module, $features, "backward_stream", backward::<STREAMED, NO_PREFETCH, GROUPED>),
                of_width!($module, $features, "blocks", blocks::<false>),
                of_width!($module, $features, "blocks_primed", blocks::<true>),
            ]
        };
        ($module:ident, $features:expr, $name:literal, $($kernel:tt)+) => {
            routine(
                concat!(stringify!($module), "_", $name),
                2 * $module::WIDTH,
                $features,
                $module::$($kernel)+,
            )
        };
    }

    static SSE2: [Routine; 12] = of_width!(sse2, Features::None);
    static AVX: [Routine; 12] = of_width!(avx, Features::Avx);
    static AVX512: [Routine; 12] = of_width!(avx512, Features::Avx512);

    pub(super) static CATALOGUE: [Routine; 38] = {
        let mut all = [MEMCPY; 38];
        all[1] = routine("rep_movsb", 1, Features::Strings, rep_movsb);
        let mut index = 0;
        while index < 12 {
            all[2 + index] = SSE2[index];
            all[14 + index] = AVX[index];
            all[26 + index] = AVX512[index];
            index += 1;
        }
        all
    };
}
