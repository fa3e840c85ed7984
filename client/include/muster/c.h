#ifndef MUSTER_C_H_
#define MUSTER_C_H_

/* The SDK for programs that are not in C++: C, and what can call it, as Python, Rust, Julia and
 * Fortran can, and plug-ins that other runtimes load. C99, no other header of Muster's, and nothing
 * in it that depends on the versions of Abseil, gRPC or the C++ library.
 *
 *   muster_job *job = NULL;
 *   muster_status *failed = muster_join(NULL, NULL, &job);        // as the environment says
 *   if (failed == NULL) failed = muster_barrier(muster_world(job), "loaded", NULL);
 *   if (failed == NULL) failed = muster_leave(job, NULL);
 *   if (failed != NULL) fprintf(stderr, "%s\n", muster_status_message(failed));
 *   int code = muster_status_exit_code(failed);
 *   muster_status_free(failed);
 *   muster_job_free(job);
 *   return code;
 *
 * Every call does what its namesake in muster/job.h, group.h or lease.h does, blocks when that
 * blocks, and fails as that fails; what is said there holds here. A world is a group.
 *
 * Errors: a call that can fail returns NULL when it has not, and otherwise a muster_status, which
 * the caller frees. Then what it would have written through its pointers is left as it was. An
 * argument that must not be NULL and is, is INVALID_ARGUMENT. No exception leaves the library.
 *
 * Memory: what the library makes it also frees, by the muster_..._free() of its type, which takes
 * NULL too. Strings are UTF-8 and end in a zero byte; those that are passed in are copied, and
 * those that are returned live as long as what they were asked of. A group and a lease may outlive
 * their job, and return CANCELLED from then on.
 *
 * Threads: any; one collective at a time per group. A process that has called fork() cannot use a
 * job that it had before.
 *
 * Numbers that stand for something, as error codes do, are int32_t, with names for their values:
 * how large an enum is depends on the compiler.
 *
 * Stability: what is here stays as it is for as long as the library is libmuster.so.0, and may
 * grow. Structs begin with their size, so that a program which was compiled with an older header
 * works with a newer library; types whose contents are not shown are made and freed by the library.
 */

#include <stddef.h>
#include <stdint.h>

/* Grows with every addition to this header. */
#define MUSTER_C_API_VERSION 3

#if defined(__GNUC__)
#define MUSTER_C_API __attribute__((visibility("default")))
#else
#define MUSTER_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What calls make and take; their contents are not shown. */
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

/* The version of the library, "0.1.0": that which runs, not that which was compiled against. */
MUSTER_C_API const char* muster_version(void);

/* ---- Errors ------------------------------------------------------------------------------- */

/* gRPC's canonical codes. */
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

/* NULL is success: MUSTER_OK, an empty message, and the exit code 0. */
MUSTER_C_API muster_code muster_status_code(const muster_status* status);
/* What happened, to whom, and what to do next. */
MUSTER_C_API const char* muster_status_message(const muster_status* status);
/* What the process should exit with, so that a scheduler blames the right one: docs/exit-codes.md.
 */
MUSTER_C_API int muster_status_exit_code(const muster_status* status);
/* The rank that the error names first: the lost member of an ABORTED, or the rank whose work has
 * failed. -1 where the error names no rank. Does not block. */
MUSTER_C_API int muster_status_rank(const muster_status* status);
/* An error of the program's own, for muster_run_on_rank() and muster_start(); the caller, or the
 * library where it is returned to it, frees it. NULL for MUSTER_OK. A `code` that is no muster_code
 * becomes MUSTER_UNKNOWN. */
MUSTER_C_API muster_status* muster_status_new(muster_code code, const char* message);
MUSTER_C_API void muster_status_free(muster_status* status);
/* Returns if `status` is NULL. Otherwise writes the rank and the error to standard error, and the
 * termination reason, and ends the process with muster_status_exit_code(status): what a program
 * ported from MPI does with every error. No atexit() function runs. See OrDie() in muster/or_die.h.
 */
MUSTER_C_API void muster_or_die(const muster_status* status);

/* Writes why the process ends where its scheduler looks for it; see WriteTerminationReason() in
 * muster/exit_code.h. */
MUSTER_C_API void muster_write_termination_reason(const char* reason);

/* ---- The log ------------------------------------------------------------------------------ */

/* How much a line of the log matters; the values of MUSTER_LOG_LEVEL (docs/environment.md). */
typedef int32_t muster_log_level;
enum { MUSTER_LOG_DEBUG = 0, MUSTER_LOG_INFO = 1, MUSTER_LOG_WARNING = 2, MUSTER_LOG_ERROR = 3 };
/* Receives one line of the library's log, without a line end; `line` lives until it returns. Runs
 * on any thread, one line at a time. Must not call the library. */
typedef void (*muster_log_sink)(void* context, muster_log_level level, const char* line);
/* Sends the log of the whole process to `sink`, which gets every line whatever MUSTER_LOG_LEVEL
 * says. NULL: to standard error, as at the start. When this returns the earlier sink is not running
 * and never will. Any thread; blocks while a line is being written. */
MUSTER_C_API void muster_set_log_sink(muster_log_sink sink, void* context);

/* ---- Options of a job --------------------------------------------------------------------- */

/* A set of variables: those of docs/environment.md, which say how a process joins its job. */

/* None: serial mode, a job of this one process. */
MUSTER_C_API muster_status* muster_options_new(muster_options** options);
/* Those of this process. */
MUSTER_C_API muster_status* muster_options_from_environment(muster_options** options);
/* Sets one of Muster's own, "MUSTER_COORDINATOR" to "host:port" for instance, or takes it away
 * (NULL); not in the environment of the process. INVALID_ARGUMENT: joining depends on no variable
 * of that name. Values are checked by muster_join(). */
MUSTER_C_API muster_status* muster_options_set(muster_options* options, const char* variable,
                                               const char* value);
/* The rank and the local rank that these variables say, be they Muster's or another launcher's
 * (docs/environment.md); -1 where they say none, or contradict each other. */
MUSTER_C_API int muster_options_rank(const muster_options* options);
MUSTER_C_API int muster_options_local_rank(const muster_options* options);
MUSTER_C_API void muster_options_free(muster_options* options);

/* ---- Options of a call -------------------------------------------------------------------- */

/* Ends waiting calls from another thread; see Cancellation in muster/call_options.h. Must outlive
 * the calls that it was given to. */
MUSTER_C_API muster_status* muster_cancellation_new(muster_cancellation** cancellation);
/* Does not block. For signal handlers it is not. */
MUSTER_C_API void muster_cancel(muster_cancellation* cancellation);
MUSTER_C_API void muster_cancellation_free(muster_cancellation* cancellation);

/* Taken by every call that can wait; NULL there is what MUSTER_CALL_OPTIONS makes, without a line
 * of the program. */
typedef struct muster_call_options {
  size_t size;                       /* sizeof(muster_call_options) */
  int64_t timeout_ms;                /* negative: that of the job, MUSTER_TIMEOUT */
  muster_cancellation* cancellation; /* NULL: none */
  const char* file;                  /* the line of the call, for the messages of all ranks; */
  int32_t line;                      /* NULL: none */
  const char* type_name; /* of what ..._values() calls carry; see there. NULL: "bytes" */
} muster_call_options;

/* muster_call_options once = MUSTER_CALL_OPTIONS; */
#define MUSTER_CALL_OPTIONS \
  { sizeof(muster_call_options), -1, NULL, __FILE__, __LINE__, NULL }

/* ---- A job -------------------------------------------------------------------------------- */

/* Joins, and blocks until all members have. `options` NULL: those of the environment. */
MUSTER_C_API muster_status* muster_join(const muster_options* options,
                                        muster_cancellation* cancellation, muster_job** job);
/* Says that this process needs nothing more, and blocks until every member does, or is lost. */
MUSTER_C_API muster_status* muster_leave(muster_job* job, const muster_call_options* options);
/* Without muster_leave() before it, the other members see this one as lost. */
MUSTER_C_API void muster_job_free(muster_job* job);

/* These are -1 where `job` is NULL. */
MUSTER_C_API int muster_rank(const muster_job* job);
MUSTER_C_API int muster_world_size(const muster_job* job);
MUSTER_C_API int muster_local_rank(const muster_job* job);
MUSTER_C_API int muster_local_world_size(const muster_job* job);
MUSTER_C_API int muster_node_rank(const muster_job* job);
MUSTER_C_API int muster_num_nodes(const muster_job* job);
/* The node of a rank, until the next muster_rejoin(). NULL where there is no such rank. */
MUSTER_C_API const char* muster_node_id(const muster_job* job, int rank);
MUSTER_C_API const char* muster_job_id(const muster_job* job);
/* 0 in serial mode, a job of this one process without a coordinator; else 1. */
MUSTER_C_API int muster_is_distributed(const muster_job* job);

/* A process of the job, as every process sees it. */
typedef struct muster_member {
  size_t size;           /* sizeof(muster_member), set by the caller */
  int32_t rank;          /* in the world */
  int32_t local_rank;    /* among the processes of its node */
  int32_t node_rank;     /* of its node */
  int32_t previous_rank; /* in the epoch before; -1 of a newcomer, and of all in the first epoch */
  int64_t pid;           /* on its host */
  const char* node_id;   /* these three live as long as what muster_node_id() returns */
  const char* hostname;  /* the name of its host */
  const char* topology;  /* "zone/rack/switch"; empty where nothing was said */
} muster_member;
/* muster_member member = MUSTER_MEMBER; */
#define MUSTER_MEMBER \
  { sizeof(muster_member), -1, -1, -1, -1, 0, NULL, NULL, NULL }
/* Fills `*member` with the member of that rank in the current epoch. Does not block.
 * INVALID_ARGUMENT: there is no such rank. */
MUSTER_C_API muster_status* muster_member_of(const muster_job* job, int rank,
                                             muster_member* member);

/* NULL while every member is there; afterwards the error that calls end with. Does not block. */
MUSTER_C_API muster_status* muster_health(const muster_job* job);
/* Blocks until muster_health() is an error and returns it, or NULL after the time-out. */
MUSTER_C_API muster_status* muster_await_failure(const muster_job* job, int64_t timeout_ms);
/* Calls `callback` once, with the error that muster_health() then is, or CANCELLED where the job is
 * freed first: from a thread of the library, or at once in this one. `status` lives until the
 * callback returns. The callback must not block, nor call the job. Of the current epoch: subscribe
 * again after muster_rejoin(). */
typedef void (*muster_failure_callback)(void* context, const muster_status* status);
MUSTER_C_API muster_status* muster_on_failure(const muster_job* job,
                                              muster_failure_callback callback, void* context,
                                              muster_subscription** subscription);
/* When this returns the callback is not running and never will. Before or after
 * muster_job_free(). */
MUSTER_C_API void muster_subscription_free(muster_subscription* subscription);

/* Leads into the next epoch of an elastic job. Groups from before keep returning the error of their
 * epoch; muster_world() is then another one. */
MUSTER_C_API muster_status* muster_rejoin(muster_job* job, const muster_call_options* options);
MUSTER_C_API uint64_t muster_epoch(const muster_job* job);
/* How many processes wait for a place that the next epoch has for them. Does not block. -1 where
 * `job` is NULL. */
MUSTER_C_API int muster_newcomers_waiting(const muster_job* job);
/* 1 where rank 0 is a survivor of an earlier epoch, which holds the job's state, else 0. */
MUSTER_C_API int muster_resumed(const muster_job* job);

/* Asks all ranks to stop at one step; and 1 where they have been asked, at the same collective on
 * all of them, else 0. */
MUSTER_C_API muster_status* muster_request_stop(muster_job* job,
                                                const muster_call_options* options);
MUSTER_C_API int muster_stop_requested(const muster_job* job);

/* ---- Groups ------------------------------------------------------------------------------- */

/* All ranks of the current epoch. Belongs to the job: lives until muster_job_free(), and is not to
 * be freed. */
MUSTER_C_API muster_group* muster_world(muster_job* job);
/* A group of some ranks, in that order, which all of them must create alike. Does not block. */
MUSTER_C_API muster_status* muster_group_new(muster_job* job, const char* name, const int* ranks,
                                             size_t count, muster_group** group);
/* Divides the world by color, in the order of the keys. `color` NULL: *group becomes NULL. */
MUSTER_C_API muster_status* muster_split(muster_job* job, const int* color, int key,
                                         const muster_call_options* options, muster_group** group);
MUSTER_C_API void muster_group_free(muster_group* group);

/* The caller's index in the group, and the number of its ranks; -1 where `group` is NULL. */
MUSTER_C_API int muster_group_rank(const muster_group* group);
MUSTER_C_API int muster_group_size(const muster_group* group);
/* The world's rank of the member at an index of the group. -1 where there is no such index. */
MUSTER_C_API int muster_group_member(const muster_group* group, int index);

/* ---- Collectives -------------------------------------------------------------------------- */

/* `group`: which all ranks of call in the same order; muster_world(job) for all ranks of the job.
 * Small objects: they travel through the coordinator. `root` is an index into the group. */

/* Waits for all. `label` says what the program is doing, and stands in every error; NULL: none. */
MUSTER_C_API muster_status* muster_barrier(muster_group* group, const char* label,
                                           const muster_call_options* options);

/* Those whose sizes are known: `size` is the same on every rank, else FAILED_PRECONDITION names the
 * two sides. */

/* The root's `size` bytes, into `data` on every rank. An ncclUniqueId goes like this. */
MUSTER_C_API muster_status* muster_broadcast(muster_group* group, void* data, size_t size, int root,
                                             const muster_call_options* options);
/* Every rank's `size` bytes, one after another in the group's order, into `all`, which has room for
 * as many as there are ranks: at the root, where elsewhere `all` may be NULL; and on every rank.
 * `mine` is not in `all`. */
MUSTER_C_API muster_status* muster_gather(muster_group* group, const void* mine, size_t size,
                                          void* all, int root, const muster_call_options* options);
MUSTER_C_API muster_status* muster_all_gather(muster_group* group, const void* mine, size_t size,
                                              void* all, const muster_call_options* options);

/* Numbers, each of all ranks made into one, in place; see Group::AllReduce(). */
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

/* Those whose sizes are not: the values come back in a muster_values, which the caller frees.
 * muster_call_options.type_name says what the bytes are, and is the same on every rank, else
 * FAILED_PRECONDITION names the two sides. */
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
/* One of a broadcast; of a gather, at other ranks than the root, none. */
MUSTER_C_API size_t muster_values_count(const muster_values* values);
/* The bytes of a value, and how many there are (`size` may be NULL). A zero byte, which does not
 * count, follows them. NULL where there is no such value. */
MUSTER_C_API const void* muster_values_get(const muster_values* values, size_t index, size_t* size);
MUSTER_C_API void muster_values_free(muster_values* values);

/* ---- Work of one rank for all ------------------------------------------------------------- */

/* Does the work: returns NULL, having given its value to muster_values_set(), or an error, which
 * the library frees. Runs in the thread that has called muster_run_on_rank(). While it runs, the
 * thread's collectives return at once with its own value: see PreventBlock in muster/scopes.h. */
typedef muster_status* (*muster_work)(void* context, muster_values* value);
/* Gives the work's value; a later call replaces it. Without a call the value is empty. */
MUSTER_C_API muster_status* muster_values_set(muster_values* value, const void* data, size_t size);
/* Runs `work` on that rank, and gives its one value, or its error with the name of the rank, to all
 * ranks. A collective of the world. The other ranks wait for as long as that rank lives, or for
 * options->timeout_ms. `work` may be NULL on the other ranks. */
MUSTER_C_API muster_status* muster_run_on_rank(muster_job* job, int rank, muster_work work,
                                               void* context, const muster_call_options* options,
                                               muster_values** value);

/* ---- Leases ------------------------------------------------------------------------------- */

/* Whose work a lease is. */
typedef int32_t muster_lease_scope;
enum { MUSTER_ONCE_PER_NODE = 0, MUSTER_ONCE_PER_JOB = 1 };

/* Blocks until this process holds the lease, and must do the work, or another has done it. */
MUSTER_C_API muster_status* muster_acquire_lease(muster_job* job, const char* name,
                                                 muster_lease_scope scope,
                                                 const muster_call_options* options,
                                                 muster_lease** lease);
/* 1 where the caller must do the work, and then says how it ended, else 0. */
MUSTER_C_API int muster_lease_held(const muster_lease* lease);
/* The fencing token: write it beside what the work makes, and never replace a higher one. */
MUSTER_C_API uint64_t muster_lease_token(const muster_lease* lease);
/* What another process has made, or the error that its work ended with. Lives as long as the
 * lease. */
MUSTER_C_API muster_status* muster_lease_result(const muster_lease* lease, const void** data,
                                                size_t* size);
/* Publishes the outcome of the work to all who wait or ask later. */
MUSTER_C_API muster_status* muster_lease_complete(muster_lease* lease, const void* data,
                                                  size_t size);
MUSTER_C_API muster_status* muster_lease_fail(muster_lease* lease, muster_code code,
                                              const char* why);
/* Gives a held lease up without an outcome: the next process to ask does the work. */
MUSTER_C_API void muster_lease_release(muster_lease* lease);
/* A lease that is still held is given up, as above, with a warning in the log. */
MUSTER_C_API void muster_lease_free(muster_lease* lease);

/* ---- Communicators ------------------------------------------------------------------------ */

/* Types of elements that a communicator moves, beside those of muster_type above. What a backend
 * cannot do it refuses with UNIMPLEMENTED, as muster_all_reduce() refuses these. */
enum {
  MUSTER_FLOAT8_E4M3 = 11, /* OCP 8-bit floats */
  MUSTER_FLOAT8_E5M2 = 12,
  MUSTER_FLOAT16 = 13, /* IEEE half precision */
  MUSTER_BFLOAT16 = 14 /* the upper half of a float32 */
};

/* Moves arrays in host memory between the ranks of a group, from peer to peer: see
 * muster/communicator.h. Counts are in elements. One call at a time; a second one from another
 * thread is FAILED_PRECONDITION. After ABORTED, DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE or
 * INTERNAL a peer may have seen a part of the data: the communicator is finished, and later calls
 * return the same error. */

/* A collective of the group. Blocks until this rank is connected to all others. `backend`: "gloo",
 * or another one that is linked; NULL: MUSTER_BACKEND, else the best one. `interface`: the IP
 * address or network interface that this process offers its peers; NULL: MUSTER_INTERFACE, else the
 * address from which it reaches the coordinator. options->timeout_ms becomes the default time-out
 * of every operation. */
MUSTER_C_API muster_status* muster_communicator_new(muster_group* group, const char* backend,
                                                    const char* interface_name,
                                                    const muster_call_options* options,
                                                    muster_communicator** communicator);
/* Tells the peers that this rank goes. Before or after muster_job_free(), which ends it. */
MUSTER_C_API void muster_communicator_free(muster_communicator* communicator);
/* The caller's index in the group, and the number of its ranks; -1 where `communicator` is NULL. */
MUSTER_C_API int muster_communicator_rank(const muster_communicator* communicator);
MUSTER_C_API int muster_communicator_size(const muster_communicator* communicator);
/* "gloo"; "serial" in a group of one. NULL where `communicator` is NULL. */
MUSTER_C_API const char* muster_communicator_backend(const muster_communicator* communicator);

/* out = op over all ranks' in, on every rank. `count` elements each; `in` is `out`, or disjoint. */
MUSTER_C_API muster_status* muster_communicator_all_reduce(muster_communicator* communicator,
                                                           const void* in, void* out, size_t count,
                                                           muster_type type, muster_op op,
                                                           const muster_call_options* options);
/* data = the root's data, on every rank. */
MUSTER_C_API muster_status* muster_communicator_broadcast(muster_communicator* communicator,
                                                          void* data, size_t count,
                                                          muster_type type, int root,
                                                          const muster_call_options* options);
/* At the root, out = op over all ranks' in; elsewhere `out` may be NULL. */
MUSTER_C_API muster_status* muster_communicator_reduce(muster_communicator* communicator,
                                                       const void* in, void* out, size_t count,
                                                       muster_type type, muster_op op, int root,
                                                       const muster_call_options* options);
/* out = all ranks' in, in rank order. `count` elements of each rank: `out` has size * count. */
MUSTER_C_API muster_status* muster_communicator_all_gather(muster_communicator* communicator,
                                                           const void* in, void* out, size_t count,
                                                           muster_type type,
                                                           const muster_call_options* options);
/* The same with counts[i] elements of rank i; `counts` is the same on every rank. */
MUSTER_C_API muster_status* muster_communicator_all_gather_uneven(
    muster_communicator* communicator, const void* in, void* out, const size_t* counts,
    muster_type type, const muster_call_options* options);
/* out = this rank's part of op over all ranks' in. `out` has `count` elements, `in` size * count.
 */
MUSTER_C_API muster_status* muster_communicator_reduce_scatter(muster_communicator* communicator,
                                                               const void* in, void* out,
                                                               size_t count, muster_type type,
                                                               muster_op op,
                                                               const muster_call_options* options);
/* Part i of `in` goes to rank i, and part i of `out` comes from rank i. Each part has `count`
 * elements. `in` and `out` are disjoint. */
MUSTER_C_API muster_status* muster_communicator_all_to_all(muster_communicator* communicator,
                                                           const void* in, void* out, size_t count,
                                                           muster_type type,
                                                           const muster_call_options* options);
/* They pair up in order between two ranks. A send may block until the peer receives. */
MUSTER_C_API muster_status* muster_communicator_send(muster_communicator* communicator,
                                                     const void* data, size_t count,
                                                     muster_type type, int peer,
                                                     const muster_call_options* options);
MUSTER_C_API muster_status* muster_communicator_recv(muster_communicator* communicator, void* data,
                                                     size_t count, muster_type type, int peer,
                                                     const muster_call_options* options);
/* Both at once, so that all ranks of a ring may do it. */
MUSTER_C_API muster_status* muster_communicator_send_recv(muster_communicator* communicator,
                                                          const void* out, size_t out_count, int to,
                                                          void* in, size_t in_count, int from,
                                                          muster_type type,
                                                          const muster_call_options* options);
/* Waits for all ranks, without the coordinator. */
MUSTER_C_API muster_status* muster_communicator_barrier(muster_communicator* communicator,
                                                        const muster_call_options* options);

/* ---- Calls that do not block -------------------------------------------------------------- */

/* Makes calls of this header, with a muster_cancellation that ends them; returns NULL, or an error
 * of its own or of theirs, which the library frees. */
typedef muster_status* (*muster_calls)(void* context);
/* Runs `calls` on a thread of its own, and returns at once: so that an event loop, or a program
 * that waits for signals, goes on meanwhile.
 *
 *   muster_start(step, &step_context, &pending);
 *   struct pollfd ready[] = {{muster_pending_fd(pending), POLLIN, 0}, {signals, POLLIN, 0}};
 *   poll(ready, 2, -1);
 *   if (ready[1].revents != 0) muster_cancel(step_context.cancellation);
 *   failed = muster_pending_wait(pending);
 *
 * RESOURCE_EXHAUSTED: this process gets no further thread or descriptor; `calls` has not run. */
MUSTER_C_API muster_status* muster_start(muster_calls calls, void* context,
                                         muster_pending** pending);
/* Readable once the calls have ended, and until muster_pending_free(). Not to be read or closed. -1
 * where `pending` is NULL. */
MUSTER_C_API int muster_pending_fd(const muster_pending* pending);
/* 1 once the calls have ended, else 0. Does not block. */
MUSTER_C_API int muster_pending_done(const muster_pending* pending);
/* Blocks until the calls have ended, and returns what they have returned, again and again; the
 * caller frees each. Any thread. FAILED_PRECONDITION at once in a fork, where they never end. */
MUSTER_C_API muster_status* muster_pending_wait(muster_pending* pending);
/* Blocks until the calls have ended. */
MUSTER_C_API void muster_pending_free(muster_pending* pending);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MUSTER_C_H_ */
