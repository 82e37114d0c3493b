//! The numbers that global operations combine, and the operations.
//!
//! Every transport combines in rank order, ((x₀ ∘ x₁) ∘ x₂) …, using only the functions of this
//! module, so that a result is equal to the last bit on every node and in every run. Integers wrap
//! around. The minimum or maximum of floating-point numbers is NaN if one of them is, and the first
//! of equal ones (so 0.0 and −0.0 keep their order). Scans are exclusive, like Brewer's (Strata
//! manual, §4.3): node 0 receives the identity.

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::fmt;

/// The operation that combines two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// The sum; integers wrap around.
    Add,
    /// The product; integers wrap around.
    Multiply,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// Bitwise and; integers only.
    And,
    /// Bitwise or; integers only.
    Or,
    /// Bitwise exclusive or; integers only.
    Xor,
}

impl Op {
    /// Every operation, in the order of [`Op::index`].
    pub(crate) const ALL: [Self; 7] =
        [Self::Add, Self::Multiply, Self::Min, Self::Max, Self::And, Self::Or, Self::Xor];

    /// Its index in [`Op::ALL`].
    pub(crate) fn index(self) -> u8 {
        self as u8
    }

    fn is_bitwise(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Xor)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Multiply => "multiply",
            Self::Min => "min",
            Self::Max => "max",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
        })
    }
}

/// The type of a number, as a transport knows it. Public only because a sealed trait names it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the types' names")]
pub enum NumberType {
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
}

impl NumberType {
    /// Every kind, in the order of `as u8`.
    pub(crate) const ALL: [Self; 6] = [Self::F32, Self::F64, Self::I32, Self::U32, Self::I64, Self::U64];

    /// Its name in Rust.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
        }
    }

    /// True if the order of combining can affect the result.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// True if `op` is an operation of these numbers.
    pub(crate) fn has(self, op: Op) -> bool {
        !(self.is_float() && op.is_bitwise())
    }
}

mod sealed {
    use super::{NumberType, Op};

    /// The operations on a number; sealed, so that no other crate can add a type unknown to
    /// transports.
    pub trait Arithmetic: Copy {
        #[doc(hidden)]
        const KIND: NumberType;
        #[doc(hidden)]
        fn identity(op: Op) -> Self;
        #[doc(hidden)]
        fn add(self, other: Self) -> Self;
        #[doc(hidden)]
        fn multiply(self, other: Self) -> Self;
        #[doc(hidden)]
        fn least(self, other: Self) -> Self;
        #[doc(hidden)]
        fn greatest(self, other: Self) -> Self;
        #[doc(hidden)]
        fn and(self, other: Self) -> Self;
        #[doc(hidden)]
        fn or(self, other: Self) -> Self;
        #[doc(hidden)]
        fn xor(self, other: Self) -> Self;
        #[doc(hidden)]
        fn to_f64(self) -> f64;
        #[doc(hidden)]
        fn partial_order(&self, other: &Self) -> Option<std::cmp::Ordering>;
    }

    pub trait Sealed {}
}

pub(crate) use sealed::Arithmetic;

/// A number that global operations can combine: `f32`, `f64`, `i32`, `u32`, `i64`, `u64`.
pub trait Number: Pod + Arithmetic {}

impl<T: Pod + Arithmetic> Number for T {}

macro_rules! integer {
    ($($t:ty, $kind:ident);*) => {$(
        impl Arithmetic for $t {
            const KIND: NumberType = NumberType::$kind;
            fn identity(op: Op) -> Self {
                match op {
                    Op::Add | Op::Or | Op::Xor => 0,
                    Op::Multiply => 1,
                    Op::Min => <$t>::MAX,
                    Op::Max => <$t>::MIN,
                    Op::And => !0,
                }
            }
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            fn multiply(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn least(self, other: Self) -> Self { self.min(other) }
            fn greatest(self, other: Self) -> Self { self.max(other) }
            fn and(self, other: Self) -> Self { self & other }
            fn or(self, other: Self) -> Self { self | other }
            fn xor(self, other: Self) -> Self { self ^ other }
            fn to_f64(self) -> f64 { self as f64 }
            fn partial_order(&self, other: &Self) -> Option<std::cmp::Ordering> { Some(self.cmp(other)) }
        }
    )*};
}
integer!(i32, I32; u32, U32; i64, I64; u64, U64);

macro_rules! float {
    ($($t:ty, $kind:ident);*) => {$(
        impl Arithmetic for $t {
            const KIND: NumberType = NumberType::$kind;
            fn identity(op: Op) -> Self {
                match op {
                    Op::Multiply => 1.0,
                    Op::Min => <$t>::INFINITY,
                    Op::Max => <$t>::NEG_INFINITY,
                    _ => 0.0,
                }
            }
            fn add(self, other: Self) -> Self { self + other }
            fn multiply(self, other: Self) -> Self { self * other }
            fn least(self, other: Self) -> Self {
                if other < self || other.is_nan() { other } else { self }
            }
            fn greatest(self, other: Self) -> Self {
                if other > self || other.is_nan() { other } else { self }
            }
            // `NumberType::has` excludes bitwise operations on floating-point numbers.
            fn and(self, _: Self) -> Self { self }
            fn or(self, _: Self) -> Self { self }
            fn xor(self, _: Self) -> Self { self }
            fn to_f64(self) -> f64 { f64::from(self) }
            fn partial_order(&self, other: &Self) -> Option<std::cmp::Ordering> { self.partial_cmp(other) }
        }
    )*};
}
float!(f32, F32; f64, F64);

/// Runs `$body` with `$f` bound to the function of `$op` on `$t`, with one loop for each operation,
/// so that each vectorises.
macro_rules! with_op {
    ($t:ty, $op:expr, $f:ident => $body:expr) => {
        with_op!($t, $op, $f => $body;
            Add add, Multiply multiply, Min least, Max greatest, And and, Or or, Xor xor)
    };
    ($t:ty, $op:expr, $f:ident => $body:expr; $($variant:ident $function:ident),*) => {
        match $op {
            $(Op::$variant => {
                let $f = <$t>::$function;
                $body
            })*
        }
    };
}

/// Runs `$body` with `$t` bound to the type of `$kind`.
macro_rules! with_kind {
    ($kind:expr, $t:ident => $body:expr) => {
        with_kind!($kind, $t => $body; F32 f32, F64 f64, I32 i32, U32 u32, I64 i64, U64 u64)
    };
    ($kind:expr, $t:ident => $body:expr; $($variant:ident $number:ty),*) => {
        match $kind {
            $(NumberType::$variant => {
                type $t = $number;
                $body
            })*
        }
    };
}

fn fold_as<T: Number>(op: Op, into: &mut [T], from: &[T]) {
    with_op!(T, op, f => for (a, b) in into.iter_mut().zip(from) { *a = f(*a, *b); });
}

fn carry_as<T: Number>(op: Op, so_far: &mut [T], mine: &mut [T]) {
    with_op!(T, op, f => for (a, m) in so_far.iter_mut().zip(mine) {
        let before = *a;
        *a = f(before, *m);
        *m = before;
    });
}

/// `into = into ∘ from`, element by element. Both contain whole, aligned numbers of `kind`.
pub(crate) fn fold(kind: NumberType, op: Op, into: &mut [u8], from: &[u8]) {
    with_kind!(kind, T => fold_as::<T>(op, cast_slice_mut(into), cast_slice(from)));
}

/// One node's step of an exclusive scan: `mine` becomes the combined values of the nodes before it,
/// and its values are added to `so_far`.
pub(crate) fn carry(kind: NumberType, op: Op, so_far: &mut [u8], mine: &mut [u8]) {
    with_kind!(kind, T => carry_as::<T>(op, cast_slice_mut(so_far), cast_slice_mut(mine)));
}

pub(crate) fn fill_identity(kind: NumberType, op: Op, values: &mut [u8]) {
    with_kind!(kind, T => cast_slice_mut::<u8, T>(values).fill(T::identity(op)));
}

/// The operand of a global operation: one number, for which it returns a number, or a vector that
/// it changes in place.
///
/// Implemented for every [`Number`] `T` and for `&mut [T]`, `&mut [T; N]` and `&mut Vec<T>`.
pub trait Operand: sealed::Sealed {
    /// The numbers combined.
    type Number: Number;
    /// A number for a number, `()` for a vector.
    type Output;
    #[doc(hidden)]
    fn apply(self, operation: impl FnOnce(&mut [Self::Number])) -> Self::Output;
}

impl<T: Number> sealed::Sealed for T {}
impl<T: Number> Operand for T {
    type Number = T;
    type Output = T;
    fn apply(self, operation: impl FnOnce(&mut [T])) -> T {
        let mut value = self;
        operation(std::slice::from_mut(&mut value));
        value
    }
}

impl<T: Number> sealed::Sealed for &mut [T] {}
impl<T: Number> Operand for &mut [T] {
    type Number = T;
    type Output = ();
    fn apply(self, operation: impl FnOnce(&mut [T])) {
        operation(self);
    }
}

impl<T: Number, const N: usize> sealed::Sealed for &mut [T; N] {}
impl<T: Number, const N: usize> Operand for &mut [T; N] {
    type Number = T;
    type Output = ();
    fn apply(self, operation: impl FnOnce(&mut [T])) {
        operation(self);
    }
}

impl<T: Number> sealed::Sealed for &mut Vec<T> {}
impl<T: Number> Operand for &mut Vec<T> {
    type Number = T;
    type Output = ();
    fn apply(self, operation: impl FnOnce(&mut [T])) {
        operation(self);
    }
}
