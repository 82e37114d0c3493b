//! Sorts of other crates, each behind a cargo feature. They take only plain integers: other
//! elements would need their traits, and they order floats differently (NaNs).

use super::models::LocalSort;
use bytemuck::{Pod, cast_slice_mut};
#[cfg(feature = "rdst")]
use rdst::RadixSort as _;
use std::any::TypeId;
#[cfg(feature = "voracious")]
use voracious_radix_sort::RadixSort as _;

/// Sorts with this candidate's crate. Returns `false`, with the elements unchanged, if there is
/// none, its feature is off or `T` is not an integer.
pub(super) fn sort<T: Pod>(items: &mut [T], candidate: LocalSort) -> bool {
    macro_rules! integers {
        ($($integer:ty)*) => {
            $(
                if TypeId::of::<T>() == TypeId::of::<$integer>() {
                    return <$integer>::sort(cast_slice_mut(items), candidate);
                }
            )*
        };
    }
    integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);
    false
}

/// True if [`sort`] would sort.
pub(super) fn can<T: Pod>(candidate: LocalSort) -> bool {
    sort::<T>(&mut [], candidate)
}

/// True if `T` is one of the integers that other crates can sort.
pub(super) fn integer<T: Pod>() -> bool {
    macro_rules! is_any {
        ($($integer:ty)*) => {
            $(TypeId::of::<T>() == TypeId::of::<$integer>())||*
        };
    }
    is_any!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize)
}

trait Integer: Copy {
    fn sort(items: &mut [Self], candidate: LocalSort) -> bool;
}

macro_rules! integer {
    ($($integer:ty)*) => {
        $(
            impl Integer for $integer {
                fn sort(items: &mut [Self], candidate: LocalSort) -> bool {
                    match candidate {
                        #[cfg(feature = "radsort")]
                        LocalSort::Radsort => radsort::sort(items),
                        #[cfg(feature = "rdst")]
                        LocalSort::Rdst => items
                            .radix_sort_builder()
                            .with_single_threaded_tuner()
                            .with_parallel(false)
                            .sort(),
                        #[cfg(feature = "voracious")]
                        LocalSort::Voracious => items.voracious_sort(),
                        _ => return no(items),
                    }
                    #[allow(unreachable_code, reason = "without any of the features")]
                    true
                }
            }
        )*
    };
}
integer!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

/// A candidate that is unavailable.
fn no<I>(_: &mut [I]) -> bool {
    false
}
