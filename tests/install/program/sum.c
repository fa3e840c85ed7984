/* The same in C: rank 0 says what to count in, each rank brings a number, and all get the sum. */
#include <muster/c.h>
#include <stdio.h>

static muster_status* run(muster_job* job) {
  char unit[8] = "apples";
  int32_t sum = muster_rank(job) + 1;
  muster_group* world = muster_world(job);
  muster_status* failed = muster_broadcast(world, unit, sizeof(unit), 0, NULL);
  if (failed == NULL) failed = muster_all_reduce(world, &sum, 1, MUSTER_INT32, MUSTER_SUM, NULL);
  if (failed == NULL) failed = muster_barrier(world, "counted", NULL);
  if (failed != NULL) return failed;
  printf("rank %d of %d: %d %s\n", muster_rank(job), muster_world_size(job), (int)sum, unit);
  return muster_leave(job, NULL);
}

int main(void) {
  muster_job* job = NULL;
  muster_status* failed = muster_join(NULL, NULL, &job);
  if (failed == NULL) failed = run(job);
  if (failed != NULL) fprintf(stderr, "%s\n", muster_status_message(failed));
  const int code = muster_status_exit_code(failed);
  muster_status_free(failed);
  muster_job_free(job);
  return code;
}
