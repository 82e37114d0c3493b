/* Calls collectives of an MPI library, for a count of their messages by pml_monitoring.
 *
 * Arguments: COLLECTIVE BYTES CALLS, as often as wanted; BYTES is what one process passes. Nothing
 * is timed, and nothing but the collectives sends messages.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int size;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(comm, &size);
    for (int arg = 1; arg + 2 < argc; arg += 3) {
        const char *what = argv[arg];
        size_t bytes = strtoul(argv[arg + 1], NULL, 10);
        int calls = atoi(argv[arg + 2]), count = (int)(bytes / sizeof(int));
        int *in = calloc(size, bytes + sizeof(int)), *out = calloc(size, bytes + sizeof(int));
        if (!in || !out) {
            fprintf(stderr, "no memory for %zu bytes on each of %d processes\n", bytes, size);
            MPI_Abort(comm, 3);
        }
        for (int call = 0; call < calls; call++) {
            if (!strcmp(what, "allreduce"))
                MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
            else if (!strcmp(what, "bcast"))
                MPI_Bcast(in, count, MPI_INT, 0, comm);
            else if (!strcmp(what, "reduce"))
                MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, comm);
            else if (!strcmp(what, "allgather"))
                MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
            else if (!strcmp(what, "alltoall"))
                MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm);
            else if (!strcmp(what, "gather"))
                MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, 0, comm);
            else if (!strcmp(what, "scatter"))
                MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, 0, comm);
            else if (!strcmp(what, "barrier"))
                MPI_Barrier(comm);
        }
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
