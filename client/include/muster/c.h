#ifndef MUSTER_C_H_
#define MUSTER_C_H_

/* The SDK for programs that are not in C++: C, languages that call C such as Python, Rust, Julia
 * and Fortran, and plug-ins of other runtimes. The header is C99, includes no other header of
 * Muster, and does not depend on the versions of Abseil, gRPC or the C++ library.
 *
 *   muster_job* job = NULL;
 *   muster_status* failed = muster_join(NULL, NULL, &job);  // with the options of the environment
 *   if (failed == NULL) failed = muster_barrier(muster_world(job), "loaded", NULL);
 *   if (failed == NULL) failed = muster_leave(job, NULL);
 *   if (failed != NULL) fprintf(stderr, "%s\n", muster_status_message(failed));
 *   int code = muster_status_exit_code(failed);
 *   muster_status_free(failed);
 *   muster_job_free(job);
 *   return code;
 *
 * Every function has a counterpart of the same name in muster/job.h, group.h, lease.h or
 * communicator.h, which documents its effect, when it blocks, and its errors. The world is a group.
 *
 * Errors: a function that can fail returns NULL on success, and otherwise a muster_status, which
 * the caller frees. After an error the function has written nothing through its pointers. NULL for
 * an argument that must not be NULL is INVALID_ARGUMENT. No exception leaves the library.
 *
 * Memory: the library frees the objects that it makes, by the muster_..._free() of their type,
 * which accepts NULL. Strings are UTF-8 and end in a zero byte. The library copies the strings that
 * it is passed. A string that it returns lives as long as the object that it belongs to. Groups and
 * leases may outlive their job; their functions then return CANCELLED.
 *
 * Threads: all functions may be called from any thread, but a group has one collective at a time. A
 * child of fork() cannot use its parent's job.
 *
 * Codes and enumerations are int32_t, because the size of an enum depends on the compiler.
 *
 * Stability: this header may grow, but does not change while the library is libmuster.so.0. Structs
 * begin with their size, so that programs compiled with an older header work with a newer library.
 * Opaque types are made and freed by the library. */

#include <stddef.h>
#include <stdint.h>

/* The version of this header. It grows with every addition. */
#define MUSTER_C_API_VERSION 7

#if defined(__GNUC__)
#define MUSTER_C_API __attribute__((visibility("default")))
#else
#define MUSTER_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque types. */
typedef struct muster_status muster_status;
typedef struct muster_options muster_options;
typedef struct muster_cancellation muster_cancellation;
typedef struct muster_job muster_job;
typedef struct muster_group muster_group;
typedef struct muster_lease muster_lease;
typedef struct muster_values muster_values;
typedef struct muster_subscription muster_subscription;
typedef struct muster_communicator muster_communicator;
typedef struct muster_pending muster_pending;

/* Returns the version of the library that runs, "0.1.0"; the program may be compiled with another.
 */
MUSTER_C_API const char* muster_version(void);

/* ---- Errors ------------------------------------------------------------------------------- */

/* The canonical codes of gRPC. */
typedef int32_t muster_code;
enum {
  MUSTER_OK = 0,
  MUSTER_CANCELLED = 1,
  MUSTER_UNKNOWN = 2,
  MUSTER_INVALID_ARGUMENT = 3,
  MUSTER_DEADLINE_EXCEEDED = 4,
  MUSTER_NOT_FOUND = 5,
  MUSTER_ALREADY_EXISTS = 6,
  MUSTER_PERMISSION_DENIED = 7,
  MUSTER_RESOURCE_EXHAUSTED = 8,
  MUSTER_FAILED_PRECONDITION = 9,
  MUSTER_ABORTED = 10,
  MUSTER_OUT_OF_RANGE = 11,
  MUSTER_UNIMPLEMENTED = 12,
  MUSTER_INTERNAL = 13,
  MUSTER_UNAVAILABLE = 14,
  MUSTER_DATA_LOSS = 15,
  MUSTER_UNAUTHENTICATED = 16
};

/* Returns the code of a status; MUSTER_OK for NULL. */
MUSTER_C_API muster_code muster_status_code(const muster_status* status);
/* Returns what happened, to which job, rank and node, and what to do next; empty for NULL. */
MUSTER_C_API const char* muster_status_message(const muster_status* status);
/* Returns the exit code that lets a scheduler blame the right process (docs/exit-codes.md); 0 for
 * NULL. */
MUSTER_C_API int muster_status_exit_code(const muster_status* status);
/* Returns the first rank that the error names: the lost member of an ABORTED, or the rank whose
 * work has failed. -1: the error names no rank. Does not block. */
MUSTER_C_API int muster_status_rank(const muster_status* status);
/* Return more about that rank; see ErrorFacts in muster/error_facts.h. Do not block. Its node, and
 * why it was lost, such as "killed by signal 9 (SIGKILL)"; empty if the error does not say, and for
 * NULL. */
MUSTER_C_API const char* muster_status_node(const muster_status* status);
MUSTER_C_API const char* muster_status_cause(const muster_status* status);
/* Its process id on its host. -1: the error does not say. */
MUSTER_C_API int64_t muster_status_pid(const muster_status* status);
/* Return the number of ranks that were lost, or that a time-out waited for, and the rank at this
 * index of their ascending list. -1: the index is out of range. */
MUSTER_C_API size_t muster_status_missing_count(const muster_status* status);
MUSTER_C_API int muster_status_missing_rank(const muster_status* status, size_t index);
/* Makes an error for the functions that muster_run_on_rank() and muster_start() call. The caller
 * frees it, or returns it to the library, which frees it. NULL for MUSTER_OK. A `code` that is no
 * muster_code becomes MUSTER_UNKNOWN. */
MUSTER_C_API muster_status* muster_status_new(muster_code code, const char* message);
/* Returns a copy of an error, with all that the functions above return of it. The caller frees it.
 * It outlives the callback that has got the error. NULL for NULL. */
MUSTER_C_API muster_status* muster_status_copy(const muster_status* status);
MUSTER_C_API void muster_status_free(muster_status* status);
/* Returns if `status` is NULL. Otherwise writes the rank and the error to standard error, writes
 * the termination reason, and ends the process with muster_status_exit_code(status). For programs
 * ported from MPI, which end on every error. Runs no atexit() function. See OrDie() in
 * muster/or_die.h. */
MUSTER_C_API void muster_or_die(const muster_status* status);

/* Writes the reason why the process ends where its scheduler reads it; see WriteTerminationReason()
 * in muster/exit_code.h. */
MUSTER_C_API void muster_write_termination_reason(const char* reason);

/* ---- The log ------------------------------------------------------------------------------ */

/* The severity of a line of the log: the values of MUSTER_LOG_LEVEL (docs/environment.md). */
typedef int32_t muster_log_level;
enum { MUSTER_LOG_DEBUG = 0, MUSTER_LOG_INFO = 1, MUSTER_LOG_WARNING = 2, MUSTER_LOG_ERROR = 3 };
/* Receives a line of the library's log, without its line end; `line` lives until it returns. The
 * library calls it from any thread, for one line at a time. It must not call the library. */
typedef void (*muster_log_sink)(void* context, muster_log_level level, const char* line);
/* Sends the log of the whole process to `sink`, which gets every line, whatever MUSTER_LOG_LEVEL
 * is. NULL restores the default, standard error. Blocks while a line is being written; afterwards
 * the earlier sink never runs again. */
MUSTER_C_API void muster_set_log_sink(muster_log_sink sink, void* context);

/* ---- Options of a job --------------------------------------------------------------------- */

/* A set of the variables of docs/environment.md, which say how a process joins its job. */

/* Makes options without any variable: serial mode, a job of this process alone. */
MUSTER_C_API muster_status* muster_options_new(muster_options** options);
/* Makes options with the variables of this process's environment. */
MUSTER_C_API muster_status* muster_options_from_environment(muster_options** options);
/* Sets one of Muster's variables, such as "MUSTER_COORDINATOR" to "host:port", or removes it
 * (NULL). Does not change the environment of the process. muster_join() checks the values.
 * INVALID_ARGUMENT: joining depends on no variable of this name. */
MUSTER_C_API muster_status* muster_options_set(muster_options* options, const char* variable,
                                               const char* value);
/* Return the rank and the local rank that these variables give, whether they are Muster's or
 * another launcher's (docs/environment.md). -1: they give none, or contradict each other. */
MUSTER_C_API int muster_options_rank(const muster_options* options);
MUSTER_C_API int muster_options_local_rank(const muster_options* options);
MUSTER_C_API void muster_options_free(muster_options* options);

/* ---- Options of a call -------------------------------------------------------------------- */

/* Makes an object that ends waiting calls from another thread; see Cancellation in
 * muster/call_options.h. It must outlive the calls that use it. */
MUSTER_C_API muster_status* muster_cancellation_new(muster_cancellation** cancellation);
/* Ends every call that uses the object with CANCELLED. Does not block. Not safe in a signal
 * handler. */
MUSTER_C_API void muster_cancel(muster_cancellation* cancellation);
MUSTER_C_API void muster_cancellation_free(muster_cancellation* cancellation);

/* Options of every call that can wait. NULL means MUSTER_CALL_OPTIONS without a line of the
 * program. */
typedef struct muster_call_options {
  size_t size;                       /* sizeof(muster_call_options) */
  int64_t timeout_ms;                /* negative: the job's default, MUSTER_TIMEOUT */
  muster_cancellation* cancellation; /* NULL: none */
  const char* file;                  /* the line of the call, which errors of all ranks show; */
  int32_t line;                      /* NULL: none */
  const char* type_name; /* of the bytes of ..._values() calls, see there. NULL: "bytes" */
  void* stream; /* a cudaStream_t, for communicators on GPUs. NULL: the legacy default stream */
} muster_call_options;

/* muster_call_options once = MUSTER_CALL_OPTIONS; */
#define MUSTER_CALL_OPTIONS \
  { sizeof(muster_call_options), -1, NULL, __FILE__, __LINE__, NULL, NULL }

/* ---- A job -------------------------------------------------------------------------------- */

/* Joins the job, and blocks until all members have joined. `options` NULL: the environment's. */
MUSTER_C_API muster_status* muster_join(const muster_options* options,
                                        muster_cancellation* cancellation, muster_job** job);
/* Ends this process's part in the job. Blocks until every member is leaving or lost. */
MUSTER_C_API muster_status* muster_leave(muster_job* job, const muster_call_options* options);
/* Ends the membership. Without a muster_leave() before it, the other members see this one as lost.
 */
MUSTER_C_API void muster_job_free(muster_job* job);

/* Return numbers of the job; see Job. -1: `job` is NULL. */
MUSTER_C_API int muster_rank(const muster_job* job);
MUSTER_C_API int muster_world_size(const muster_job* job);
MUSTER_C_API int muster_local_rank(const muster_job* job);
MUSTER_C_API int muster_local_world_size(const muster_job* job);
MUSTER_C_API int muster_node_rank(const muster_job* job);
MUSTER_C_API int muster_num_nodes(const muster_job* job);
/* Returns the node of a rank; valid until the next muster_rejoin(). NULL: there is no such rank. */
MUSTER_C_API const char* muster_node_id(const muster_job* job, int rank);
MUSTER_C_API const char* muster_job_id(const muster_job* job);
/* Returns 0 in serial mode, a job of this process alone without a coordinator, and 1 otherwise. */
MUSTER_C_API int muster_is_distributed(const muster_job* job);

/* A process of the job. */
typedef struct muster_member {
  size_t size;           /* sizeof(muster_member), set by the caller */
  int32_t rank;          /* in the world */
  int32_t local_rank;    /* among the processes of its node */
  int32_t node_rank;     /* of its node */
  int32_t previous_rank; /* in the previous epoch; -1 for newcomers and in the first epoch */
  int64_t pid;           /* on its host */
  const char* node_id;   /* the three strings are valid until the next muster_rejoin() */
  const char* hostname;  /* of its host */
  const char* topology;  /* "zone/rack/switch", or empty */
} muster_member;
/* muster_member member = MUSTER_MEMBER; */
#define MUSTER_MEMBER \
  { sizeof(muster_member), -1, -1, -1, -1, 0, NULL, NULL, NULL }
/* Fills `*member` with the member of that rank in the current epoch. Does not block.
 * INVALID_ARGUMENT: there is no such rank. */
MUSTER_C_API muster_status* muster_member_of(const muster_job* job, int rank,
                                             muster_member* member);

/* Returns NULL while no member is lost, and afterwards the error that calls end with. Does not
 * block. */
MUSTER_C_API muster_status* muster_health(const muster_job* job);
/* Blocks until muster_health() is an error, and returns it. Returns NULL after the time-out. */
MUSTER_C_API muster_status* muster_await_failure(const muster_job* job, int64_t timeout_ms);
/* Calls `callback` once, with the error of muster_health() as soon as it is known; with CANCELLED
 * if the job is freed before. Calls it from a thread of the library, or at once from this thread.
 * `status` lives until the callback returns. The callback must not block, and must not call the
 * job. The subscription is for the current epoch: subscribe again after muster_rejoin(). */
typedef void (*muster_failure_callback)(void* context, const muster_status* status);
MUSTER_C_API muster_status* muster_on_failure(const muster_job* job,
                                              muster_failure_callback callback, void* context,
                                              muster_subscription** subscription);
/* Ends the subscription. Blocks while the callback runs; afterwards it never runs again. May be
 * called after muster_job_free(). */
MUSTER_C_API void muster_subscription_free(muster_subscription* subscription);

/* Moves this process to the next epoch of an elastic job. Groups of the old epoch keep returning
 * its error; muster_world() then returns the new world. */
MUSTER_C_API muster_status* muster_rejoin(muster_job* job, const muster_call_options* options);
MUSTER_C_API uint64_t muster_epoch(const muster_job* job);
/* Returns the number of processes that wait for a place and would get one in the next epoch. -1:
 * `job` is NULL. Does not block. */
MUSTER_C_API int muster_newcomers_waiting(const muster_job* job);
/* Returns 1 if rank 0 is a survivor of an earlier epoch, which holds the job's state, and 0
 * otherwise. */
MUSTER_C_API int muster_resumed(const muster_job* job);

/* Asks all ranks to stop at the same step. muster_stop_requested() then returns 1, from the same
 * collective on at all ranks. */
MUSTER_C_API muster_status* muster_request_stop(muster_job* job,
                                                const muster_call_options* options);
MUSTER_C_API int muster_stop_requested(const muster_job* job);

/* ---- Groups ------------------------------------------------------------------------------- */

/* Returns the group of all ranks of the current epoch. The job owns it: do not free it. It lives
 * until muster_job_free(). */
MUSTER_C_API muster_group* muster_world(muster_job* job);
/* Makes a group of these ranks, in this order. All of them must call it with the same name and
 * list. Does not block. */
MUSTER_C_API muster_status* muster_group_new(muster_job* job, const char* name, const int* ranks,
                                             size_t count, muster_group** group);
/* Divides the world into groups by color; ranks of a group are ordered by key. `color` NULL: *group
 * becomes NULL. */
MUSTER_C_API muster_status* muster_split(muster_job* job, const int* color, int key,
                                         const muster_call_options* options, muster_group** group);
MUSTER_C_API void muster_group_free(muster_group* group);

/* Return the caller's index in the group, and the number of ranks. -1: `group` is NULL. */
MUSTER_C_API int muster_group_rank(const muster_group* group);
MUSTER_C_API int muster_group_size(const muster_group* group);
/* Returns the rank in the world of the member at an index of the group. -1: there is no such index.
 */
MUSTER_C_API int muster_group_member(const muster_group* group, int index);

/* ---- Collectives -------------------------------------------------------------------------- */

/* All ranks of `group` call the same collectives in the same order. muster_world(job) is the group
 * of all ranks of the job. Data travels through the coordinator, so it should be small. `root` is
 * an index into the group. */

/* Blocks until all ranks have called it. `label` says what the program is doing, and errors show
 * it; NULL: none. */
MUSTER_C_API muster_status* muster_barrier(muster_group* group, const char* label,
                                           const muster_call_options* options);

/* Collectives of known size. `size` must be the same on all ranks; otherwise FAILED_PRECONDITION
 * names both sides. */

/* Copies the root's `size` bytes into `data` on every rank; an ncclUniqueId, for instance. */
MUSTER_C_API muster_status* muster_broadcast(muster_group* group, void* data, size_t size, int root,
                                             const muster_call_options* options);
/* Write the `size` bytes of every rank into `all`, one after another in the group's order: at the
 * root only, or on every rank. `all` has room for the bytes of all ranks and does not overlap
 * `mine`; in a gather it may be NULL on ranks other than the root. */
MUSTER_C_API muster_status* muster_gather(muster_group* group, const void* mine, size_t size,
                                          void* all, int root, const muster_call_options* options);
MUSTER_C_API muster_status* muster_all_gather(muster_group* group, const void* mine, size_t size,
                                              void* all, const muster_call_options* options);

/* The element types and operations of reductions. muster_all_reduce() combines the numbers of all
 * ranks, in place; see Group::AllReduce(). */
typedef int32_t muster_type;
enum {
  MUSTER_BOOL = 0, /* one byte, 0 or 1 */
  MUSTER_UINT8 = 1,
  MUSTER_INT8 = 2,
  MUSTER_UINT16 = 3,
  MUSTER_INT16 = 4,
  MUSTER_UINT32 = 5,
  MUSTER_INT32 = 6,
  MUSTER_UINT64 = 7,
  MUSTER_INT64 = 8,
  MUSTER_FLOAT32 = 9,
  MUSTER_FLOAT64 = 10
};
typedef int32_t muster_op;
enum {
  MUSTER_SUM = 0,
  MUSTER_PRODUCT = 1,
  MUSTER_MIN = 2,
  MUSTER_MAX = 3,
  MUSTER_AVERAGE = 4,
  MUSTER_BITWISE_AND = 5,
  MUSTER_BITWISE_OR = 6
};
MUSTER_C_API muster_status* muster_all_reduce(muster_group* group, void* data, size_t count,
                                              muster_type type, muster_op op,
                                              const muster_call_options* options);

/* Collectives of values of unknown size. They return a muster_values, which the caller frees.
 * muster_call_options.type_name must be the same on all ranks; otherwise FAILED_PRECONDITION names
 * both sides. */
MUSTER_C_API muster_status* muster_broadcast_values(muster_group* group, const void* data,
                                                    size_t size, int root,
                                                    const muster_call_options* options,
                                                    muster_values** value);
MUSTER_C_API muster_status* muster_gather_values(muster_group* group, const void* data, size_t size,
                                                 int root, const muster_call_options* options,
                                                 muster_values** values);
MUSTER_C_API muster_status* muster_all_gather_values(muster_group* group, const void* data,
                                                     size_t size,
                                                     const muster_call_options* options,
                                                     muster_values** values);
/* Returns the number of values: 1 for a broadcast; 0 for a gather on ranks other than the root. */
MUSTER_C_API size_t muster_values_count(const muster_values* values);
/* Returns the bytes of a value, and their number in `*size` (`size` may be NULL). A zero byte
 * follows, which is not counted. NULL: there is no such value. */
MUSTER_C_API const void* muster_values_get(const muster_values* values, size_t index, size_t* size);
MUSTER_C_API void muster_values_free(muster_values* values);

/* ---- Work of one rank for all ------------------------------------------------------------- */

/* Does the work. Passes its value to muster_values_set() and returns NULL, or returns an error,
 * which the library frees. Runs in the thread that has called muster_run_on_rank(). Meanwhile
 * collectives of this thread return its own value at once: see PreventBlock in muster/scopes.h. */
typedef muster_status* (*muster_work)(void* context, muster_values* value);
/* Sets the value of the work. A later call replaces it. Without a call the value is empty. */
MUSTER_C_API muster_status* muster_values_set(muster_values* value, const void* data, size_t size);
/* Runs `work` on one rank. Every rank gets its value, or its error with the name of that rank. A
 * collective of the world. The other ranks wait as long as that rank lives, or for
 * options->timeout_ms. `work` may be NULL on the other ranks. */
MUSTER_C_API muster_status* muster_run_on_rank(muster_job* job, int rank, muster_work work,
                                               void* context, const muster_call_options* options,
                                               muster_values** value);

/* ---- The store ---------------------------------------------------------------------------- */

/* Keys and values that all processes of the job share: see muster/store.h. Keys, values and
 * elements are any bytes, passed with their number. Bytes that a call returns are the only value of
 * a muster_values, which the caller frees. All calls but muster_store_watch() block until the
 * coordinator has answered. */
MUSTER_C_API muster_status* muster_store_set(muster_job* job, const void* key, size_t key_size,
                                             const void* value, size_t size,
                                             const muster_call_options* options);
/* Blocks until the key has a value. */
MUSTER_C_API muster_status* muster_store_get(muster_job* job, const void* key, size_t key_size,
                                             const muster_call_options* options,
                                             muster_values** value);
/* Blocks until all `count` keys exist at the same time. */
MUSTER_C_API muster_status* muster_store_wait(muster_job* job, const void* const* keys,
                                              const size_t* key_sizes, size_t count,
                                              const muster_call_options* options);
/* Adds to the number that the key holds, and stores the sum in `*sum`. */
MUSTER_C_API muster_status* muster_store_add(muster_job* job, const void* key, size_t key_size,
                                             int64_t amount, const muster_call_options* options,
                                             int64_t* sum);
/* Gives the key the value `desired` if it has the value `expected`, or, if `expected` is NULL, if
 * the key does not exist. Stores in `*changed` whether it did (1 or 0). Stores in `*value` what the
 * key has afterwards, without a value if it does not exist; `value` may be NULL. */
MUSTER_C_API muster_status* muster_store_compare_and_set(muster_job* job, const void* key,
                                                         size_t key_size, const void* expected,
                                                         size_t expected_size, const void* desired,
                                                         size_t desired_size,
                                                         const muster_call_options* options,
                                                         int* changed, muster_values** value);
/* Appends to the value, and stores its length in `*length`. */
MUSTER_C_API muster_status* muster_store_append(muster_job* job, const void* key, size_t key_size,
                                                const void* value, size_t size,
                                                const muster_call_options* options,
                                                int64_t* length);
/* Deletes the key, and stores in `*existed` whether it existed (1 or 0). */
MUSTER_C_API muster_status* muster_store_delete(muster_job* job, const void* key, size_t key_size,
                                                const muster_call_options* options, int* existed);
/* Returns the keys that begin with the prefix, or their number. */
MUSTER_C_API muster_status* muster_store_list(muster_job* job, const void* prefix,
                                              size_t prefix_size,
                                              const muster_call_options* options,
                                              muster_values** keys);
MUSTER_C_API muster_status* muster_store_count(muster_job* job, const void* prefix,
                                               size_t prefix_size,
                                               const muster_call_options* options, int64_t* count);
/* Appends an element to the queue, and stores the number of its elements in `*length`. */
MUSTER_C_API muster_status* muster_store_push(muster_job* job, const void* key, size_t key_size,
                                              const void* element, size_t size,
                                              const muster_call_options* options, int64_t* length);
/* Removes and returns the first element of the queue. Blocks until there is one. */
MUSTER_C_API muster_status* muster_store_pop(muster_job* job, const void* key, size_t key_size,
                                             const muster_call_options* options,
                                             muster_values** element);
MUSTER_C_API muster_status* muster_store_length(muster_job* job, const void* key, size_t key_size,
                                                const muster_call_options* options,
                                                int64_t* length);
/* Arrives at the barrier, and blocks until `count` arrivals have come since the last round was
 * complete. Stores the arrival's place in its round, from 1, in `*place`; `place` may be NULL. */
MUSTER_C_API muster_status* muster_store_barrier(muster_job* job, const void* key, size_t key_size,
                                                 int64_t count, const muster_call_options* options,
                                                 int64_t* place);

/* Kinds of content of a key. */
typedef int32_t muster_store_kind;
enum {
  MUSTER_STORE_VALUE = 0,
  MUSTER_STORE_QUEUE = 1,
  MUSTER_STORE_BARRIER = 2,
  MUSTER_STORE_DELETED = 3
};
/* A change below a watched prefix. It may stand for several changes of its key. */
typedef struct muster_store_event {
  size_t size;            /* sizeof(muster_store_event) in the library */
  const void* key;        /* the key that has changed */
  size_t key_size;        /* its bytes */
  const void* value;      /* of MUSTER_STORE_VALUE */
  size_t value_size;      /* its bytes */
  uint64_t count;         /* the elements of a queue, or the arrivals in a barrier's latest round */
  muster_store_kind kind; /* what the key holds now */
} muster_store_event;
/* One of `event` and `error` is NULL. Both live until the callback returns. */
typedef void (*muster_store_callback)(void* context, const muster_store_event* event,
                                      const muster_status* error);
/* Calls `callback` for each existing key that begins with the prefix, and then after each change of
 * such a key, until the subscription is freed. An error is the last call: MUSTER_ABORTED,
 * MUSTER_CANCELLED when the job has left or is freed, or an error of the prefix. Calls it from a
 * thread of the library, which serves all watches of the job. The callback may call the store. Does
 * not block. */
MUSTER_C_API muster_status* muster_store_watch(muster_job* job, const void* prefix,
                                               size_t prefix_size, muster_store_callback callback,
                                               void* context, muster_subscription** subscription);

/* ---- Leases ------------------------------------------------------------------------------- */

/* How often the work of a lease is done. */
typedef int32_t muster_lease_scope;
enum { MUSTER_ONCE_PER_NODE = 0, MUSTER_ONCE_PER_JOB = 1 };

/* Blocks until this process holds the lease and must do the work, or another process has done it.
 */
MUSTER_C_API muster_status* muster_acquire_lease(muster_job* job, const char* name,
                                                 muster_lease_scope scope,
                                                 const muster_call_options* options,
                                                 muster_lease** lease);
/* Returns 1 if the caller holds the lease and must do the work, and 0 otherwise. */
MUSTER_C_API int muster_lease_held(const muster_lease* lease);
/* Returns the fencing token. Write it beside the output of the work, and never replace output that
 * has a higher token. */
MUSTER_C_API uint64_t muster_lease_token(const muster_lease* lease);
/* Returns the outcome of another process: its bytes, which live as long as the lease, or the error
 * that its work failed with. */
MUSTER_C_API muster_status* muster_lease_result(const muster_lease* lease, const void** data,
                                                size_t* size);
/* Publish the outcome of the work to all processes that wait for it or ask later. */
MUSTER_C_API muster_status* muster_lease_complete(muster_lease* lease, const void* data,
                                                  size_t size);
MUSTER_C_API muster_status* muster_lease_fail(muster_lease* lease, muster_code code,
                                              const char* why);
/* Releases a held lease without an outcome: the next process that asks does the work. */
MUSTER_C_API void muster_lease_release(muster_lease* lease);
/* Frees the lease. If it is still held, releases it and logs a warning. */
MUSTER_C_API void muster_lease_free(muster_lease* lease);

/* ---- Communicators ------------------------------------------------------------------------ */

/* More values of muster_type, which communicators move and muster_all_reduce() does not. A backend
 * returns UNIMPLEMENTED for an operation that it does not support. */
enum {
  MUSTER_FLOAT8_E4M3 = 11, /* OCP 8-bit floats */
  MUSTER_FLOAT8_E5M2 = 12,
  MUSTER_FLOAT16 = 13, /* IEEE half precision */
  MUSTER_BFLOAT16 = 14 /* the upper half of a float32 */
};

/* A communicator moves arrays from rank to rank: see muster/communicator.h. Counts are numbers of
 * elements. Make one call at a time: a call from a second thread is FAILED_PRECONDITION. After
 * ABORTED, DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE or INTERNAL the communicator is finished,
 * because a peer may have received a part of the data. Later calls return the same error.
 *
 * With the backend "nccl", an array may be in the memory of this process's GPU, or in host memory,
 * which is copied. With other backends it must be in host memory.
 *
 *   muster_communicator_new(muster_world(job), "nccl", NULL, NULL, &communicator);
 *   cudaMalloc(&gradients, count * sizeof(float));  // on this rank's GPU, which is current now
 *   muster_call_options options = MUSTER_CALL_OPTIONS;
 *   options.stream = stream;  // where a kernel computes the gradients
 *   failed = muster_communicator_all_reduce(communicator, gradients, gradients, count,
 *                                           MUSTER_FLOAT32, MUSTER_AVERAGE, &options);
 *
 * An operation on a GPU runs after the work that is on options->stream at the time of the call. The
 * legacy default stream waits for all ordinary streams. Name the stream if it was made with
 * cudaStreamNonBlocking or is a per-thread default stream. When the operation returns, its result
 * is visible to the host and to all later work on any stream. muster_start() overlaps operations
 * with other work of the host. */

/* Makes a communicator over the group, whose ranks must all call it. Blocks until this rank is
 * connected to all others. `backend`: "gloo", "nccl", or another backend that is linked; NULL:
 * MUSTER_BACKEND, or else the best one, which is "nccl" on a machine with GPUs, CUDA and NCCL.
 * "nccl" makes this rank's GPU current on the calling thread, as cudaSetDevice() does: the only
 * visible GPU, or else the GPU whose index is the local rank. FAILED_PRECONDITION, if it cannot be
 * used: says what is missing. `interface_name`: the IP address or network interface that peers
 * connect to; NULL: MUSTER_INTERFACE, or else the address from which this process reaches the
 * coordinator. "nccl" does not use it. options->timeout_ms becomes the default time-out of all
 * operations. */
MUSTER_C_API muster_status* muster_communicator_new(muster_group* group, const char* backend,
                                                    const char* interface_name,
                                                    const muster_call_options* options,
                                                    muster_communicator** communicator);
/* Tells the peers that this rank ends the communicator, and frees it. May be called after
 * muster_job_free(), which ends it too. */
MUSTER_C_API void muster_communicator_free(muster_communicator* communicator);
/* Return the caller's index in the group, and the number of ranks. -1: `communicator` is NULL. */
MUSTER_C_API int muster_communicator_rank(const muster_communicator* communicator);
MUSTER_C_API int muster_communicator_size(const muster_communicator* communicator);
/* Returns "gloo" or "nccl". In a group of one rank, returns "serial" instead of "gloo". NULL:
 * `communicator` is NULL. */
MUSTER_C_API const char* muster_communicator_backend(const muster_communicator* communicator);

/* Combines the arrays `in` of all ranks by `op`, and writes the result to `out` on every rank. Both
 * have `count` elements; they are the same array or do not overlap. */
MUSTER_C_API muster_status* muster_communicator_all_reduce(muster_communicator* communicator,
                                                           const void* in, void* out, size_t count,
                                                           muster_type type, muster_op op,
                                                           const muster_call_options* options);
/* Combines several arrays of all ranks by `op`, in place, such as the gradients of a model. Array i
 * has counts[i] elements of types[i]. For each type, takes one launch of NCCL or one pass of Gloo,
 * and not one for each array. All ranks pass as many arrays, with the same counts and types. */
MUSTER_C_API muster_status* muster_communicator_all_reduce_coalesced(
    muster_communicator* communicator, void* const* arrays, const size_t* counts,
    const muster_type* types, size_t array_count, muster_op op, const muster_call_options* options);
/* Copies the root's `data` into `data` on every rank. */
MUSTER_C_API muster_status* muster_communicator_broadcast(muster_communicator* communicator,
                                                          void* data, size_t count,
                                                          muster_type type, int root,
                                                          const muster_call_options* options);
/* Combines the arrays `in` of all ranks by `op`, and writes the result to `out` at the root. `out`
 * may be NULL on other ranks. */
MUSTER_C_API muster_status* muster_communicator_reduce(muster_communicator* communicator,
                                                       const void* in, void* out, size_t count,
                                                       muster_type type, muster_op op, int root,
                                                       const muster_call_options* options);
/* Writes the arrays `in` of all ranks, of `count` elements each, to `out` in rank order. `out` has
 * size * count elements. */
MUSTER_C_API muster_status* muster_communicator_all_gather(muster_communicator* communicator,
                                                           const void* in, void* out, size_t count,
                                                           muster_type type,
                                                           const muster_call_options* options);
/* Does the same with counts[i] elements of rank i. `counts` is the same on all ranks. */
MUSTER_C_API muster_status* muster_communicator_all_gather_uneven(
    muster_communicator* communicator, const void* in, void* out, const size_t* counts,
    muster_type type, const muster_call_options* options);
/* Combines the arrays `in` of all ranks by `op`, and writes this rank's part of the result to
 * `out`. `out` has `count` elements, and `in` has size * count. */
MUSTER_C_API muster_status* muster_communicator_reduce_scatter(muster_communicator* communicator,
                                                               const void* in, void* out,
                                                               size_t count, muster_type type,
                                                               muster_op op,
                                                               const muster_call_options* options);
/* Sends part i of `in` to rank i, and receives part i of `out` from rank i. Each part has `count`
 * elements. `in` and `out` do not overlap. */
MUSTER_C_API muster_status* muster_communicator_all_to_all(muster_communicator* communicator,
                                                           const void* in, void* out, size_t count,
                                                           muster_type type,
                                                           const muster_call_options* options);
/* Send to a rank, and receive from one. Sends and receives between two ranks match in order. A send
 * may block until the peer receives. */
MUSTER_C_API muster_status* muster_communicator_send(muster_communicator* communicator,
                                                     const void* data, size_t count,
                                                     muster_type type, int peer,
                                                     const muster_call_options* options);
MUSTER_C_API muster_status* muster_communicator_recv(muster_communicator* communicator, void* data,
                                                     size_t count, muster_type type, int peer,
                                                     const muster_call_options* options);
/* Sends and receives at the same time, so that all ranks of a ring may call it. */
MUSTER_C_API muster_status* muster_communicator_send_recv(muster_communicator* communicator,
                                                          const void* out, size_t out_count, int to,
                                                          void* in, size_t in_count, int from,
                                                          muster_type type,
                                                          const muster_call_options* options);
/* Blocks until all ranks have called it. Does not use the coordinator. */
MUSTER_C_API muster_status* muster_communicator_barrier(muster_communicator* communicator,
                                                        const muster_call_options* options);

/* ---- Calls that do not block -------------------------------------------------------------- */

/* Makes calls of this header, which a muster_cancellation can end. Returns NULL, or an error, which
 * the library frees. */
typedef muster_status* (*muster_calls)(void* context);
/* Runs `calls` on a thread of its own and returns at once, for programs with an event loop, or that
 * wait for signals:
 *
 *   muster_start(step, &step_context, &pending);
 *   struct pollfd ready[] = {{muster_pending_fd(pending), POLLIN, 0}, {signals, POLLIN, 0}};
 *   poll(ready, 2, -1);
 *   if (ready[1].revents != 0) muster_cancel(step_context.cancellation);
 *   failed = muster_pending_wait(pending);
 *
 * RESOURCE_EXHAUSTED: the process cannot get another thread or descriptor; `calls` has not run. */
MUSTER_C_API muster_status* muster_start(muster_calls calls, void* context,
                                         muster_pending** pending);
/* Returns a descriptor that becomes readable when the calls have ended, and stays so until
 * muster_pending_free(). Do not read or close it. -1: `pending` is NULL. */
MUSTER_C_API int muster_pending_fd(const muster_pending* pending);
/* Returns 1 if the calls have ended, and 0 otherwise. Does not block. */
MUSTER_C_API int muster_pending_done(const muster_pending* pending);
/* Blocks until the calls have ended, and returns their status, which the caller frees. May be
 * called any number of times. Returns FAILED_PRECONDITION at once in a child of fork(), where the
 * calls never end. */
MUSTER_C_API muster_status* muster_pending_wait(muster_pending* pending);
/* Blocks until the calls have ended, and frees the object. */
MUSTER_C_API void muster_pending_free(muster_pending* pending);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MUSTER_C_H_ */
