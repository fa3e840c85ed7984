"""A rank of run_mpi_test.cc: gathers an object of each rank by mpi4py."""

from mpi4py import MPI

world = MPI.COMM_WORLD
values = world.allgather({"rank": world.rank, "value": 10 * world.rank})
values = [value["value"] for value in sorted(values, key=lambda value: value["rank"])]
print(f"rank {world.rank} of {world.size} has {', '.join(map(str, values))}", flush=True)
