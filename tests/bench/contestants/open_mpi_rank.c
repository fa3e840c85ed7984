/* One rank of data_plane.cc over Open MPI, by which it is built and started: open_mpi_rank FOLDER.
 * Its lines are described in data_plane_rank.cc. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, ranks;
static FILE* replies;

static int64_t Nanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void Operate(const char* operation, float* data, float* part, int count) {
  if (strcmp(operation, "all-reduce") == 0) {
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(operation, "broadcast") == 0) {
    MPI_Bcast(data, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
  } else {
    MPI_Allgather(part, count / ranks, MPI_FLOAT, data, count / ranks, MPI_FLOAT, MPI_COMM_WORLD);
  }
}

static void Run(const char* operation, size_t bytes, int times) {
  const int count = (int)(bytes / sizeof(float));
  float* data = malloc(bytes);
  float* part = malloc(bytes);
  for (int i = 0; i < count; ++i) data[i] = part[i] = 1;
  Operate(operation, data, part, count);
  MPI_Barrier(MPI_COMM_WORLD);
  const int64_t begin = Nanos();
  for (int i = 0; i < times; ++i) Operate(operation, data, part, count);
  MPI_Barrier(MPI_COMM_WORLD);
  fprintf(replies, "%d ran %lld\n", rank, (long long)(Nanos() - begin));
  fflush(replies);
  free(data);
  free(part);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char path[4096], line[256], operation[64];
  snprintf(path, sizeof path, "%s/replies", argv[1]);
  replies = fopen(path, "w");
  snprintf(path, sizeof path, "%s/commands.%d", argv[1], rank);
  FILE* const commands = fopen(path, "r");
  if (replies == NULL || commands == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  fprintf(replies, "%d up\n", rank);
  fflush(replies);
  while (fgets(line, sizeof line, commands) != NULL) {
    size_t bytes = 0;
    int times = 0;
    if (sscanf(line, "run %63s %zu %d", operation, &bytes, &times) != 3) break;
    Run(operation, bytes, times);
  }
  MPI_Finalize();
  fprintf(replies, "%d left\n", rank);
  fflush(replies);
  return 0;
}
