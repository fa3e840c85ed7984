/* A rank of a job in C. Makes every call of muster/c.h and checks the results. */
#define _POSIX_C_SOURCE 200809L /* poll() */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "muster/c.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

#define OK(call)                                                                          \
  do {                                                                                    \
    muster_status* failed_ = (call);                                                      \
    if (failed_ != NULL) {                                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, muster_status_message(failed_)); \
      exit(muster_status_exit_code(failed_));                                             \
    }                                                                                     \
  } while (0)

/* Checks an error, and frees it. */
static void fails(muster_status* status, muster_code code, const char* words, int line) {
  if (muster_status_code(status) != code || strstr(muster_status_message(status), words) == NULL) {
    fprintf(stderr, "line %d: code %d, '%s'; expected code %d with '%s' in it\n", line,
            (int)muster_status_code(status), muster_status_message(status), (int)code, words);
    exit(1);
  }
  muster_status_free(status);
}
#define FAILS(call, code, words) fails(call, code, words, __LINE__)

static void fixed_sizes(muster_job* job) {
  muster_group* world = muster_world(job);
  const int rank = muster_rank(job), size = muster_world_size(job);
  char id[128];
  int* all = calloc((size_t)size, sizeof(int));
  int i;
  memset(id, rank == 1 ? 'x' : '-', sizeof(id));
  OK(muster_broadcast(world, id, sizeof(id), 1, NULL));
  CHECK(id[0] == 'x' && id[127] == 'x');

  OK(muster_gather(world, &rank, sizeof(rank), rank == 0 ? all : NULL, 0, NULL));
  for (i = 0; i < size; ++i) CHECK(all[i] == (rank == 0 ? i : 0));
  OK(muster_all_gather(world, &rank, sizeof(rank), all, NULL));
  for (i = 0; i < size; ++i) CHECK(all[i] == i);
  OK(muster_all_gather(world, NULL, 0, NULL, NULL));
  free(all);
}

static void reductions(muster_job* job) {
  muster_group* world = muster_world(job);
  const int rank = muster_rank(job), size = muster_world_size(job);
  int64_t counts[2] = {1, 0};
  double loss = rank;
  unsigned char flag = rank == 1 ? 7 : 0;
  counts[1] = rank;
  OK(muster_all_reduce(world, counts, 2, MUSTER_INT64, MUSTER_SUM, NULL));
  CHECK(counts[0] == size && counts[1] == size * (size - 1) / 2);
  OK(muster_all_reduce(world, &loss, 1, MUSTER_FLOAT64, MUSTER_MAX, NULL));
  CHECK(loss == size - 1);
  OK(muster_all_reduce(world, &flag, 1, MUSTER_BOOL, MUSTER_BITWISE_OR, NULL));
  CHECK(flag == 1);
  FAILS(muster_all_reduce(world, &flag, 1, MUSTER_BOOL, MUSTER_SUM, NULL), MUSTER_UNIMPLEMENTED,
        "no sum of bool");
  FAILS(muster_all_reduce(world, &flag, 1, (muster_type)99, MUSTER_SUM, NULL),
        MUSTER_INVALID_ARGUMENT, "the type is 99");
  FAILS(muster_all_reduce(world, &flag, SIZE_MAX, MUSTER_INT64, MUSTER_SUM, NULL),
        MUSTER_INVALID_ARGUMENT, "more than any memory holds");
}

static void any_sizes(muster_job* job) {
  muster_group* world = muster_world(job);
  const int rank = muster_rank(job), size = muster_world_size(job);
  muster_values* values = NULL;
  size_t bytes = 0;
  char mine[16];
  snprintf(mine, sizeof(mine), "rank %d", rank);
  OK(muster_broadcast_values(world, rank == 0 ? mine : NULL, strlen(mine), 0, NULL, &values));
  CHECK(muster_values_count(values) == 1);
  CHECK(strcmp(muster_values_get(values, 0, &bytes), "rank 0") == 0 && bytes == 6);
  muster_values_free(values);

  OK(muster_gather_values(world, mine, (size_t)rank, 1, NULL, &values));
  CHECK(muster_values_count(values) == (rank == 1 ? (size_t)size : 0));
  CHECK(muster_values_get(values, (size_t)size, NULL) == NULL);
  muster_values_free(values);

  OK(muster_all_gather_values(world, mine, (size_t)rank, NULL, &values));
  CHECK(muster_values_count(values) == (size_t)size);
  CHECK(muster_values_get(values, 2, &bytes) != NULL && bytes == 2);
  muster_values_free(values);
}

static void groups(muster_job* job) {
  const int rank = muster_rank(job), color = rank % 2;
  const int ends[] = {2, 0};
  int sum = rank;
  muster_group *part = NULL, *none = NULL, *pair = NULL;
  OK(muster_split(job, &color, -rank, NULL, &part));
  CHECK(muster_group_size(part) == (color == 0 ? 2 : 1));
  CHECK(muster_group_rank(part) == (rank == 0 ? 1 : 0)); /* the highest rank has the lowest key */
  OK(muster_all_reduce(part, &sum, 1, MUSTER_INT32, MUSTER_SUM, NULL));
  CHECK(sum == (color == 0 ? 2 : 1));
  OK(muster_split(job, rank == 1 ? NULL : &color, 0, NULL, &none));
  CHECK((none == NULL) == (rank == 1));
  if (rank != 1) {
    OK(muster_group_new(job, "ends", ends, 2, &pair));
    CHECK(muster_group_rank(pair) == (rank == 2 ? 0 : 1));
    OK(muster_barrier(pair, "the ends", NULL));
  } else {
    FAILS(muster_group_new(job, "ends", ends, 2, &pair), MUSTER_INVALID_ARGUMENT,
          "does not include rank 1");
    CHECK(pair == NULL);
  }
  muster_group_free(part);
  muster_group_free(none);
  muster_group_free(pair);
}

static void leases(muster_job* job) {
  muster_lease* lease = NULL;
  const void* data = NULL;
  size_t size = 0;
  int held;
  OK(muster_acquire_lease(job, "index", MUSTER_ONCE_PER_JOB, NULL, &lease));
  held = muster_lease_held(lease);
  if (held) {
    CHECK(muster_lease_token(lease) > 0);
    FAILS(muster_lease_result(lease, &data, &size), MUSTER_FAILED_PRECONDITION, "");
    OK(muster_lease_complete(lease, "built", 5));
  } else {
    OK(muster_lease_result(lease, &data, &size));
    CHECK(size == 5 && memcmp(data, "built", 6) == 0);
  }
  muster_lease_free(lease);
  OK(muster_all_reduce(muster_world(job), &held, 1, MUSTER_INT32, MUSTER_SUM, NULL));
  CHECK(held == 1);

  OK(muster_acquire_lease(job, "download", MUSTER_ONCE_PER_JOB, NULL, &lease));
  if (muster_lease_held(lease)) {
    FAILS(muster_lease_fail(lease, MUSTER_OK, "well"), MUSTER_INVALID_ARGUMENT, "the code is 0");
    OK(muster_lease_fail(lease, MUSTER_NOT_FOUND, "no such bucket"));
  } else {
    FAILS(muster_lease_result(lease, &data, &size), MUSTER_NOT_FOUND, "no such bucket");
  }
  muster_lease_free(lease);

  OK(muster_acquire_lease(job, "later", MUSTER_ONCE_PER_NODE, NULL, &lease));
  if (muster_lease_held(lease)) {
    muster_lease_release(lease);
    FAILS(muster_lease_complete(lease, "x", 1), MUSTER_FAILED_PRECONDITION, "not held");
  }
  muster_lease_release(NULL);
  muster_lease_free(lease);
}

static void check_value(muster_values* values, size_t index, const char* expected) {
  size_t size = 0;
  const void* data = muster_values_get(values, index, &size);
  CHECK(data != NULL && size == strlen(expected) && memcmp(data, expected, size) == 0);
}

/* Writes a byte for each event, with what the key holds now, and 'e' for an error. */
static void note_event(void* context, const muster_store_event* event, const muster_status* error) {
  const char noted = (char)(error != NULL ? 'e' : '0' + event->kind);
  CHECK((event == NULL) == (error != NULL));
  CHECK(event == NULL || event->size == sizeof(*event));
  CHECK(write(*(int*)context, &noted, 1) == 1);
}

static void watch(muster_job* job) {
  muster_subscription* subscription = NULL;
  int pipes[2];
  char noted = 0;
  CHECK(pipe(pipes) == 0);
  FAILS(muster_store_watch(job, "port", 4, NULL, NULL, &subscription), MUSTER_INVALID_ARGUMENT,
        "callback");
  OK(muster_store_watch(job, "port", 4, note_event, &pipes[1], &subscription));
  CHECK(read(pipes[0], &noted, 1) == 1 && noted == '0' + MUSTER_STORE_VALUE);
  muster_subscription_free(subscription);
  close(pipes[0]);
  close(pipes[1]);
}

static void store(muster_job* job) {
  const int size = muster_world_size(job);
  const void* keys[] = {"port", "sum"};
  const size_t key_sizes[] = {4, 3};
  muster_values* values = NULL;
  muster_call_options soon = MUSTER_CALL_OPTIONS;
  int64_t number = 0;
  int flag = -1;
  soon.timeout_ms = 50;
  if (muster_rank(job) == 1) OK(muster_store_set(job, "port", 4, "7001", 4, NULL));
  OK(muster_store_get(job, "port", 4, NULL, &values));
  CHECK(muster_values_count(values) == 1);
  check_value(values, 0, "7001");
  muster_values_free(values);
  FAILS(muster_store_get(job, "absent", 6, &soon, &values), MUSTER_DEADLINE_EXCEEDED, "'absent'");
  watch(job);
  FAILS(muster_store_set(job, NULL, 4, "", 0, NULL), MUSTER_INVALID_ARGUMENT, "key");

  OK(muster_store_add(job, "sum", 3, 2, NULL, &number));
  CHECK(number >= 2 && number <= 2 * size);
  OK(muster_store_barrier(job, "added", 5, size, NULL, &number));
  CHECK(number >= 1 && number <= size);
  OK(muster_store_wait(job, keys, key_sizes, 2, NULL));
  OK(muster_store_add(job, "sum", 3, 0, NULL, &number));
  CHECK(number == 2 * size);
  OK(muster_store_list(job, "", 0, NULL, &values));
  CHECK(muster_values_count(values) == 3);
  check_value(values, 0, "added");
  muster_values_free(values);
  OK(muster_store_count(job, "s", 1, NULL, &number));
  CHECK(number == 1);

  OK(muster_store_compare_and_set(job, "port", 4, NULL, 0, "1", 1, NULL, &flag, &values));
  CHECK(flag == 0);
  check_value(values, 0, "7001");
  muster_values_free(values);
  OK(muster_barrier(muster_world(job), "all have listed", NULL));
  if (muster_rank(job) == 0) {
    OK(muster_store_append(job, "log", 3, "ab", 2, NULL, &number));
    CHECK(number == 2);
    OK(muster_store_push(job, "work", 4, "first", 5, NULL, &number));
    CHECK(number == 1);
    OK(muster_store_length(job, "work", 4, NULL, &number));
    CHECK(number == 1);
    OK(muster_store_pop(job, "work", 4, NULL, &values));
    check_value(values, 0, "first");
    muster_values_free(values);
    OK(muster_store_delete(job, "log", 3, NULL, &flag));
    CHECK(flag == 1);
  }
  OK(muster_barrier(muster_world(job), "after the store", NULL));
}

/* Rank 1 comes first. Its error names the ranks that are missing. */
static void time_outs(muster_job* job) {
  const int all[] = {0, 1, 2};
  muster_group* early = NULL;
  muster_call_options soon = MUSTER_CALL_OPTIONS;
  soon.timeout_ms = 50;
  OK(muster_group_new(job, "early", all, 3, &early));
  if (muster_rank(job) == 1) {
    muster_status* late = muster_barrier(early, "late", &soon);
    CHECK(muster_status_missing_count(late) == 2 && muster_status_missing_rank(late, 0) == 0);
    CHECK(muster_status_missing_rank(late, 1) == 2 && muster_status_missing_rank(late, 2) == -1);
    CHECK(muster_status_rank(late) == 0 && strcmp(muster_status_cause(late), "") == 0);
    FAILS(late, MUSTER_DEADLINE_EXCEEDED, "missing 2 of 3");
  }
  OK(muster_barrier(muster_world(job), "now", NULL));
  OK(muster_barrier(early, "late", NULL));
  muster_group_free(early);
}

static void cancelled(muster_job* job) {
  muster_cancellation* cancellation = NULL;
  muster_call_options options = MUSTER_CALL_OPTIONS;
  OK(muster_cancellation_new(&cancellation));
  options.cancellation = cancellation;
  muster_cancel(cancellation);
  FAILS(muster_barrier(muster_world(job), "again", &options), MUSTER_CANCELLED, "");
  OK(muster_barrier(muster_world(job), "again", NULL));
  muster_cancellation_free(cancellation);
}

static muster_status* build(void* context, muster_values* value) {
  int* runs = context;
  ++*runs;
  return muster_values_set(value, "built", 5);
}

static muster_status* refuse(void* context, muster_values* value) {
  (void)context;
  (void)value;
  return muster_status_new(MUSTER_NOT_FOUND, "no such bucket");
}

static void work_for_all(muster_job* job) {
  muster_values* value = NULL;
  muster_status* failed;
  const int rank = muster_rank(job);
  int runs = 0;
  OK(muster_run_on_rank(job, 1, rank == 1 ? build : NULL, &runs, NULL, &value));
  CHECK(strcmp(muster_values_get(value, 0, NULL), "built") == 0 && runs == (rank == 1));
  muster_values_free(value);
  value = NULL;
  failed = muster_run_on_rank(job, 2, refuse, NULL, NULL, &value);
  CHECK(muster_status_rank(failed) == 2 && value == NULL);
  FAILS(failed, MUSTER_NOT_FOUND, "no such bucket");
}

static void members(muster_job* job) {
  muster_member member = MUSTER_MEMBER;
  const int rank = muster_rank(job);
  OK(muster_member_of(job, rank, &member));
  CHECK(member.rank == rank && member.local_rank == muster_local_rank(job));
  CHECK(member.node_rank == muster_node_rank(job) && member.previous_rank == -1);
  CHECK(strcmp(member.node_id, muster_node_id(job, rank)) == 0);
  CHECK(member.pid > 0 && strcmp(member.hostname, "") != 0 && strcmp(member.topology, "") == 0);
  FAILS(muster_member_of(job, -1, &member), MUSTER_INVALID_ARGUMENT, "no rank -1");
  member.size = 0;
  FAILS(muster_member_of(job, rank, &member), MUSTER_INVALID_ARGUMENT, "MUSTER_MEMBER");
  CHECK(muster_is_distributed(job) && muster_newcomers_waiting(job) == 0);
}

/* Ranks that disagree about the type of the bytes get an error. */
static void type_names(muster_job* job) {
  const int all[] = {0, 1, 2};
  muster_group* typed = NULL;
  muster_values* values = NULL;
  muster_call_options options = MUSTER_CALL_OPTIONS;
  OK(muster_group_new(job, "typed", all, 3, &typed));
  CHECK(muster_group_member(typed, 2) == 2 && muster_group_member(typed, 3) == -1);
  options.type_name = "json";
  OK(muster_all_gather_values(typed, "1", 1, &options, &values));
  muster_values_free(values);
  if (muster_rank(job) == 0) options.type_name = "pickle";
  FAILS(muster_broadcast_values(typed, "1", 1, 0, &options, &values), MUSTER_FAILED_PRECONDITION,
        "pickle");
  muster_group_free(typed);
}

struct barrier_call {
  muster_group* group;
  muster_cancellation* cancellation;
};

static muster_status* call_barrier(void* context) {
  struct barrier_call* barrier_call = context;
  muster_call_options options = MUSTER_CALL_OPTIONS;
  options.cancellation = barrier_call->cancellation;
  return muster_barrier(barrier_call->group, "in the background", &options);
}

/* Rank 0 does not wait: its call times out, and it calls again. */
static void in_the_background(muster_job* job) {
  struct barrier_call barrier_call = {NULL, NULL};
  struct pollfd ready = {-1, POLLIN, 0};
  muster_pending* pending = NULL;
  const int all[] = {0, 1, 2};
  OK(muster_group_new(job, "background", all, 3, &barrier_call.group));
  OK(muster_cancellation_new(&barrier_call.cancellation));
  if (muster_rank(job) == 0) {
    OK(muster_start(call_barrier, &barrier_call, &pending));
    ready.fd = muster_pending_fd(pending);
    CHECK(poll(&ready, 1, 20) == 0 && !muster_pending_done(pending));
    muster_cancel(barrier_call.cancellation);
    CHECK(poll(&ready, 1, 60000) == 1 && muster_pending_done(pending));
    FAILS(muster_pending_wait(pending), MUSTER_CANCELLED, "");
    FAILS(muster_pending_wait(pending), MUSTER_CANCELLED, "");
    muster_pending_free(pending);
  }
  OK(muster_barrier(muster_world(job), "given up", NULL));
  muster_cancellation_free(barrier_call.cancellation);
  barrier_call.cancellation = NULL;
  OK(muster_start(call_barrier, &barrier_call, &pending));
  OK(muster_pending_wait(pending));
  muster_pending_free(pending);
  muster_group_free(barrier_call.group);
}

static void arrays(muster_job* job) {
  muster_communicator* communicator = NULL;
  const int rank = muster_rank(job), size = muster_world_size(job);
  const size_t counts[] = {1, 0, 2};
  const int mine[] = {10 * rank, 10 * rank + 1};
  int all[6] = {0}, parts[3], own, next = (rank + 1) % size, before = (rank + 2) % size, i;
  float sum[2];
  void* several[2];
  const size_t sizes[] = {2, 1};
  muster_type types[] = {MUSTER_FLOAT32, MUSTER_INT32};
  sum[0] = (float)rank;
  sum[1] = 1;
  OK(muster_communicator_new(muster_world(job), "gloo", NULL, NULL, &communicator));
  CHECK(muster_communicator_rank(communicator) == rank);
  CHECK(muster_communicator_size(communicator) == size);
  CHECK(strcmp(muster_communicator_backend(communicator), "gloo") == 0);
  OK(muster_communicator_all_reduce(communicator, sum, sum, 2, MUSTER_FLOAT32, MUSTER_SUM, NULL));
  CHECK(sum[0] == 3 && sum[1] == 3);
  OK(muster_communicator_broadcast(communicator, sum, 2, MUSTER_FLOAT32, 1, NULL));
  several[0] = sum;
  several[1] = &own;
  own = rank;
  OK(muster_communicator_all_reduce_coalesced(communicator, several, sizes, types, 2, MUSTER_SUM,
                                              NULL));
  CHECK(sum[0] == 9 && sum[1] == 9 && own == 3);
  OK(muster_communicator_all_reduce_coalesced(communicator, NULL, NULL, NULL, 0, MUSTER_SUM, NULL));
  FAILS(muster_communicator_all_reduce_coalesced(communicator, several, NULL, types, 2, MUSTER_SUM,
                                                 NULL),
        MUSTER_INVALID_ARGUMENT, "'counts' is NULL");
  types[1] = 99;
  FAILS(muster_communicator_all_reduce_coalesced(communicator, several, sizes, types, 2, MUSTER_SUM,
                                                 NULL),
        MUSTER_INVALID_ARGUMENT, "the type is 99");
  types[1] = MUSTER_INT32;
  several[1] = NULL;
  FAILS(muster_communicator_all_reduce_coalesced(communicator, several, sizes, types, 2, MUSTER_SUM,
                                                 NULL),
        MUSTER_INVALID_ARGUMENT, "'arrays[1]' is NULL");
  own = rank;
  OK(muster_communicator_reduce(communicator, &rank, rank == 2 ? &own : NULL, 1, MUSTER_INT32,
                                MUSTER_MAX, 2, NULL));
  CHECK(own == rank);
  OK(muster_communicator_all_gather(communicator, mine, all, 2, MUSTER_INT32, NULL));
  for (i = 0; i < 6; ++i) CHECK(all[i] == 10 * (i / 2) + i % 2);
  OK(muster_communicator_all_gather_uneven(communicator, mine, parts, counts, MUSTER_INT32, NULL));
  CHECK(parts[0] == 0 && parts[1] == 20 && parts[2] == 21);
  OK(muster_communicator_reduce_scatter(communicator, all, parts, 2, MUSTER_INT32, MUSTER_SUM,
                                        NULL));
  CHECK(parts[0] == 30 * rank && parts[1] == 30 * rank + 3);
  for (i = 0; i < 3; ++i) all[i] = 10 * rank + i;
  OK(muster_communicator_all_to_all(communicator, all, parts, 1, MUSTER_INT32, NULL));
  for (i = 0; i < 3; ++i) CHECK(parts[i] == 10 * i + rank);
  OK(muster_communicator_send_recv(communicator, &rank, 1, next, &own, 1, before, MUSTER_INT32,
                                   NULL));
  CHECK(own == before);
  if (rank == 0) OK(muster_communicator_send(communicator, mine, 2, MUSTER_INT32, 2, NULL));
  if (rank == 2) OK(muster_communicator_recv(communicator, parts, 2, MUSTER_INT32, 0, NULL));
  CHECK(rank != 2 || parts[1] == 1);
  OK(muster_communicator_barrier(communicator, NULL));
  FAILS(
      muster_communicator_all_reduce(communicator, sum, NULL, 2, MUSTER_FLOAT32, MUSTER_SUM, NULL),
      MUSTER_INVALID_ARGUMENT, "'out' is NULL");
  FAILS(muster_communicator_all_gather(communicator, mine, all, SIZE_MAX / 8, MUSTER_INT32, NULL),
        MUSTER_INVALID_ARGUMENT, "more than any memory holds");
  FAILS(muster_communicator_all_reduce(communicator, sum, sum, 2, MUSTER_FLOAT16, MUSTER_SUM, NULL),
        MUSTER_UNIMPLEMENTED, "float16");
  muster_communicator_free(communicator);
}

static void note_failure(void* context, const muster_status* status) {
  const int rank = muster_status_rank(status);
  CHECK(write(*(int*)context, &rank, sizeof(rank)) == sizeof(rank));
}

/* Checks that the error names rank 1, which is lost. */
static muster_status* names_rank_1(muster_job* job, muster_status* status) {
  muster_member member = MUSTER_MEMBER;
  muster_status* copy = muster_status_copy(status);
  muster_status_free(status);
  OK(muster_member_of(job, 1, &member));
  CHECK(muster_status_rank(copy) == 1 && muster_status_pid(copy) == member.pid);
  CHECK(strcmp(muster_status_node(copy), member.node_id) == 0);
  CHECK(strstr(muster_status_message(copy), muster_status_cause(copy)) != NULL);
  CHECK(strstr(muster_status_cause(copy), "its connection ended") == muster_status_cause(copy));
  CHECK(muster_status_missing_count(copy) == 1 && muster_status_missing_rank(copy, 0) == 1);
  return copy;
}

int main(int argc, char** argv) {
  muster_job* job = NULL;
  int told = -1, pipes[2] = {-1, -1};
  muster_or_die(muster_join(NULL, NULL, &job));
  CHECK(muster_rank(job) < muster_world_size(job));
  CHECK(muster_group_size(muster_world(job)) == muster_world_size(job));
  CHECK(strcmp(muster_node_id(job, muster_rank(job)), "") != 0);
  CHECK(muster_node_id(job, -1) == NULL);
  CHECK(muster_health(job) == NULL && muster_await_failure(job, 0) == NULL);
  CHECK(muster_epoch(job) > 0);
  CHECK(!muster_stop_requested(job) && !muster_resumed(job));
  if (argc > 1 && strcmp(argv[1], "disagree") == 0) { /* rank 1 sends more than the others */
    char data[8] = {0};
    OK(muster_broadcast(muster_world(job), data, muster_rank(job) == 1 ? 8 : 4, 0, NULL));
  }
  if (argc > 1 && strcmp(argv[1], "die") == 0) { /* rank 1 ends without a word */
    muster_subscription* subscription = NULL;
    muster_communicator* communicator = NULL;
    float sum = 1;
    OK(muster_communicator_new(muster_world(job), "gloo", NULL, NULL, &communicator));
    if (muster_rank(job) == 1) abort();
    CHECK(pipe(pipes) == 0);
    OK(muster_on_failure(job, note_failure, &pipes[1], &subscription));
    FAILS(names_rank_1(job, muster_communicator_all_reduce(communicator, &sum, &sum, 1,
                                                           MUSTER_FLOAT32, MUSTER_SUM, NULL)),
          MUSTER_ABORTED, "rank 1 (");
    muster_communicator_free(communicator);
    FAILS(names_rank_1(job, muster_await_failure(job, 60000)), MUSTER_ABORTED, "rank 1 (");
    FAILS(names_rank_1(job, muster_barrier(muster_world(job), "step", NULL)), MUSTER_ABORTED, "");
    CHECK(read(pipes[0], &told, sizeof(told)) == sizeof(told) && told == 1); /* it may come later */
    muster_subscription_free(subscription);
    muster_or_die(muster_barrier(muster_world(job), "step 1", NULL));
  }
  fixed_sizes(job);
  reductions(job);
  any_sizes(job);
  groups(job);
  leases(job);
  store(job);
  work_for_all(job);
  members(job);
  type_names(job);
  in_the_background(job);
  arrays(job);
  time_outs(job);
  cancelled(job);
  if (muster_rank(job) == 0) OK(muster_request_stop(job, NULL));
  OK(muster_barrier(muster_world(job), "told", NULL));
  OK(muster_barrier(muster_world(job), "seen", NULL));
  CHECK(muster_stop_requested(job));
  printf("rank %d of %d, local %d of %d, node %d of %d, epoch %" PRIu64 "\n", muster_rank(job),
         muster_world_size(job), muster_local_rank(job), muster_local_world_size(job),
         muster_node_rank(job), muster_num_nodes(job), muster_epoch(job));
  OK(muster_leave(job, NULL));
  muster_job_free(job);
  return 0;
}
