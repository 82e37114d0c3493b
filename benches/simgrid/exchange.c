/* The patterns that main.rs compares, written out in sends and receives, so that SMPI chooses no algorithm.
 *
 *     exchange PATTERN BYTES ROUNDS
 *
 * Prints the seconds from when the first rank begins to when the last one ends, as MPI_Wtime counts them: under smpirun,
 * simulated ones. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, bytes;
static char *block;

static void send(int to, int tag) { MPI_Send(block, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD); }

static void receive(int from, int tag)
{
    MPI_Recv(block, bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The binomial tree below rank 0: a rank's parent is its number without the lowest bit set. Answers that bit; at the root,
 * the first power of two that is not below the size. */
static int reach(void)
{
    int bit = 1;
    if (rank > 0)
        return rank & -rank;
    while (bit < size)
        bit *= 2;
    return bit;
}

/* To the children, the one with the most ranks below it first. */
static void down(int bit)
{
    for (bit /= 2; bit > 0; bit /= 2)
        if (rank + bit < size)
            send(rank + bit, 0);
}

static void barrier(void)
{
    int bit = reach();
    for (int child = 1; child < bit; child *= 2)
        if (rank + child < size)
            receive(rank + child, 0);
    if (rank > 0) {
        send(rank - bit, 0);
        receive(rank - bit, 0);
    }
    down(bit);
}

static void broadcast(void)
{
    int bit = reach();
    if (rank > 0)
        receive(rank - bit, 0);
    down(bit);
}

static void all_to_all(void)
{
    for (int shift = 1; shift < size; shift++)
        send((rank + shift) % size, 0);
    for (int shift = 1; shift < size; shift++)
        receive((rank + size - shift) % size, 0);
}

/* The same, each shift only when the one before has come. */
static void shifts(void)
{
    for (int shift = 1; shift < size; shift++) {
        send((rank + shift) % size, 0);
        receive((rank + size - shift) % size, 0);
    }
}

/* A halo for each of the four neighbours on a square grid whose ends are joined. */
static void stencil(void)
{
    int side = 1;
    while (side * side < size)
        side++;
    int row = rank / side, column = rank % side;
    int west = row * side + (column + side - 1) % side, east = row * side + (column + 1) % side;
    int north = (row + side - 1) % side * side + column, south = (row + 1) % side * side + column;
    int to[4] = {west, east, north, south}, from[4] = {east, west, south, north};
    for (int way = 0; way < 4; way++)
        send(to[way], way);
    for (int way = 0; way < 4; way++)
        receive(from[way], way);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } patterns[] = {{"barrier", barrier},
                    {"broadcast", broadcast},
                    {"all-to-all", all_to_all},
                    {"shifts", shifts},
                    {"stencil", stencil}};
    void (*run)(void) = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; argc == 4 && i < 5; i++)
        if (strcmp(argv[1], patterns[i].name) == 0)
            run = patterns[i].run;
    if (!run) {
        fprintf(stderr, "usage: exchange barrier|broadcast|all-to-all|shifts|stencil BYTES ROUNDS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    bytes = atoi(argv[2]);
    block = calloc(bytes + 1, 1);
    double start = MPI_Wtime();
    for (int round = atoi(argv[3]); round > 0; round--)
        run();
    double end = MPI_Wtime(), first, last;
    MPI_Reduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.12g\n", last - first);
    MPI_Finalize();
    return 0;
}
