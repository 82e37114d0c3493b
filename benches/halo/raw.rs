//! Halo exchanges with MPI's own means: derived datatypes, and neighbourhood collectives.

#![allow(unsafe_code, reason = "the peer is called without Strata, and takes addresses")]

use std::ffi::{c_int, c_void};

use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw as _, Communicator as _};

/// The halos of one array on a Cartesian communicator, not periodic, by side: before and after along
/// each axis.
pub(crate) struct Peer {
    communicator: ffi::MPI_Comm,
    /// The neighbours, or no process.
    nodes: Vec<c_int>,
    sent: Vec<ffi::MPI_Datatype>,
    received: Vec<ffi::MPI_Datatype>,
    /// Elements of the array.
    len: usize,
}

impl Peer {
    pub(crate) fn new<const R: usize>(
        world: &SimpleCommunicator,
        grid: [usize; R],
        side: usize,
        width: usize,
    ) -> Self {
        let whole = side + 2 * width;
        let (rank, dims) = (world.rank() as usize, grid.map(|nodes| nodes as c_int));
        let mut communicator = world.as_raw();
        // SAFETY: as many numbers as axes; MPI writes the new communicator to a variable that
        // outlives the call.
        let code = unsafe {
            ffi::MPI_Cart_create(
                world.as_raw(),
                R as c_int,
                dims.as_ptr(),
                [0; R].as_ptr(),
                0,
                &mut communicator,
            )
        };
        assert_eq!(code, 0, "MPI_Cart_create");
        // SAFETY: a constant of the library's.
        let nobody = unsafe { ffi::RSMPI_PROC_NULL };
        let mut this = Self {
            communicator,
            nodes: Vec::new(),
            sent: Vec::new(),
            received: Vec::new(),
            len: whole.pow(R as u32),
        };
        let mut step: usize = grid.iter().product();
        for (axis, count) in grid.into_iter().enumerate() {
            step /= count;
            let at = rank / step % count;
            let neighbours = [(at > 0).then(|| rank - step), (at + 1 < count).then(|| rank + step)];
            this.nodes.extend(neighbours.map(|node| node.map_or(nobody, |node| node as c_int)));
            let layers = |first: usize| datatype::<R>(whole, axis, [first, width], [width, side]);
            this.sent.extend([width, side].map(layers));
            this.received.extend([0, width + side].map(layers));
        }
        this
    }

    /// With a neighbourhood collective (MPI 3.1, §7.6).
    pub(crate) fn neighbour_alltoallw(&mut self, array: &mut [f64]) {
        assert_eq!(array.len(), self.len);
        let (counts, offsets) = (vec![1; self.nodes.len()], vec![0; self.nodes.len()]);
        let memory: *mut c_void = array.as_mut_ptr().cast();
        // SAFETY: a count, an offset and a datatype for each neighbour; the datatypes' elements are in
        // the array, by the assertion, and those received overlap no others.
        let code = unsafe {
            ffi::MPI_Neighbor_alltoallw(
                memory,
                counts.as_ptr(),
                offsets.as_ptr(),
                self.sent.as_ptr(),
                memory,
                counts.as_ptr(),
                offsets.as_ptr(),
                self.received.as_ptr(),
                self.communicator,
            )
        };
        assert_eq!(code, 0, "MPI_Neighbor_alltoallw");
    }

    /// With a message to and from each neighbour.
    pub(crate) fn by_hand(&mut self, array: &mut [f64]) {
        assert_eq!(array.len(), self.len);
        let memory: *mut c_void = array.as_mut_ptr().cast();
        // SAFETY: constants that the shim initialises, and plain numbers.
        let (none, mut statuses) = unsafe { (ffi::RSMPI_REQUEST_NULL, [std::mem::zeroed(); 16]) };
        let mut requests = [none; 16];
        for (side, node) in self.nodes.iter().enumerate() {
            // SAFETY: the datatype's elements are in the array, which is borrowed until all requests
            // are complete below.
            let code = unsafe {
                ffi::MPI_Irecv(
                    memory, 1, self.received[side], *node, side as c_int, self.communicator,
                    &mut requests[side],
                )
            };
            assert_eq!(code, 0, "MPI_Irecv");
        }
        for (side, node) in self.nodes.iter().enumerate() {
            // SAFETY: as for `MPI_Irecv`; those received overlap none that are sent.
            let code = unsafe {
                ffi::MPI_Isend(
                    memory,
                    1,
                    self.sent[side],
                    *node,
                    (side ^ 1) as c_int,
                    self.communicator,
                    &mut requests[8 + side],
                )
            };
            assert_eq!(code, 0, "MPI_Isend");
        }
        // SAFETY: as many requests as statuses; null ones are complete.
        let code = unsafe { ffi::MPI_Waitall(16, requests.as_mut_ptr(), statuses.as_mut_ptr()) };
        assert_eq!(code, 0, "MPI_Waitall");
    }
}

/// Layers along `axis`: so many from a first one on, and along the other axes the interior.
fn datatype<const R: usize>(
    whole: usize,
    axis: usize,
    [first, interior]: [usize; 2],
    [layers, side]: [usize; 2],
) -> ffi::MPI_Datatype {
    let along = |here: usize, other: usize| -> [c_int; R] {
        std::array::from_fn(|at| if at == axis { here } else { other } as c_int)
    };
    let (sizes, part, start) = ([whole as c_int; R], along(layers, side), along(first, interior));
    // SAFETY: as many numbers as axes, of a part within the array; MPI writes the datatype to a
    // variable that outlives the calls.
    unsafe {
        let mut datatype = ffi::RSMPI_DOUBLE;
        let order = ffi::MPI_ORDER_C as c_int;
        let code = ffi::MPI_Type_create_subarray(
            R as c_int,
            sizes.as_ptr(),
            part.as_ptr(),
            start.as_ptr(),
            order,
            ffi::RSMPI_DOUBLE,
            &mut datatype,
        );
        assert_eq!((code, ffi::MPI_Type_commit(&mut datatype)), (0, 0), "MPI_Type_create_subarray");
        datatype
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        for datatype in self.sent.iter_mut().chain(&mut self.received) {
            // SAFETY: a datatype of this module's, freed once.
            unsafe { ffi::MPI_Type_free(datatype) };
        }
        // SAFETY: a communicator of this module's, freed once by all processes.
        unsafe { ffi::MPI_Comm_free(&mut self.communicator) };
    }
}
