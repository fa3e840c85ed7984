/* One rank of startup.cc over MPI, by which it is built: startup_mpi_rank FOLDER. Its line is
 * described in startup_rank.cc. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define FLOATS 1024

static long long Nanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char** argv) {
  const long long began = Nanos();
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  const long long barrier = Nanos();
  static float data[FLOATS];
  MPI_Allreduce(MPI_IN_PLACE, data, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  const long long reduced = Nanos();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s/replies", argv[1]);
  FILE* const replies = fopen(path, "w");
  if (replies == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  fprintf(replies, "%d ran %lld %lld %lld %lld\n", rank, began, began, barrier, reduced);
  fclose(replies);
  return MPI_Finalize();
}
