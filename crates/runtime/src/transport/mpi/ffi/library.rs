//! The library's own broadcast, reduction and scan, where their results are those of this crate to
//! the last bit: bytes that move, and integers, of which the order of combining changes nothing.

use super::{PIECE, World, bytes, count, error_of, peer};
use crate::number::{NumberType, Op};
use crate::transport::Call;
use mpi::ffi;

/// MPI's type of integers, and its operation on them: signed where their order counts (see
/// [`order_as_signed`]), otherwise unsigned, whose sums and products wrap in C too. `None` for
/// floating-point numbers.
fn combining(kind: NumberType, op: Op) -> Option<(ffi::MPI_Datatype, ffi::MPI_Op)> {
    let is_order = matches!(op, Op::Min | Op::Max);
    // SAFETY: constants that the shim initialises when it is loaded.
    let kind = unsafe {
        match kind {
            NumberType::F32 | NumberType::F64 => return None,
            NumberType::I32 | NumberType::U32 if is_order => ffi::RSMPI_INT32_T,
            NumberType::I64 | NumberType::U64 if is_order => ffi::RSMPI_INT64_T,
            NumberType::I32 | NumberType::U32 => ffi::RSMPI_UINT32_T,
            NumberType::I64 | NumberType::U64 => ffi::RSMPI_UINT64_T,
        }
    };
    // SAFETY: constants that the shim initialises when it is loaded.
    let op = unsafe {
        match op {
            Op::Add => ffi::RSMPI_SUM,
            Op::Multiply => ffi::RSMPI_PROD,
            Op::Min => ffi::RSMPI_MIN,
            Op::Max => ffi::RSMPI_MAX,
            Op::And => ffi::RSMPI_BAND,
            Op::Or => ffi::RSMPI_BOR,
            Op::Xor => ffi::RSMPI_BXOR,
        }
    };
    Some((kind, op))
}

/// Flips the highest bit of unsigned integers whose least or greatest are taken, so that signed ones
/// have their order; a second time it gives them back. MPICH 4.0 compares unsigned integers as
/// signed ones.
pub(in super::super) fn order_as_signed(kind: NumberType, op: Op, values: &mut [u8]) {
    if matches!(op, Op::Min | Op::Max) && matches!(kind, NumberType::U32 | NumberType::U64) {
        let size = size_of_number(kind);
        let highest = if cfg!(target_endian = "little") { size - 1 } else { 0 };
        values.chunks_exact_mut(size).for_each(|number| number[highest] ^= 0x80);
    }
}

fn size_of_number(kind: NumberType) -> usize {
    match kind {
        NumberType::F32 | NumberType::I32 | NumberType::U32 => 4,
        NumberType::F64 | NumberType::I64 | NumberType::U64 => 8,
    }
}

impl World {
    /// Broadcast; MPI 3.1, §5.4.
    pub(in super::super) fn library_broadcast(&self, call: &Call, root: usize, values: &mut [u8]) {
        for piece in values.chunks_mut(PIECE) {
            let (at, length) = (piece.as_mut_ptr().cast(), count(piece.len()));
            // SAFETY: `piece` has `length` bytes and outlives the call.
            must!(self, call, unsafe { MPI_Bcast(at, length, bytes(), peer(root), self.programs) });
        }
    }

    /// Reduction of integers from `mine` to `all`, which are equally long and
    /// [ordered as signed ones](order_as_signed); MPI 3.1, §5.9.6.
    pub(in super::super) fn library_reduce(
        &self,
        call: &Call,
        (kind, op): (NumberType, Op),
        mine: &[u8],
        all: &mut [u8],
    ) {
        assert_eq!(mine.len(), all.len(), "{call}");
        let Some((number, op)) = combining(kind, op) else {
            unreachable!("the order of combining changes floating-point numbers")
        };
        for (mine, all) in mine.chunks(PIECE).zip(all.chunks_mut(PIECE)) {
            let length = count(mine.len() / size_of_number(kind));
            let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
            // SAFETY: both have `length` numbers, by the assertion, and outlive the call.
            must!(self, call, unsafe { MPI_Allreduce(from, to, length, number, op, self.programs) });
        }
    }

    /// Exclusive scan of integers from `mine` to `before`, which are equally long and
    /// [ordered as signed ones](order_as_signed); MPI 3.1, §5.11.2. What node 0 gets is undefined.
    pub(in super::super) fn library_scan(
        &self,
        call: &Call,
        (kind, op): (NumberType, Op),
        mine: &[u8],
        before: &mut [u8],
    ) {
        assert_eq!(mine.len(), before.len(), "{call}");
        let Some((number, op)) = combining(kind, op) else {
            unreachable!("the order of combining changes floating-point numbers")
        };
        for (mine, before) in mine.chunks(PIECE).zip(before.chunks_mut(PIECE)) {
            let length = count(mine.len() / size_of_number(kind));
            let (from, to) = (mine.as_ptr().cast(), before.as_mut_ptr().cast());
            // SAFETY: both have `length` numbers, by the assertion, and outlive the call.
            must!(self, call, unsafe { MPI_Exscan(from, to, length, number, op, self.programs) });
        }
    }
}
