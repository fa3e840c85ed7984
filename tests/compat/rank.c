/* A rank of a job in which daemon, launchers and ranks are of two versions (tools/test-compat). It
 * uses only what the first version of muster/c.h has, so that it can be built against any release.
 *
 *   rank everything   makes each kind of call, and checks the results
 *   rank loss         rank 1 aborts; the other ranks expect errors that name it
 *   rank steps FILE   takes steps, whose numbers rank 0 prints, until FILE is there
 */
#include <muster/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) \
  if (!(condition)) fail(__LINE__, #condition)

static void fail(int line, const char* what) {
  fprintf(stderr, "rank.c:%d: not so: %s\n", line, what);
  exit(1);
}

/* Ends the process if a call that must succeed has failed. */
static void must(muster_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", muster_status_message(status));
  exit(muster_status_exit_code(status));
}

static void expect_code(muster_status* status, muster_code code, const char* words) {
  const int expected =
      muster_status_code(status) == code && strstr(muster_status_message(status), words) != NULL;
  if (!expected) {
    fprintf(stderr, "code %d, expected %d with '%s': %s\n", muster_status_code(status), code, words,
            muster_status_message(status));
    exit(1);
  }
  muster_status_free(status);
}

static void check_values_of_known_size(muster_job* job) {
  const int rank = muster_rank(job);
  const int size = muster_world_size(job);
  muster_group* world = muster_world(job);
  int all[16] = {0};
  int64_t sum = rank + 1;
  float most = 0.5f * (float)rank;
  char unit[8] = "-";
  CHECK(size <= 16);
  if (rank == 1) strcpy(unit, "apples");
  must(muster_barrier(world, "begun", NULL));
  must(muster_broadcast(world, unit, sizeof(unit), 1, NULL));
  CHECK(strcmp(unit, "apples") == 0);
  must(muster_gather(world, &rank, sizeof(rank), all, 0, NULL));
  CHECK(rank != 0 || all[size - 1] == size - 1);
  memset(all, 0, sizeof(all));
  must(muster_all_gather(world, &rank, sizeof(rank), all, NULL));
  CHECK(all[1] == 1 && all[size - 1] == size - 1);
  must(muster_all_reduce(world, &sum, 1, MUSTER_INT64, MUSTER_SUM, NULL));
  CHECK(sum == size * (size + 1) / 2);
  must(muster_all_reduce(world, &most, 1, MUSTER_FLOAT32, MUSTER_MAX, NULL));
  CHECK(most == 0.5f * (float)(size - 1));
}

static void check_values_of_any_size(muster_job* job) {
  const int rank = muster_rank(job);
  muster_group* world = muster_world(job);
  muster_values* values = NULL;
  size_t size = 0;
  must(muster_all_gather_values(world, "abcdefgh", (size_t)rank + 1, NULL, &values));
  CHECK(muster_values_count(values) == (size_t)muster_world_size(job));
  CHECK(strcmp(muster_values_get(values, 2, &size), "abc") == 0 && size == 3);
  muster_values_free(values);
  must(muster_broadcast_values(world, "long", rank == 0 ? 4 : 0, 0, NULL, &values));
  CHECK(strcmp(muster_values_get(values, 0, NULL), "long") == 0);
  muster_values_free(values);
}

static void check_groups(muster_job* job) {
  const int rank = muster_rank(job);
  const int color = rank % 2;
  const int ends[2] = {muster_world_size(job) - 1, 0};
  muster_group* part = NULL;
  int32_t count = 1;
  must(muster_split(job, &color, -rank, NULL, &part));
  must(muster_all_reduce(part, &count, 1, MUSTER_INT32, MUSTER_SUM, NULL));
  CHECK(count == muster_group_size(part));
  muster_group_free(part);
  if (rank != ends[0] && rank != ends[1]) return;
  must(muster_group_new(job, "ends", ends, 2, &part));
  CHECK(muster_group_rank(part) == (rank == 0 ? 1 : 0));
  must(muster_barrier(part, "the ends", NULL));
  muster_group_free(part);
}

static void check_leases(muster_job* job, const char* name, muster_lease_scope scope,
                         int expected) {
  muster_lease* lease = NULL;
  int32_t holders = 0;
  must(muster_acquire_lease(job, name, scope, NULL, &lease));
  if (muster_lease_held(lease)) {
    holders = 1;
    CHECK(muster_lease_token(lease) > 0);
    must(muster_lease_complete(lease, "built", 5));
  } else {
    const void* data = NULL;
    size_t size = 0;
    must(muster_lease_result(lease, &data, &size));
    CHECK(size == 5 && memcmp(data, "built", 5) == 0);
  }
  muster_lease_free(lease);
  must(muster_all_reduce(muster_world(job), &holders, 1, MUSTER_INT32, MUSTER_SUM, NULL));
  CHECK(holders == expected);
}

/* Rank 0 comes alone at first. Its error names the ranks that are missing. */
static void check_time_outs(muster_job* job) {
  const int ranks[2] = {0, 1};
  muster_group* early = NULL;
  if (muster_rank(job) < 2) must(muster_group_new(job, "early", ranks, 2, &early));
  if (muster_rank(job) == 0) {
    muster_call_options options = MUSTER_CALL_OPTIONS;
    options.timeout_ms = 50;
    expect_code(muster_barrier(early, "late", &options), MUSTER_DEADLINE_EXCEEDED, "rank 1");
  }
  must(muster_barrier(muster_world(job), "now", NULL));
  if (early != NULL) must(muster_barrier(early, "late", NULL));
  muster_group_free(early);
}

static void check_stop(muster_job* job) {
  CHECK(!muster_stop_requested(job));
  if (muster_rank(job) == 0) must(muster_request_stop(job, NULL));
  must(muster_barrier(muster_world(job), "requested", NULL));
  must(muster_barrier(muster_world(job), "seen", NULL));
  CHECK(muster_stop_requested(job));
}

static void everything(muster_job* job) {
  check_values_of_known_size(job);
  check_values_of_any_size(job);
  check_groups(job);
  check_leases(job, "index", MUSTER_ONCE_PER_JOB, 1);
  check_leases(job, "extract", MUSTER_ONCE_PER_NODE, muster_num_nodes(job));
  check_time_outs(job);
  check_stop(job);
}

static void loss(muster_job* job) {
  must(muster_barrier(muster_world(job), "all are there", NULL));
  if (muster_rank(job) == 1) abort();
  expect_code(muster_await_failure(job, 120000), MUSTER_ABORTED, "rank 1 (");
  muster_status* status = muster_barrier(muster_world(job), "step 1", NULL);
  if (strstr(muster_status_message(status), "rank 1 (") != NULL) {
    printf("rank %d: told of rank 1\n", muster_rank(job));
    fflush(stdout);
  }
  must(status);
}

/* Uses a group of its own in each step, which the daemon may forget afterwards. */
static int step(muster_job* job, int number, const char* file) {
  const int rank = muster_rank(job);
  const int color = 0;
  muster_group* group = NULL;
  int32_t go_on = access(file, F_OK) != 0;
  int64_t sum = number;
  char label[32];
  snprintf(label, sizeof(label), "step %d", number);
  must(muster_barrier(muster_world(job), label, NULL));
  must(muster_split(job, &color, rank, NULL, &group));
  must(muster_all_reduce(group, &sum, 1, MUSTER_INT64, MUSTER_SUM, NULL));
  CHECK(sum == (int64_t)number * muster_world_size(job));
  must(muster_broadcast(group, &go_on, sizeof(go_on), 0, NULL));
  muster_group_free(group);
  if (rank == 0) printf("step %d\n", number);
  fflush(stdout);
  return go_on;
}

static void steps(muster_job* job, const char* file) {
  int number = 0;
  while (step(job, number, file)) {
    ++number;
    usleep(10000);
  }
  check_leases(job, "index", MUSTER_ONCE_PER_JOB, 1);
}

int main(int argc, char** argv) {
  muster_job* job = NULL;
  CHECK(argc == 2 || argc == 3);
  must(muster_join(NULL, NULL, &job));
  printf("rank %d of %d has Muster %s\n", muster_rank(job), muster_world_size(job),
         muster_version());
  if (strcmp(argv[1], "everything") == 0) everything(job);
  if (strcmp(argv[1], "loss") == 0) loss(job);
  if (argc == 3) steps(job, argv[2]);
  must(muster_leave(job, NULL));
  printf("rank %d has left\n", muster_rank(job));
  muster_job_free(job);
  return 0;
}
