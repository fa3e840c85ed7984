/* The example at the head of muster/c.h. See header_examples.cc. */

#include <stdio.h>

#include "muster/c.h"

int main(void) {
  muster_job* job = NULL;
  muster_status* failed = muster_join(NULL, NULL, &job);  // with the options of the environment
  if (failed == NULL) failed = muster_barrier(muster_world(job), "loaded", NULL);
  if (failed == NULL) failed = muster_leave(job, NULL);
  if (failed != NULL) fprintf(stderr, "%s\n", muster_status_message(failed));
  int code = muster_status_exit_code(failed);
  muster_status_free(failed);
  muster_job_free(job);
  return code;
}
