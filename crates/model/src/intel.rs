//! The collectives of Intel MPI 2021.18 and their presets: algorithms that are known by number.
//!
//! The numbers of presets are those of its `impi_info`; what the conditions of a rule compare was
//! tried with 2 processes of a host.

use crate::did_you_mean;

/// The release that this is about.
pub const RELEASE: &str = "2021.18";

/// The greatest size and number of processes in a condition; the library refuses greater ones.
pub const LARGEST: u64 = i32::MAX as u64;

/// The collectives, and the greatest number of a preset of each. 0 is the library's own choice. The
/// sizes of conditions are the bytes that one process passes, to each other one in `alltoall`.
pub static COLLECTIVES: [(&str, u32); 5] =
    [("allgather", 6), ("allreduce", 32), ("alltoall", 18), ("bcast", 22), ("reduce", 19)];

/// `I_MPI_ADJUST_BCAST` for `bcast`.
#[must_use]
pub fn variable(collective: &str) -> String {
    format!("I_MPI_ADJUST_{}", collective.to_ascii_uppercase())
}

/// The greatest number of a preset of a collective.
///
/// # Errors
/// A message: its presets are not known.
pub fn presets(collective: &str) -> Result<u32, String> {
    let known = COLLECTIVES.iter().find(|(name, _)| *name == collective);
    known.map(|(_, most)| *most).ok_or_else(|| {
        let names = COLLECTIVES.map(|(name, _)| name);
        let meant = did_you_mean(collective, names);
        let names = names.join(", ");
        format!(
            "`{collective}` is no collective of which Intel MPI's presets are known{meant}; these are {names}"
        )
    })
}

/// The number of a preset by its name as a candidate: 7 for `preset7`.
///
/// # Errors
/// A message: the collective has no such preset.
pub fn preset(collective: &str, name: &str) -> Result<u32, String> {
    let most = presets(collective)?;
    (1..=most).find(|number| format!("preset{number}") == name).ok_or_else(|| {
        format!("Intel MPI {RELEASE} has no {collective} by `{name}`; known are `preset1` to `preset{most}`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_named_by_number() {
        assert_eq!(preset("bcast", "preset22"), Ok(22));
        for (collective, name) in
            [("bcast", "preset23"), ("bcast", "preset0"), ("bcast", "ring"), ("scan", "preset1")]
        {
            let told = preset(collective, name).unwrap_err();
            assert!(told.contains("known"), "{told}");
        }
        assert_eq!(variable("bcast"), "I_MPI_ADJUST_BCAST");
    }
}
