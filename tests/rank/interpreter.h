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

// What a step's name stands for; `argument` is what follows the "=" behind it.
using Step = std::function<absl::Status(Job& job, const std::string& argument)>;
using Steps = std::map<std::string, Step>;

// Joins, as the environment says, and does the steps in their order, those of `more` beside its
// own, which are
//
//   barrier broadcast gather allgather   one collective through the coordinator
//   barrier=TIME                         one that is given up after that
//   large                                an all-gather of 16 MiB from each
//   connect                              makes the communicator that the next two use
//   allreduce                            one all-reduce, of 4 MiB
//   reduce-until=FILE                    all-reduces until rank 0 sees FILE, telling the count
//   hold, complete, lease                takes the lease of some work; publishes it; both
//   hold=node                            takes the node's lease of that name
//   rejoin                               leads into the next epoch
//   newcomers                            nothing until a process waits for a place
//   place                                says where the rank is
//   run-until-stopped                    all-gathers until a stop is agreed; SIGTERM asks for one
//   paced=TIME                           20 barriers, each after so long
//   hoard, unhoard                       takes all file descriptors that are left; gives them back
//   wait=FILE                            nothing until FILE is there
//   loss                                 nothing until a member is lost
//   leave
//   stop                                 SIGSTOP
//   exit=STATUS                          ends the process at once
//   quiet                                from here on, only steps say something, and errors do
//
// "2:exit=3" is for rank 2 alone, "first:barrier" for those that are in the job's first epoch,
// "try:barrier" prints an error and goes on; "note:barrier" too, but the process ends with status 3
// when it has done all. Otherwise the first error is printed and ends the process with status 3 at
// once. Values are checked: a wrong one is an error. Prints "rank 1 pid 4711 begins barrier", "rank
// 1 ends barrier", and "rank 1 is done" at the end. Returns the process's exit status.
int RunRank(const std::vector<std::string>& steps, const Steps& more);

// ---- For steps ----

// Prints one line.
void Print(const std::string& line);

absl::Status Expect(bool right, absl::string_view what);

#define RETURN_IF_ERROR(expression) \
  if (absl::Status status_ = (expression); !status_.ok()) return status_

}  // namespace muster::testing

#endif  // MUSTER_TESTS_RANK_INTERPRETER_H_
