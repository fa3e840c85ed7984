/* A rank in C whose arrays are in the memory of its GPU, on a stream of its own. Finds CUDA's
 * runtime by name, as a plug-in does, after it has made the communicator, or before ("early"):
 *
 *   device_rank RUNTIME [early|die]
 *
 * RUNTIME is "libcudart.so.13", or "-" for a runtime in this program. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "muster/c.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

/* The part of one rank, in bytes. */
enum { PART = 1 << 16, RANKS = 2 };

/* The functions of CUDA's runtime that this program calls. */
static int (*cuda_get_device)(int* device);
static int (*cuda_malloc)(void** memory, size_t bytes);
static int (*cuda_free)(void* memory);
static int (*cuda_memset_async)(void* memory, int value, size_t bytes, void* stream);
static int (*cuda_memcpy_async)(void* to, const void* from, size_t bytes, int kind, void* stream);
static int (*cuda_stream_create)(void** stream, unsigned flags);
static int (*cuda_stream_synchronize)(void* stream);
static int (*cuda_stream_destroy)(void* stream);
enum { STREAM_NON_BLOCKING = 1, DEVICE_TO_HOST = 2 };

static void find(void* library, const char* name, void* function) {
  void* const found = dlsym(library, name);
  CHECK(found != NULL);
  memcpy(function, &found, sizeof(found));
}

static void find_cuda(const char* name) {
  void* const library = dlopen(strcmp(name, "-") == 0 ? NULL : name, RTLD_NOW);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  find(library, "cudaGetDevice", &cuda_get_device);
  find(library, "cudaMalloc", &cuda_malloc);
  find(library, "cudaFree", &cuda_free);
  find(library, "cudaMemsetAsync", &cuda_memset_async);
  find(library, "cudaMemcpyAsync", &cuda_memcpy_async);
  find(library, "cudaStreamCreateWithFlags", &cuda_stream_create);
  find(library, "cudaStreamSynchronize", &cuda_stream_synchronize);
  find(library, "cudaStreamDestroy", &cuda_stream_destroy);
}

static muster_communicator* communicator;
static muster_call_options options = MUSTER_CALL_OPTIONS; /* has the stream */
static int rank;
static char *in, *out; /* RANKS parts each, in the GPU's memory */

/* Writes this rank's number plus one to each byte of `in`, and 99 to those of `out`. Does not wait
 * for the stream. */
static void fill(void) {
  CHECK(cuda_memset_async(in, rank + 1, RANKS * PART, options.stream) == 0);
  CHECK(cuda_memset_async(out, 99, RANKS * PART, options.stream) == 0);
}

static void or_die(muster_status* status, int line) {
  if (status != NULL) fprintf(stderr, "line %d: %s\n", line, muster_status_message(status));
  muster_or_die(status);
}
#define OK(call) or_die(call, __LINE__)

/* Returns the bytes of `memory` after the work on the stream. They live until the next call. */
static const char* read_back(const char* memory) {
  static char bytes[RANKS * PART];
  CHECK(cuda_memcpy_async(bytes, memory, sizeof(bytes), DEVICE_TO_HOST, options.stream) == 0);
  CHECK(cuda_stream_synchronize(options.stream) == 0);
  return bytes;
}

/* Checks the first and the last byte of the parts of `memory`. */
static void expect(const char* memory, int first_part, int second_part, int line) {
  const char* const bytes = read_back(memory);
  if (bytes[0] != first_part || bytes[PART - 1] != first_part || bytes[PART] != second_part ||
      bytes[2 * PART - 1] != second_part) {
    fprintf(stderr, "line %d: got %d %d %d %d, expected %d and %d\n", line, bytes[0],
            bytes[PART - 1], bytes[PART], bytes[2 * PART - 1], first_part, second_part);
    exit(1);
  }
}
#define EXPECT(memory, first_part, second_part) expect(memory, first_part, second_part, __LINE__)

static void reductions(void) {
  void* parts[RANKS];
  const size_t sizes[RANKS] = {PART, PART};
  const muster_type types[RANKS] = {MUSTER_UINT8, MUSTER_UINT8};
  parts[0] = in;
  parts[1] = in + PART;
  fill();
  OK(muster_communicator_all_reduce(communicator, in, out, PART, MUSTER_UINT8, MUSTER_SUM,
                                    &options));
  EXPECT(out, 3, 99);
  fill();
  OK(muster_communicator_all_reduce_coalesced(communicator, parts, sizes, types, RANKS, MUSTER_MAX,
                                              &options));
  EXPECT(in, 2, 2);
  fill();
  OK(muster_communicator_reduce(communicator, in, rank == 0 ? out : NULL, PART, MUSTER_UINT8,
                                MUSTER_SUM, 0, &options));
  EXPECT(out, rank == 0 ? 3 : 99, 99);
  fill();
  OK(muster_communicator_reduce_scatter(communicator, in, out, PART, MUSTER_UINT8, MUSTER_SUM,
                                        &options));
  EXPECT(out, 3, 99);
}

static void copies(void) {
  const size_t counts[RANKS] = {PART, PART / 2};
  const char* bytes;
  fill();
  OK(muster_communicator_broadcast(communicator, in, PART, MUSTER_UINT8, 1, &options));
  EXPECT(in, 2, rank + 1);
  fill();
  OK(muster_communicator_all_gather(communicator, in, out, PART, MUSTER_UINT8, &options));
  EXPECT(out, 1, 2);
  fill();
  OK(muster_communicator_all_gather_uneven(communicator, in, out, counts, MUSTER_UINT8, &options));
  bytes = read_back(out);
  CHECK(bytes[0] == 1 && bytes[PART] == 2 && bytes[PART + PART / 2] == 99);
}

static void messages(void) {
  const int peer = 1 - rank;
  fill();
  OK(muster_communicator_all_to_all(communicator, in, out, PART, MUSTER_UINT8, &options));
  EXPECT(out, 1, 2);
  fill();
  OK(muster_communicator_send_recv(communicator, in, PART, peer, out, PART, peer, MUSTER_UINT8,
                                   &options));
  EXPECT(out, peer + 1, 99);
  fill();
  if (rank == 0) OK(muster_communicator_send(communicator, in, PART, MUSTER_UINT8, 1, &options));
  if (rank == 1) OK(muster_communicator_recv(communicator, out, PART, MUSTER_UINT8, 0, &options));
  EXPECT(out, rank == 0 ? 99 : 1, 99);
}

/* Arrays in host memory are copied to the GPU and back. */
static void host_memory(void) {
  float sum = (float)rank;
  OK(muster_communicator_all_reduce(communicator, &sum, &sum, 1, MUSTER_FLOAT32, MUSTER_SUM, NULL));
  CHECK(sum == 1);
}

static muster_status* reduce(void* unused) {
  (void)unused;
  return muster_communicator_all_reduce(communicator, in, out, PART, MUSTER_UINT8, MUSTER_SUM,
                                        &options);
}

static void in_the_background(void) {
  muster_pending* pending = NULL;
  fill();
  OK(muster_start(reduce, NULL, &pending));
  OK(muster_pending_wait(pending));
  muster_pending_free(pending);
  EXPECT(out, 3, 99);
}

int main(int argc, char** argv) {
  muster_job* job = NULL;
  int device = -1;
  const char* const mode = argc > 2 ? argv[2] : "";
  CHECK(argc > 1);
  if (strcmp(mode, "early") == 0) find_cuda(argv[1]);
  OK(muster_join(NULL, NULL, &job));
  rank = muster_rank(job);
  CHECK(muster_world_size(job) == RANKS);
  OK(muster_communicator_new(muster_world(job), "nccl", NULL, NULL, &communicator));
  CHECK(strcmp(muster_communicator_backend(communicator), "nccl") == 0);
  if (strcmp(mode, "die") == 0 && rank == 1) abort();
  if (strcmp(mode, "early") != 0) find_cuda(argv[1]);
  CHECK(cuda_get_device(&device) == 0 && device == muster_local_rank(job));
  CHECK(cuda_stream_create(&options.stream, STREAM_NON_BLOCKING) == 0);
  CHECK(cuda_malloc((void**)&in, RANKS * PART) == 0 &&
        cuda_malloc((void**)&out, RANKS * PART) == 0);
  reductions();
  copies();
  messages();
  host_memory();
  in_the_background();
  OK(muster_communicator_barrier(communicator, &options));
  muster_communicator_free(communicator);
  CHECK(cuda_stream_destroy(options.stream) == 0 && cuda_free(in) == 0 && cuda_free(out) == 0);
  OK(muster_leave(job, NULL));
  muster_job_free(job);
  return 0;
}
