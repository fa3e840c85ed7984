#ifndef MUSTER_CLIENT_SRC_TOOLKITS_JOB_COMMUNICATOR_H_
#define MUSTER_CLIENT_SRC_TOOLKITS_JOB_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/src/base/deadline.h"
#include "client/src/data_plane/backend_registry.h"
#include "client/src/toolkits/argument_agreement.h"
#include "muster/communicator.h"

namespace muster::internal {

// Calls ChooseBackend() for a job whose backend is `named`, which may be empty.
absl::StatusOr<BackendChoice> ChooseJobBackend(absl::string_view named);

// The communicator of all ranks that the helpers of a job share:
//
//   auto shared = JobCommunicator::Of(job);
//   shared->Run(job, "AllReduce", arguments, options, site, [](Communicator& c, auto& rest) {...});
//
// The first helper that moves a tensor creates it. After an error, or in the job's next epoch, the
// next helper creates it again. The job destroys it. Thread-safe, but only one Run() at a time.
// Helpers build on Job, Group and Communicator, and must not have a mechanism of their own beside
// them. Tests: tests/client/helpers.
class JobCommunicator {
 public:
  JobCommunicator() = default;
  ~JobCommunicator();

  // Returns the one of this job. Does not connect.
  static std::shared_ptr<JobCommunicator> Of(const Job& job);

  // Sets the job's backend. If empty, Communicator chooses.
  void set_backend(absl::string_view backend);
  std::string backend() const;

  // Runs `move` on the communicator, as a collective of the job. First the ranks agree on their
  // arguments (AgreeOnArguments()), and connect if a rank has no usable communicator. `move` gets
  // the rest of the time-out. Returns its error. If that error ended the communicator, the next
  // Run() connects again. Returns FAILED_PRECONDITION, without telling the other ranks, if another
  // thread is already in Run().
  using Move = absl::FunctionRef<absl::Status(Communicator&, const CallOptions&)>;
  absl::Status Run(const Job& job, absl::string_view operation,
                   const absl::StatusOr<RankArguments>& mine, const CallOptions& options,
                   CallSite site, Move move);

  // Copies within this process. If there is a communicator, the memory may be any that it can
  // reach.
  absl::Status Copy(const void* from, void* to, size_t bytes, const CallOptions& options);

 private:
  absl::Status Enter(const Job& job, absl::string_view operation);
  absl::Status AgreeAndMove(const Job& job, absl::string_view operation,
                            const absl::StatusOr<RankArguments>& mine, const CallOptions& options,
                            CallSite site, Move move);
  bool IsReady(uint64_t epoch) const;
  // `number` is the number that the ranks have agreed on.
  absl::StatusOr<std::shared_ptr<Communicator>> Connect(const Group& world, uint64_t number,
                                                        uint64_t epoch, const Deadline& deadline);
  // Ends the communicator without waiting for a peer.
  void Drop();

  mutable absl::Mutex mutex_;
  std::string backend_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Communicator> communicator_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_TOOLKITS_JOB_COMMUNICATOR_H_
