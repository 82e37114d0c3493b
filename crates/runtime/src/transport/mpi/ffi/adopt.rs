//! Nodes on a communicator, for a program that has initialised MPI itself.

use super::{World, error_of};
use mpi::ffi;
use std::ffi::c_int;
use std::marker::PhantomData;

/// The nodes of a communicator, until dropped; creating and dropping it are collective.
pub(crate) struct Adopted {
    world: &'static World,
    /// Not `Send`: this thread may be the only one that may call MPI.
    thread: PhantomData<*const ()>,
}

/// True if MPI was initialised and not yet finalised.
///
/// # Errors
/// If it was finalised, or MPI reports an error.
pub(in super::super) fn is_initialised() -> Result<bool, String> {
    let (mut begun, mut ended): (c_int, c_int) = (0, 0);
    // SAFETY: MPI allows this call at any time; it writes to a variable that outlives the call.
    attempt!(unsafe { MPI_Initialized(&mut begun) })?;
    // SAFETY: as above.
    attempt!(unsafe { MPI_Finalized(&mut ended) })?;
    if ended != 0 {
        return Err("MPI was finalised already".to_owned());
    }
    Ok(begun != 0)
}

impl Adopted {
    /// Creates the nodes of `communicator`. Collective over it.
    pub(crate) fn new(communicator: ffi::MPI_Comm) -> Result<Self, String> {
        if !is_initialised()? {
            return Err("MPI is not initialised: call `mpi::initialize()` before".to_owned());
        }
        let (mut level, mut main, mut between): (c_int, c_int, c_int) = (0, 0, 0);
        // SAFETY: MPI is initialised; it writes to a variable that outlives the call.
        attempt!(unsafe { MPI_Query_thread(&mut level) })?;
        // SAFETY: as above.
        attempt!(unsafe { MPI_Is_thread_main(&mut main) })?;
        // SAFETY: a constant that the shim initialises when it is loaded.
        if main == 0 && level < unsafe { ffi::RSMPI_THREAD_SERIALIZED } {
            return Err(
                "MPI was initialised for calls of its main thread, and this is another: initialise it \
                        with `Threading::Serialized`"
                    .to_owned(),
            );
        }
        // SAFETY: MPI is initialised, and the caller's communicator live, as rsmpi's types are; MPI
        // writes to a variable that outlives the call.
        attempt!(unsafe { MPI_Comm_test_inter(communicator, &mut between) })?;
        if between != 0 {
            return Err("a communicator between two groups has no common numbers of nodes".to_owned());
        }
        // Only a few words are leaked at the end; a node's parts refer to them until then.
        Ok(Self { world: Box::leak(Box::new(World::on(communicator)?)), thread: PhantomData })
    }

    pub(in super::super) fn world(&self) -> &'static World {
        self.world
    }
}

impl std::fmt::Debug for Adopted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "node {} of {}", self.world.rank, self.world.size)
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        // After its end MPI has freed everything itself.
        if is_initialised() == Ok(true) {
            self.world.free();
        }
    }
}
