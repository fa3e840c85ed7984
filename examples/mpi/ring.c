// An MPI program that knows nothing of Muster: each rank adds its number to the sum of the others.
//
//   mpicc.mpich -o ring examples/mpi/ring.c      # MPICH; or mpicc.openmpi, mpiicx
//   muster run --nproc-per-node 4 -- ./ring
//
// The launcher gives it its ranks by PMI-1 or PMIx, as MPICH's mpiexec and Open MPI's mpirun do
// (docs/doors.md).

#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  // A token goes around the ring. Each rank adds its number.
  int token = rank;
  if (rank > 0) {
    MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token += rank;
  }
  if (rank < size - 1) MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);

  // The last rank has the sum. The others compute it by a collective.
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(&token, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  printf("rank %d of %d: the ring says %d, all-reduce says %d\n", rank, size, token, sum);

  MPI_Finalize();
  return token == sum ? 0 : 1;
}
