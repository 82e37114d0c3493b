"""The peer of `stencil_race`: Jacobi's method on five points with Devito.

Reads lines `SIDE ITERATIONS` and answers each with the seconds that they take.
"""

import sys
import time

import numpy as np
from devito import Eq, Grid, Operator, TimeFunction, configuration

configuration["log-level"] = "ERROR"
configuration["language"] = "openmp"


def solver(side):
    """A function of the number of iterations; the operator's blocks are tuned once."""
    grid = Grid(shape=(side, side), dtype=np.float64)
    u = TimeFunction(name="u", grid=grid, space_order=2, time_order=1)
    t, (x, y) = grid.stepping_dim, grid.dimensions
    near = (u[t, x - 1, y] + u[t, x + 1, y]) + (u[t, x, y - 1] + u[t, x, y + 1])
    operator = Operator(Eq(u[t + 1, x, y], 0.25 * near), opt="advanced")
    operator.apply(time_m=0, time_M=31, autotune="aggressive")
    return lambda iterations: operator.apply(time_m=0, time_M=iterations - 1)


solvers = {}
print("ready", flush=True)
for line in sys.stdin:
    side, iterations = map(int, line.split())
    run = solvers.get(side) or solvers.setdefault(side, solver(side))
    start = time.perf_counter()
    run(iterations)
    print(time.perf_counter() - start, flush=True)
