/* The peer of `stencil_race`: Jacobi's method on five points with PETSc's distributed arrays (DMDA).
 *
 * Reads lines `SIDE ITERATIONS` and answers each with the seconds that they take. */

#include <petscdmda.h>
#include <stdio.h>

static PetscErrorCode iterate(PetscInt side, PetscInt iterations, double *seconds) {
    DM da;
    Vec now, next, local, swap;
    PetscFunctionBeginUser;
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_GHOSTED, DM_BOUNDARY_GHOSTED, DMDA_STENCIL_STAR, side,
                           side, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateGlobalVector(da, &now));
    PetscCall(VecDuplicate(now, &next));
    PetscCall(DMCreateLocalVector(da, &local));
    PetscCall(VecSet(now, 0.0));
    PetscCall(VecSet(next, 0.0));
    PetscCall(VecSet(local, 0.0));
    PetscInt left, top, width, height;
    PetscCall(DMDAGetCorners(da, &left, &top, NULL, &width, &height, NULL));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    double start = MPI_Wtime();
    for (PetscInt i = 0; i < iterations; i++) {
        const PetscScalar **u;
        PetscScalar **v;
        PetscCall(DMGlobalToLocal(da, now, INSERT_VALUES, local));
        PetscCall(DMDAVecGetArrayRead(da, local, (void *)&u));
        PetscCall(DMDAVecGetArray(da, next, &v));
        for (PetscInt y = top; y < top + height; y++) {
            const PetscScalar *north = u[y - 1], *here = u[y], *south = u[y + 1];
            PetscScalar *to = v[y];
            for (PetscInt x = left; x < left + width; x++)
                to[x] = 0.25 * ((north[x] + south[x]) + (here[x - 1] + here[x + 1]));
        }
        PetscCall(DMDAVecRestoreArrayRead(da, local, (void *)&u));
        PetscCall(DMDAVecRestoreArray(da, next, &v));
        swap = now, now = next, next = swap;
    }
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    *seconds = MPI_Wtime() - start;
    PetscCall(VecDestroy(&now));
    PetscCall(VecDestroy(&next));
    PetscCall(VecDestroy(&local));
    PetscCall(DMDestroy(&da));
    PetscFunctionReturn(0);
}

int main(int count, char **arguments) {
    int rank, question[2];
    PetscCall(PetscInitialize(&count, &arguments, NULL, NULL));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    if (rank == 0) printf("ready\n"), fflush(stdout);
    for (;;) {
        if (rank == 0 && scanf("%d %d", &question[0], &question[1]) != 2) question[0] = 0;
        PetscCallMPI(MPI_Bcast(question, 2, MPI_INT, 0, PETSC_COMM_WORLD));
        if (question[0] == 0) break;
        double seconds;
        PetscCall(iterate(question[0], question[1], &seconds));
        if (rank == 0) printf("%.9f\n", seconds), fflush(stdout);
    }
    PetscCall(PetscFinalize());
    return 0;
}
