#ifndef MUSTER_TESTS_RANK_INTERPRETER_H_
#define MUSTER_TESTS_RANK_INTERPRETER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/job.h"

namespace muster::testing {

// A step. `argument` is the text behind the "=" after the step's name.
using Step = std::function<absl::Status(Job& job, const std::string& argument)>;
using Steps = std::map<std::string, Step>;

// Joins a job as the environment says, and does the steps in their order. Besides the steps in
// `more`, there are
//
//   barrier broadcast gather allgather   one collective through the coordinator
//   barrier=TIME                         a barrier with this time-out
//   large                                an all-gather of 16 MiB from each rank
//   connect                              creates the communicator that the next two use
//   allreduce                            one all-reduce, of 4 MiB
//   reduce-until=FILE                    all-reduces until rank 0 sees FILE, and prints the count
//   hold, complete, lease                acquires the lease of some work; publishes it; both
//   hold=node                            acquires the node's lease of that name
//   rejoin                               enters the next epoch
//   newcomers                            waits until a process waits for a place
//   place                                prints the place of the rank
//   run-until-stopped                    all-gathers until a stop is agreed; SIGTERM requests one
//   paced=TIME                           20 barriers, with a pause of TIME before each
//   hoard, unhoard                       takes all file descriptors that are left; returns them
//   wait=FILE                            waits until FILE exists
//   loss                                 waits until a member is lost
//   leave
//   stop                                 SIGSTOP
//   exit=STATUS                          ends the process at once
//   quiet                                from here on, prints only what steps print, and errors
//
// A prefix changes a step. "2:exit=3" is for rank 2 only. "first:barrier" is for members of the
// job's first epoch. "try:barrier" prints an error and goes on. "note:barrier" does so too, but the
// process then ends with status 3 after its last step. Any other error is printed, and ends the
// process with status 3 at once.
//
// Steps check their values: a wrong value is an error. Prints "rank 1 pid 4711 begins barrier",
// "rank 1 ends barrier", and "rank 1 is done" at the end. Returns the process's exit status.
int RunRank(const std::vector<std::string>& steps, const Steps& more);

// ---- For steps ----

// Prints one line.
void Print(const std::string& line);

absl::Status Expect(bool right, absl::string_view what);

#define RETURN_IF_ERROR(expression) \
  if (absl::Status status_ = (expression); !status_.ok()) return status_

}  // namespace muster::testing

#endif  // MUSTER_TESTS_RANK_INTERPRETER_H_
