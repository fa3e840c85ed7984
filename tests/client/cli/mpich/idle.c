/* Preloaded into ranks of MPICH's test programs. Lets a rank that waits for a message sleep. MPICH
 * polls, so more ranks than CPUs would take the CPU from each other for milliseconds at a time: a
 * program would take a hundred times as long. MPICH calls this function of UCX whenever it polls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>

enum { kPolls = 20 }; /* without a result, before the first sleep */

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*real)(void*);
  static int idle;
  static const struct timespec kNap = {0, 20000};
  unsigned progress;
  if (real == NULL) real = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
  progress = real(worker);
  idle = progress == 0 ? idle + 1 : 0;
  if (idle > kPolls) nanosleep(&kNap, NULL);
  return progress;
}
