// A rank of run_mpi_test.cc: an MPI program. The first argument says what it does between
// MPI_Init() and MPI_Finalize(). Rank 1 is the one that misbehaves.

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Between MPI_Init() and MPI_Finalize(), calls MPI meanwhile: the library may still have to send
// what other ranks wait for, and does so in its calls.
static void AwaitFile(const char* path) {
  int begun;
  int found;
  MPI_Initialized(&begun);
  while (access(path, F_OK) != 0) {
    if (begun) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    usleep(5000);
  }
}

static void Spawn(void) {
  MPI_Comm children;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int error = MPI_Comm_spawn("true", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                   &children, MPI_ERRCODES_IGNORE);
  printf("spawn: %s\n", error == MPI_SUCCESS ? "done" : "refused");
}

// Prints whether Open MPI lets other processes run while it polls. Other libraries have no such
// setting.
static void PrintYields(void) {
  int provided;
  int index;
  int count;
  MPI_T_cvar_handle handle;
  int yields = 0;  // room for the setting, which has one byte or four
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  const int known = MPI_T_cvar_get_index("mpi_yield_when_idle", &index) == MPI_SUCCESS &&
                    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS;
  if (known) {
    MPI_T_cvar_read(handle, &yields);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  printf("yields: %s\n", !known ? "not a setting" : yields != 0 ? "yes" : "no");
}

int main(int argc, char** argv) {
  const char* step = argv[1];
  const int launched_rank = atoi(getenv("RANK"));
  if (strcmp(step, "late") == 0 && launched_rank == 1) AwaitFile(argv[2]);
  if (strcmp(step, "absent") == 0 && launched_rank == 1) return 0;
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(step, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 23);
  if (strcmp(step, "kill") == 0 && rank == 1) raise(SIGKILL);
  if (strcmp(step, "kill-once") == 0 && rank == 1 &&
      strcmp(getenv("MUSTER_RESTART_COUNT"), "0") == 0) {
    raise(SIGKILL);
  }
  if (strcmp(step, "exit") == 0 && rank == 1) _exit(0);
  if (strcmp(step, "spawn") == 0 && rank == 1) Spawn();
  if (strcmp(step, "yields") == 0) PrintYields();
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d passed the barrier\n", rank);
  fflush(stdout);
  if (strcmp(step, "linger") == 0 && rank == 1) AwaitFile(argv[2]);
  MPI_Finalize();
  return 0;
}
