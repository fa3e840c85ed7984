#include "tests/nccl/fake/nccl/operations/group_calls.h"

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/nccl/comm.h"
#include "tests/nccl/fake/nccl/error.h"
#include "tests/nccl/fake/nccl/operations/operations_kernel.h"
#include "tests/nccl/fake/nccl/thread.h"

namespace fake_nccl {
namespace {

struct Group {
  std::vector<std::pair<ncclComm_t, std::function<ncclResult_t()>>> jobs;
  std::vector<std::pair<ncclComm_t, std::function<void()>>> freeings;
  std::map<ncclComm_t, std::vector<Operation>> operations;
  ncclResult_t error = ncclSuccess;

  std::set<ncclComm_t> comms() const {
    std::set<ncclComm_t> all;
    for (const auto& [comm, job] : jobs) all.insert(comm);
    for (const auto& [comm, list] : operations) all.insert(comm);
    return all;
  }
};

thread_local int depth = 0;
thread_local Group group;

ncclResult_t Run(const Group& work) {
  ncclResult_t result = ncclSuccess;
  for (const auto& [comm, job] : work.jobs) {
    const ncclResult_t own = job();
    if (own != ncclSuccess) result = own;
  }
  for (const auto& [comm, operations] : work.operations) {
    const ncclResult_t own = Launch(comm, operations);
    if (own != ncclSuccess) result = own;
  }
  return result;
}

// Sets the communicator's state. As in NCCL, the result replaces the error of a call that was
// rejected meanwhile.
void Settle(ncclComm_t comm, ncclResult_t result) {
  comm->state = result;
  ChangeJobs(comm, -1);
}

ncclResult_t RunLater(Group work) {
  const std::set<ncclComm_t> comms = work.comms();
  for (ncclComm_t comm : comms) {
    comm->state = ncclInProgress;
    comm->has_group_job = true;
    ChangeJobs(comm, 1);
  }
  StartThread([comms, work = std::move(work)] {
    const ncclResult_t result = Run(work);
    for (ncclComm_t comm : comms) Settle(comm, result);
  });
  return ncclInProgress;
}

ncclResult_t RunNow(const Group& work) {
  const ncclResult_t result = Run(work);
  for (ncclComm_t comm : work.comms()) comm->state = result;
  return result;
}

ncclResult_t RunFreeings(const Group& work) {
  if (!work.comms().empty()) {
    fake_cuda::Violation("communicators are freed in a group that does other work");
  }
  std::vector<Call> calls;
  for (const auto& [comm, free] : work.freeings) calls.emplace_back(comm, "ncclGroupEnd");
  for (const auto& [comm, free] : work.freeings) free();
  return ncclSuccess;
}

ncclResult_t Fail(const Group& work) {
  for (ncclComm_t comm : work.comms()) Poison(comm, work.error);
  return work.error;
}

ncclResult_t RunGroup(Group work) {
  if (work.error != ncclSuccess) return Fail(work);
  if (!work.freeings.empty()) return RunFreeings(work);
  const std::set<ncclComm_t> comms = work.comms();
  if (comms.empty()) return ncclSuccess;
  std::vector<Call> calls;
  for (ncclComm_t comm : comms) calls.emplace_back(comm, "ncclGroupEnd");
  for (ncclComm_t comm : comms) {
    if (comm->blocking != (*comms.begin())->blocking) {
      return Refuse(ncclInvalidArgument, "Blocking and nonblocking communicators in one group");
    }
  }
  return (*comms.begin())->blocking ? RunNow(work) : RunLater(std::move(work));
}

ncclResult_t End() {
  if (depth == 0) {
    return Refuse(ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
  }
  if (--depth > 0) return ncclSuccess;
  return RunGroup(std::exchange(group, Group()));
}

}  // namespace

void AddJob(ncclComm_t comm, std::function<ncclResult_t()> job) {
  group.jobs.emplace_back(comm, std::move(job));
}

void AddFreeing(ncclComm_t comm, std::function<void()> free) {
  group.freeings.emplace_back(comm, std::move(free));
}

void AddOperation(ncclComm_t comm, const Operation& operation) {
  group.operations[comm].push_back(operation);
}

ncclResult_t RunInGroup(const ncclComm_t* comm, const std::function<ncclResult_t()>& body) {
  ++depth;
  const ncclResult_t result = body();
  const bool known = comm != nullptr && *comm != nullptr;
  if (result != ncclSuccess) {
    group.error = result;
    if (known) Poison(*comm, result);
  }
  const ncclResult_t ended = End();
  if (result != ncclSuccess) return result;
  if (ended != ncclSuccess && ended != ncclInProgress) return ended;
  return known && !(*comm)->blocking ? StateOf(*comm) : ncclSuccess;
}

}  // namespace fake_nccl

extern "C" {

ncclResult_t ncclGroupStart() {
  ++fake_nccl::depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() { return fake_nccl::End(); }

}  // extern "C"
