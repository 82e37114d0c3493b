//! What OSU's micro-benchmarks and Intel's MPI benchmarks time, in their way: fixed numbers of
//! calls of the MPI library, collectives one by one between untimed barriers, and the least, mean
//! and greatest time of all ranks. Non-blocking collectives beside computing are timed as IMB-NBC
//! and OSU do: alone, the computation alone, and both.
//!
//! NaN on other transports, and without the feature `mpi`.

#[cfg(not(feature = "mpi"))]
use strata_runtime::Node;

/// A call of the MPI library, or a pattern of calls between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Call {
    /// `MPI_Send` and `MPI_Recv` there and back, halved.
    PingPong,
    /// `MPI_Isend`, `MPI_Recv` and `MPI_Wait` on both ranks at once.
    PingPing,
    /// 64 messages by `MPI_Isend`, each from memory of its own, and an answer; a message's part.
    Window,
    /// 64 messages each way at once; a message's part in both directions.
    BothWays,
    /// 64 messages by `MPI_Isend` and an answer, of all pairs at once: rank k of the first half sends
    /// to rank k + P/2; a message's part, of the mean time of all senders.
    Pairs,
    /// [`PingPong`](Self::PingPong) of all pairs at once; the mean of all their ranks.
    PairsLatency,
    /// `MPI_Put` into rank 1's window and `MPI_Win_flush`; NaN if the library has no such windows.
    Put,
    /// `MPI_Get` from rank 1's window and `MPI_Win_flush`.
    Get,
    /// `MPI_Bcast` from rank 0.
    Broadcast,
    /// `MPI_Reduce` of `MPI_INT` to rank 0, sums.
    Reduce,
    /// `MPI_Allreduce` of `MPI_INT`, sums.
    AllReduce,
    /// `MPI_Reduce_scatter_block` of `MPI_INT`, sums; the bytes are those that a rank gets.
    ReduceScatter,
    /// `MPI_Scan` of `MPI_INT`, sums.
    Scan,
    /// `MPI_Gather` to rank 0.
    Gather,
    /// `MPI_Scatter` from rank 0.
    Scatter,
    /// `MPI_Allgather`.
    AllGather,
    /// `MPI_Alltoall`.
    AllToAll,
    /// `MPI_Alltoallv` with equal counts.
    AllToAllV,
    /// `MPI_Barrier`.
    Barrier,
}

impl Call {
    #[cfg(feature = "mpi")]
    fn is_of_pairs(self) -> bool {
        use Call::*;
        matches!(self, PingPong | PingPing | Window | BothWays | Pairs | PairsLatency | Put | Get)
    }
}

/// Seconds of a call with messages of `bytes`. For a collective, of the times of all ranks `of` = 0
/// selects the least, 1 the mean and 2 the greatest; between two ranks it is rank 0's time. Rank 0
/// is the root, or each rank in turn. NaN on other transports.
///
/// # Participation
/// Collective, on at least two nodes. Wrong data end the job.
#[cfg(not(feature = "mpi"))]
pub fn library(_node: &mut Node, _call: Call, _bytes: usize, _of: usize) -> f64 {
    f64::NAN
}

/// Seconds of the non-blocking form of a collective with blocks of `bytes`: with `part` = 0 from its start to
/// its completion, with 1 of a computation that takes as long, with 2 of both, where the collective
/// is started before the computation and completed after it. Means of all ranks. NaN on other
/// transports.
///
/// # Participation
/// As [`library`]. The job ends if `call` is no collective.
#[cfg(not(feature = "mpi"))]
pub fn overlapped(_node: &mut Node, _call: Call, _bytes: usize, _part: usize) -> f64 {
    f64::NAN
}

/// Seconds of one of the library's collectives, with messages of `bytes`, by one of Open MPI's
/// algorithms, such as `recursive_doubling`, with segments of `segment` bytes (0: not cut), or by one
/// of MPICH's or of SMPI's, such as `rdb`, where its segments are its own. `auto` is the library's own
/// choice. On each rank it is the median of some calls, and of all ranks the greatest. NaN on other
/// transports.
///
/// # Participation
/// Collective, on at least two nodes. Wrong data end the job, and so does a name or a library that
/// does not know the algorithm.
#[cfg(not(feature = "mpi"))]
pub fn by_algorithm(_node: &mut Node, _call: Call, _algorithm: &str, _segment: usize, _bytes: usize) -> f64 {
    f64::NAN
}

/// Seconds of a call with messages of `bytes`, one after the other without barriers between them, as
/// the run-time's own kernels are timed: [`Call::PingPong`], [`Call::PingPing`], or a collective with
/// rank 0 as its root; sums are of numbers of 8 bytes. NaN on other transports.
///
/// # Participation
/// As [`library`].
#[cfg(not(feature = "mpi"))]
pub fn raw(_node: &mut Node, _call: Call, _bytes: usize) -> f64 {
    f64::NAN
}

#[cfg(feature = "mpi")]
pub use calls::{by_algorithm, library, overlapped, raw};

#[cfg(feature = "mpi")]
mod calls {
    use std::hint::black_box;
    use std::sync::atomic::Ordering::Relaxed;

    use mpi::collective::SystemOperation;
    use mpi::datatype::{Partition, PartitionMut};
    use mpi::environment::library_version;
    use mpi::request::{Request, Scope, scope};
    use mpi::topology::{Process, SimpleCommunicator};
    use mpi::traits::*;
    use strata_model::mpich;
    use strata_model::openmpi::{Collective, Release};
    use strata_runtime::Node;

    use super::super::mail::{expected, wrong_data};
    use super::super::measure::{Fixed, TEST, fixed, root, time};
    use super::super::trial::spoils;
    use super::Call;
    use crate::suite::{WINDOW, calls, first_calls};

    const PEER: usize = 1;

    /// One node's part in a kernel.
    struct Part<'n> {
        node: &'n mut Node,
        world: SimpleCommunicator,
        rank: usize,
        size: usize,
        bytes: usize,
        calls: usize,
        /// Calls before those that are timed.
        warm: usize,
        /// Of a rank's times the median, and not the mean.
        by_median: bool,
    }

    fn part<'n>(node: &'n mut Node, bytes: usize) -> Option<Part<'n>> {
        let world = node.platform().has_processes().then(SimpleCommunicator::world)?;
        let (rank, size) = (node.rank(), node.size());
        if size < 2 {
            node.fail("library: it takes two nodes, and there is one");
        }
        let usual = Fixed { count: calls(bytes), warm: first_calls(calls(bytes)) };
        let Fixed { count, warm } = fixed(node, first_calls).unwrap_or(usual);
        Some(Part { node, world, rank, size, bytes, calls: count, warm, by_median: false })
    }

    /// See the version without MPI.
    pub fn library(node: &mut Node, call: Call, bytes: usize, of: usize) -> f64 {
        let Some(part) = part(node, bytes) else { return f64::NAN };
        match call {
            _ if !call.is_of_pairs() => part.collective(call, of),
            Call::PingPong | Call::PingPing | Call::PairsLatency => part.pair(call),
            Call::Window | Call::BothWays | Call::Pairs => part.window(call),
            _ => part.one_sided(call),
        }
    }

    /// See the version without MPI.
    pub fn overlapped(node: &mut Node, call: Call, bytes: usize, part_of: usize) -> f64 {
        let Some(part) = part(node, bytes) else { return f64::NAN };
        if call.is_of_pairs() {
            part.node.fail(format!("overlapped: {call:?} is no collective"));
        }
        part.overlapped(call, part_of)
    }

    /// See the version without MPI.
    pub fn raw(node: &mut Node, call: Call, bytes: usize) -> f64 {
        let Some(mut part) = part(node, bytes) else { return f64::NAN };
        let mut memory = part.memory(call);
        let parts = equal_parts(bytes, part.size);
        let (pair, _) = part.partner(false);
        let world = &part.world;
        let seconds = match call {
            Call::AllReduce => {
                let (numbers, mut sums) = (vec![1.0f64; bytes / 8], vec![0.0f64; bytes / 8]);
                let sum = SystemOperation::sum();
                let seconds = time(part.node, |_, _| world.all_reduce_into(&numbers[..], &mut sums[..], sum));
                if sums.iter().any(|sum| *sum != part.size as f64) {
                    wrong_data(part.node, "raw", "the sums");
                }
                return seconds;
            }
            _ if call.is_of_pairs() => time(part.node, |_, _| {
                if let Some((other, first)) = pair {
                    let process = world.process_at_rank(other as i32);
                    between(&process, call, first, &memory.mine, &mut memory.one);
                }
            }),
            _ => time(part.node, |_, _| blocking(world, call, TEST, &mut memory, &parts)),
        };
        match pair {
            Some((other, _)) if call.is_of_pairs() => part.check(other, &memory.one),
            _ => part.check_result(call, TEST, &memory),
        }
        if call == Call::PingPong { seconds / 2.0 } else { seconds }
    }

    /// See the version without MPI.
    pub fn by_algorithm(node: &mut Node, call: Call, algorithm: &str, segment: usize, bytes: usize) -> f64 {
        let is_fixed = fixed(node, first_calls).is_some();
        let Some(mut part) = part(node, bytes) else { return f64::NAN };
        part.world = match forced(part.node, &part.world, call, algorithm, segment) {
            Ok(world) => world,
            Err(why) => part.node.fail(format!("by_algorithm: {why}")),
        };
        if part.node.is_simulated() {
            // Each call takes the same time.
            (part.calls, part.warm) = (1, 1);
        } else if !is_fixed {
            part.calls = part.calls.div_ceil(FEWER);
            part.warm = first_calls(part.calls);
        }
        part.by_median = true;
        let seconds = part.collective(call, GREATEST);
        if let Ok(Some((variable, _))) = of_process(node, call, algorithm) {
            // It exists, as it was set before.
            let _set = node.set_mpi_variable(&variable, 0);
        }
        seconds
    }

    /// The variable by which all calls of a process take an algorithm, of SMPI and MPICH, and its value
    /// for it; `None` where it is of a communicator, and for MPICH's own choice. 0 takes it back.
    fn of_process(node: &Node, call: Call, algorithm: &str) -> Result<Option<(String, i32)>, String> {
        let name = name(call).ok_or_else(|| format!("{call:?} is no collective"))?;
        if node.platform().transport.starts_with("smpi:") {
            let named = SMPI.iter().find(|(ours, _)| *ours == algorithm);
            return Ok(Some((format!("smpi/{name}:{}", named.map_or(algorithm, |(_, named)| named)), 1)));
        }
        let version = library_version().unwrap_or_default();
        let Some(version) = version.strip_prefix("MPICH Version:") else { return Ok(None) };
        // Compositions of the device would take algorithms for other communicators than the call's.
        if std::env::var("MPIR_CVAR_DEVICE_COLLECTIVES").as_deref() != Ok("none") {
            return Err("MPICH obeys with MPIR_CVAR_DEVICE_COLLECTIVES=none in the environment, which its rules take, \
                        too"
                .into());
        }
        if algorithm == "auto" {
            return Ok(None);
        }
        let version = version.split_whitespace().next().unwrap_or_default();
        let release = mpich::RELEASE;
        if !version.starts_with(&format!("{release}.")) && version != release {
            return Err(format!(
                "the numbers of algorithms are known of MPICH {release}, and this is {version}"
            ));
        }
        let row = mpich::Algorithm::named(name, algorithm)?;
        Ok(Some((format!("MPIR_CVAR_{}_INTRA_ALGORITHM", name.to_ascii_uppercase()), row.number)))
    }

    /// A median needs fewer calls than OSU's mean.
    const FEWER: usize = 4;

    /// Algorithms that SMPI calls by other names than specs can: the choice of Open MPI's rules, by which
    /// `specc` runs SMPI, two algorithms that know no topology, and one along a logical ring.
    const SMPI: [(&str, &str); 4] = [
        ("auto", "ompi"),
        ("nts_binary", "NTSB"),
        ("nts_linear", "NTSL"),
        ("scatter_ring_allgather", "scatter_LR_allgather"),
    ];

    /// Of the ranks' times the greatest.
    const GREATEST: usize = 2;

    /// A duplicate of the world in which a collective takes this algorithm.
    fn forced(
        node: &mut Node,
        world: &SimpleCommunicator,
        call: Call,
        algorithm: &str,
        segment: usize,
    ) -> Result<SimpleCommunicator, String> {
        if let Some((variable, value)) = of_process(node, call, algorithm)? {
            // Each process sets it before a barrier that precedes the calls, and takes it back after
            // the collective by which the times are compared. A communicator is made by collectives,
            // which would take the algorithm, too.
            node.set_mpi_variable(&variable, value).map_err(|error| error.to_string())?;
            return Ok(SimpleCommunicator::world());
        }
        let name = name(call).ok_or_else(|| format!("{call:?} is no collective"))?;
        if algorithm == "auto" {
            return Ok(world.duplicate());
        }
        // Open MPI refuses numbers that it does not know.
        let number = Collective::named(name)?.algorithm(algorithm, Release::V6_0)?;
        if std::env::var("OMPI_MCA_coll_tuned_use_dynamic_rules").as_deref() != Ok("1") {
            return Err(
                "Open MPI obeys with OMPI_MCA_coll_tuned_use_dynamic_rules=1 in the environment".into()
            );
        }
        let number = i32::try_from(number).map_err(|error| error.to_string())?;
        let segment = i32::try_from(segment).map_err(|error| error.to_string())?;
        let mut set = |part: &str, value: i32| {
            let variable = format!("coll_tuned_{name}_algorithm{part}");
            node.set_mpi_variable(&variable, value)
                .map_err(|error| format!("{error}; it is Open MPI's, and this may be another library"))
        };
        set("", number)?;
        if segment > 0 {
            set("_segmentsize", segment)?;
        }
        // The algorithms are read when a communicator is made.
        let own = world.duplicate();
        set("", 0)?;
        if segment > 0 {
            set("_segmentsize", 0)?;
        }
        Ok(own)
    }

    /// The collective's name in Open MPI.
    fn name(call: Call) -> Option<&'static str> {
        Some(match call {
            Call::Broadcast => "bcast",
            Call::Reduce => "reduce",
            Call::AllReduce => "allreduce",
            Call::ReduceScatter => "reduce_scatter_block",
            Call::Gather => "gather",
            Call::Scatter => "scatter",
            Call::AllGather => "allgather",
            Call::AllToAll => "alltoall",
            Call::Barrier => "barrier",
            _ => return None,
        })
    }

    fn message(from: usize, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| expected(from, at)).collect()
    }

    /// Equal parts of memory, by rank.
    fn equal_parts(bytes: usize, size: usize) -> (Vec<i32>, Vec<i32>) {
        let each = bytes as i32;
        (vec![each; size], (0..size as i32).map(|rank| rank * each).collect())
    }

    /// A message each way between two ranks.
    fn between(process: &Process<'_>, call: Call, first: bool, mine: &[u8], theirs: &mut [u8]) {
        match call {
            Call::PingPing => scope(|scope| {
                let sending = process.immediate_send(scope, mine);
                process.receive_into(theirs);
                sending.wait();
            }),
            _ if first => {
                process.send(mine);
                process.receive_into(theirs);
            }
            _ => {
                process.receive_into(theirs);
                process.send(mine);
            }
        }
    }

    /// One call of a collective with this root.
    fn blocking(
        world: &SimpleCommunicator,
        call: Call,
        at: usize,
        memory: &mut Memory,
        (counts, places): &(Vec<i32>, Vec<i32>),
    ) {
        let (root, is_root) = (world.process_at_rank(at as i32), world.rank() as usize == at);
        let Memory { mine, one, to_all, all, numbers, sums } = memory;
        let sum = SystemOperation::sum();
        match call {
            Call::Broadcast if is_root => root.broadcast_into(&mut mine[..]),
            Call::Broadcast => root.broadcast_into(&mut one[..]),
            Call::Reduce if is_root => root.reduce_into_root(&numbers[..], &mut sums[..], sum),
            Call::Reduce => root.reduce_into(&numbers[..], sum),
            Call::AllReduce => world.all_reduce_into(&numbers[..], &mut sums[..], sum),
            Call::ReduceScatter => world.reduce_scatter_block_into(&numbers[..], &mut sums[..], sum),
            Call::Scan => world.scan_into(&numbers[..], &mut sums[..], sum),
            Call::Gather if is_root => root.gather_into_root(&mine[..], &mut all[..]),
            Call::Gather => root.gather_into(&mine[..]),
            Call::Scatter if is_root => root.scatter_into_root(&to_all[..], &mut one[..]),
            Call::Scatter => root.scatter_into(&mut one[..]),
            Call::AllGather => world.all_gather_into(&mine[..], &mut all[..]),
            Call::AllToAll => world.all_to_all_into(&to_all[..], &mut all[..]),
            Call::AllToAllV => {
                let from = Partition::new(&to_all[..], &counts[..], &places[..]);
                let mut into = PartitionMut::new(&mut all[..], &counts[..], &places[..]);
                world.all_to_all_varcount_into(&from, &mut into);
            }
            _ => world.barrier(),
        }
    }

    /// Computes for a while, and then waits for a collective.
    fn compute_then_wait<'a, D: ?Sized, S: Scope<'a>>(request: Request<'a, D, S>, steps: usize) {
        work(steps);
        request.wait_without_status();
    }

    /// Steps that depend on each other and access no memory.
    fn work(steps: usize) {
        let mut state = 1u64;
        for _ in 0..steps {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        black_box(state);
    }

    struct Memory {
        mine: Vec<u8>,
        one: Vec<u8>,
        to_all: Vec<u8>,
        all: Vec<u8>,
        numbers: Vec<i32>,
        sums: Vec<i32>,
    }

    impl Part<'_> {
        /// Seconds of all counted calls after some that are not counted.
        fn all(&mut self, mut operation: impl FnMut(&SimpleCommunicator)) -> f64 {
            self.world.barrier();
            (0..self.warm).for_each(|_| operation(&self.world));
            let start = self.node.now().get();
            (0..self.calls).for_each(|_| operation(&self.world));
            self.node.now().get() - start
        }

        fn check(&mut self, from: usize, got: &[u8]) {
            let wrong = got.iter().enumerate().find(|(at, byte)| **byte != expected(from, *at));
            if let Some((at, byte)) = wrong {
                let (right, what) = (expected(from, at), got.len());
                wrong_data(
                    self.node,
                    "library",
                    &format!("byte {at} of {what} from rank {from} is {byte}, not {right}"),
                );
            }
            if spoils(self.node, "library") {
                wrong_data(self.node, "library", "a test says so");
            }
        }

        /// The partner of this rank, whether this rank is the first of the two, and the number of
        /// pairs; ranks 0 and 1, or half of the ranks with the other half.
        fn partner(&self, all: bool) -> (Option<(usize, bool)>, usize) {
            let pairs = if all { self.size / 2 } else { 1 };
            let part = match self.rank {
                first if first < pairs => Some((first + pairs, true)),
                second if second < 2 * pairs => Some((second - pairs, false)),
                _ => None,
            };
            (part, pairs)
        }

        fn pair(mut self, call: Call) -> f64 {
            let every = call == Call::PairsLatency;
            let (part, pairs) = self.partner(every);
            let mut seconds = 0.0;
            if let Some((other, first)) = part {
                let (mine, mut theirs) = (message(self.rank, self.bytes), vec![0u8; self.bytes]);
                seconds = self.all(|world| {
                    let process = world.process_at_rank(other as i32);
                    between(&process, call, first, &mine, &mut theirs);
                });
                self.check(other, &theirs);
            } else {
                self.world.barrier();
            }
            let ways = if call == Call::PingPing { 1.0 } else { 2.0 };
            let each = seconds / (ways * self.calls as f64);
            match self.rank {
                _ if every => self.on_test(|node| node.reduce_add(each) / (2 * pairs) as f64),
                TEST => each,
                _ => 0.0,
            }
        }

        fn window(mut self, call: Call) -> f64 {
            let (part, pairs) = self.partner(call == Call::Pairs);
            let both = call == Call::BothWays;
            let bytes = self.bytes.max(1);
            let mut seconds = 0.0;
            if let Some((other, first)) = part {
                let (sends, receives) = (both || first, both || !first);
                let room = |here: bool| vec![0u8; if here { bytes * WINDOW } else { 0 }];
                let (mut mine, mut theirs) = (room(sends), room(receives));
                let from = self.rank;
                for part in mine.chunks_exact_mut(bytes) {
                    part.iter_mut().enumerate().for_each(|(at, byte)| *byte = expected(from, at));
                }
                let mut answer = [0u8; 1];
                seconds = self.all(|world| {
                    let process = world.process_at_rank(other as i32);
                    scope(|scope| {
                        let parts = theirs.chunks_exact_mut(bytes);
                        let receiving: Vec<_> =
                            parts.map(|part| process.immediate_receive_into(scope, part)).collect();
                        let parts = mine.chunks_exact(bytes);
                        let sending: Vec<_> = parts.map(|part| process.immediate_send(scope, part)).collect();
                        sending.into_iter().for_each(|request| _ = request.wait());
                        receiving.into_iter().for_each(|request| _ = request.wait());
                    });
                    match (both, first) {
                        (true, _) => {}
                        (false, true) => _ = process.receive_into(&mut answer[..]),
                        (false, false) => process.send(&answer[..]),
                    }
                });
                for part in theirs.chunks_exact(bytes) {
                    self.check(other, part);
                }
                if !first {
                    seconds = 0.0;
                }
            } else {
                self.world.barrier();
            }
            let messages = WINDOW * self.calls * pairs * if both { 2 } else { 1 };
            match self.rank {
                // Of the mean time of all senders.
                _ if call == Call::Pairs => {
                    self.on_test(|node| node.reduce_add(seconds) / (pairs * messages) as f64)
                }
                TEST => seconds / messages as f64,
                _ => 0.0,
            }
        }

        /// A value that all nodes make together, on the test node.
        fn on_test(&mut self, value: impl FnOnce(&mut Node) -> f64) -> f64 {
            let value = value(self.node);
            if self.rank == TEST { value } else { 0.0 }
        }

        fn one_sided(mut self, call: Call) -> f64 {
            let words = self.bytes.div_ceil(8).max(1);
            let Some(exposed) = self.node.expose_words(words) else { return f64::NAN };
            let mine = message(self.rank, self.bytes);
            let mut got = vec![0u8; self.bytes];
            if call == Call::Get && self.rank == PEER {
                for (word, bytes) in exposed.own().iter().zip(mine.chunks(8)) {
                    let mut value = [0u8; 8];
                    value[..bytes.len()].copy_from_slice(bytes);
                    word.store(u64::from_ne_bytes(value), Relaxed);
                }
            }
            self.world.barrier();
            let mut seconds = 0.0;
            if self.rank == TEST {
                for k in 0..self.warm + self.calls {
                    let start = self.node.now().get();
                    match call {
                        Call::Put => exposed.put(PEER, 0, &mine),
                        _ => exposed.get(PEER, 0, &mut got),
                    }
                    if k >= self.warm {
                        seconds += self.node.now().get() - start;
                    }
                }
            }
            // The target makes calls of MPI, without which some libraries transfer nothing.
            self.world.barrier();
            match (call, self.rank) {
                (Call::Put, PEER) => {
                    let words = exposed.own().iter().flat_map(|word| word.load(Relaxed).to_ne_bytes());
                    let got: Vec<u8> = words.take(self.bytes).collect();
                    self.check(TEST, &got);
                }
                (Call::Get, TEST) => self.check(PEER, &got),
                _ => {}
            }
            self.world.barrier();
            if self.rank == TEST { seconds / self.calls as f64 } else { 0.0 }
        }

        /// Memory of the blocks that a call takes and gives.
        fn memory(&self, call: Call) -> Memory {
            let (rank, size, bytes) = (self.rank, self.size, self.bytes);
            let blocks = |calls: &[Call]| if calls.contains(&call) { size } else { 0 };
            let leaving = blocks(&[Call::Scatter, Call::AllToAll, Call::AllToAllV]);
            let coming = blocks(&[Call::Gather, Call::AllGather, Call::AllToAll, Call::AllToAllV]);
            let added = if call == Call::ReduceScatter { size } else { 1 };
            let mine = message(rank, bytes);
            Memory {
                to_all: mine.repeat(leaving),
                mine,
                one: vec![0; bytes],
                all: vec![0u8; bytes * coming],
                numbers: vec![rank as i32 + 1; bytes / 4 * added],
                sums: vec![0i32; bytes / 4],
            }
        }

        /// What a call gives to every rank, or to this one as its root.
        fn check_result(&mut self, call: Call, root: usize, memory: &Memory) {
            let (is_root, size) = (self.rank == root, self.size);
            match call {
                Call::Broadcast if is_root => {}
                Call::Broadcast | Call::Scatter => self.check(root, &memory.one),
                Call::Gather if !is_root => {}
                Call::Gather | Call::AllGather | Call::AllToAll | Call::AllToAllV => {
                    let parts = memory.all.chunks_exact(self.bytes.max(1)).enumerate();
                    parts.for_each(|(from, part)| self.check(from, part));
                }
                Call::Reduce if !is_root => {}
                Call::Reduce | Call::AllReduce | Call::ReduceScatter | Call::Scan => {
                    let ranks = if call == Call::Scan { self.rank + 1 } else { size };
                    let right = (ranks * (ranks + 1) / 2) as i32;
                    if memory.sums.iter().any(|sum| *sum != right) {
                        wrong_data(self.node, "library", &format!("the sums of {call:?}"));
                    }
                }
                _ => {}
            }
        }

        /// Seconds of a call on this rank, of calls between untimed barriers.
        fn between_barriers(
            &mut self,
            is_barrier: bool,
            mut operation: impl FnMut(&SimpleCommunicator, usize),
        ) -> f64 {
            self.world.barrier();
            let mut times = Vec::with_capacity(self.calls);
            for number in 0..self.warm + self.calls {
                let root = root(self.node, number);
                let start = self.node.now().get();
                operation(&self.world, root);
                let end = self.node.now().get();
                if number >= self.warm {
                    times.push(end - start);
                }
                if !is_barrier {
                    self.world.barrier();
                }
            }
            if self.by_median {
                times.sort_by(f64::total_cmp);
                return times[times.len() / 2];
            }
            times.iter().sum::<f64>() / self.calls as f64
        }

        fn collective(mut self, call: Call, of: usize) -> f64 {
            let size = self.size;
            let mut memory = self.memory(call);
            let parts = equal_parts(self.bytes, size);
            let own = self.between_barriers(call == Call::Barrier, |world, at| {
                blocking(world, call, at, &mut memory, &parts);
            });
            let last = root(self.node, self.warm + self.calls - 1);
            self.check_result(call, last, &memory);
            self.on_test(|node| match of {
                0 => node.reduce_min(own),
                1 => node.reduce_add(own) / size as f64,
                _ => node.reduce_max(own),
            })
        }

        /// Starts a collective, computes, and completes the collective.
        fn non_blocking(
            world: &SimpleCommunicator,
            call: Call,
            at: usize,
            steps: usize,
            memory: &mut Memory,
            (counts, places): (&[i32], &[i32]),
        ) {
            let (root, is_root) = (world.process_at_rank(at as i32), world.rank() as usize == at);
            let sum = SystemOperation::sum();
            let Memory { mine, one, to_all, all, numbers, sums } = memory;
            scope(|scope| match call {
                Call::Broadcast => {
                    let buffer = if is_root { mine } else { one };
                    compute_then_wait(root.immediate_broadcast_into(scope, &mut buffer[..]), steps);
                }
                Call::Reduce if is_root => {
                    let request = root.immediate_reduce_into_root(scope, &numbers[..], &mut sums[..], sum);
                    compute_then_wait(request, steps);
                }
                Call::Reduce => {
                    compute_then_wait(root.immediate_reduce_into(scope, &numbers[..], sum), steps);
                }
                Call::AllReduce => {
                    let request = world.immediate_all_reduce_into(scope, &numbers[..], &mut sums[..], sum);
                    compute_then_wait(request, steps);
                }
                Call::ReduceScatter => {
                    let request =
                        world.immediate_reduce_scatter_block_into(scope, &numbers[..], &mut sums[..], sum);
                    compute_then_wait(request, steps);
                }
                Call::Scan => {
                    let request = world.immediate_scan_into(scope, &numbers[..], &mut sums[..], sum);
                    compute_then_wait(request, steps);
                }
                Call::Gather if is_root => {
                    let request = root.immediate_gather_into_root(scope, &mine[..], &mut all[..]);
                    compute_then_wait(request, steps);
                }
                Call::Gather => compute_then_wait(root.immediate_gather_into(scope, &mine[..]), steps),
                Call::Scatter if is_root => {
                    let request = root.immediate_scatter_into_root(scope, &to_all[..], &mut one[..]);
                    compute_then_wait(request, steps);
                }
                Call::Scatter => {
                    compute_then_wait(root.immediate_scatter_into(scope, &mut one[..]), steps);
                }
                Call::AllGather => {
                    let request = world.immediate_all_gather_into(scope, &mine[..], &mut all[..]);
                    compute_then_wait(request, steps);
                }
                Call::AllToAll => {
                    let request = world.immediate_all_to_all_into(scope, &to_all[..], &mut all[..]);
                    compute_then_wait(request, steps);
                }
                Call::AllToAllV => {
                    let from = Partition::new(&to_all[..], counts, places);
                    let mut into = PartitionMut::new(&mut all[..], counts, places);
                    mpi::request::scope(|scope| {
                        let request = world.immediate_all_to_all_varcount_into(scope, &from, &mut into);
                        compute_then_wait(request, steps);
                    });
                }
                _ => compute_then_wait(world.immediate_barrier(), steps),
            });
        }

        fn overlapped(mut self, call: Call, part: usize) -> f64 {
            let mut memory = self.memory(call);
            let (counts, places) = equal_parts(self.bytes, self.size);
            let mut of = |part: &mut Self, steps: usize| {
                let parts = (&counts[..], &places[..]);
                part.between_barriers(false, |world, at| {
                    Self::non_blocking(world, call, at, steps, &mut memory, parts);
                })
            };
            let alone = of(&mut self, 0);
            // The steps that take as long on this rank.
            let mut each = f64::INFINITY;
            for _ in 0..CALIBRATIONS {
                let start = self.node.now().get();
                work(CALIBRATED);
                each = each.min((self.node.now().get() - start) / CALIBRATED as f64);
            }
            let steps = (alone / each).ceil().clamp(1.0, 1e9) as usize;
            let seconds = match part {
                0 => alone,
                1 => {
                    let start = self.node.now().get();
                    (0..self.calls).for_each(|_| work(steps));
                    (self.node.now().get() - start) / self.calls as f64
                }
                _ => of(&mut self, steps),
            };
            let last = root(self.node, self.warm + self.calls - 1);
            self.check_result(call, last, &memory);
            let size = self.size as f64;
            self.on_test(|node| node.reduce_add(seconds) / size)
        }
    }

    /// Steps whose time is taken to find how many take as long as a collective, and how often.
    const CALIBRATED: usize = 10_000;
    const CALIBRATIONS: usize = 5;
}
