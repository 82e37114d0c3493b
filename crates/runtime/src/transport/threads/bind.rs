//! Binding of nodes to cores.
//!
//! A job with at least as many nodes as cores fills the machine in any case. The system's scheduler
//! may place its nodes unevenly for long periods (three on one core, one on the other). Collectives
//! then take as long as the fullest core needs, so the same collective has two speeds; spread
//! evenly it has one. A smaller job is not bound, because two such jobs would be bound to the same
//! cores while others idle.

/// The cores over which the nodes of a job are spread; none if the scheduler decides.
pub(super) struct Cores(Vec<usize>);

impl Cores {
    /// The cores that this process may use, for a job of `nodes` nodes.
    #[cfg(target_os = "linux")]
    pub(super) fn of_job(nodes: usize) -> Self {
        use nix::sched::{CpuSet, sched_getaffinity};
        use nix::unistd::Pid;

        let allowed = sched_getaffinity(Pid::from_raw(0));
        let cores = allowed.map_or_else(
            |_| Vec::new(),
            |set| (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).collect(),
        );
        Self(if nodes > 1 && nodes >= cores.len() { cores } else { Vec::new() })
    }

    /// No cores: this system has no call for binding.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn of_job(_: usize) -> Self {
        Self(Vec::new())
    }

    /// Binds the calling thread, which runs node `rank`. If the system rejects it, the scheduler
    /// decides.
    #[cfg(target_os = "linux")]
    pub(super) fn bind(&self, rank: usize) {
        use nix::sched::{CpuSet, sched_setaffinity};
        use nix::unistd::Pid;

        let mut one = CpuSet::new();
        if !self.0.is_empty() && one.set(self.0[rank % self.0.len()]).is_ok() {
            // Rejected, for example, if the process has lost the core meanwhile.
            let _ = sched_setaffinity(Pid::from_raw(0), &one);
        }
    }

    /// Does nothing.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn bind(&self, _: usize) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Cores;

    #[test]
    fn only_jobs_that_fill_the_machine_are_dealt_out() {
        let all = Cores::of_job(1 << 20).0;
        assert!(!all.is_empty());
        assert!(Cores::of_job(1).0.is_empty());
        assert_eq!(Cores::of_job(all.len().max(2)).0, all);
        if all.len() > 2 {
            assert!(Cores::of_job(all.len() - 1).0.is_empty());
        }
        // In a separate thread, because the binding persists.
        std::thread::spawn(move || {
            Cores(all.clone()).bind(all.len());
            assert_eq!(Cores::of_job(2).0, all[..1]);
        })
        .join()
        .unwrap();
    }
}
