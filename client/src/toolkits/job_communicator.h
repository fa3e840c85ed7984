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

// ChooseBackend() for a job whose backend is `named`, which may be empty.
absl::StatusOr<BackendChoice> ChooseJobBackend(absl::string_view named);

// The communicator of all ranks that the helpers of a job share. Made by the first helper that
// moves a tensor, and again after an error, or in the job's next epoch; the job destroys it.
// Thread-safe, for one Run() at a time.
class JobCommunicator {
 public:
  JobCommunicator() = default;
  ~JobCommunicator();

  // The one of this job. Makes no connections.
  static std::shared_ptr<JobCommunicator> Of(const Job& job);

  // The backend that the job is to use; empty: as Communicator chooses.
  void set_backend(absl::string_view backend);
  std::string backend() const;

  // A collective of the job: meets (see AgreeOnArguments()), connects where a rank has no good
  // communicator, and calls `move` with what is left of `options`, and returns its error. After one
  // that has ended the communicator the next Run() connects again. FAILED_PRECONDITION, without a
  // word to the others: another thread is in here.
  using Move = absl::FunctionRef<absl::Status(Communicator&, const CallOptions&)>;
  absl::Status Run(const Job& job, absl::string_view operation,
                   const absl::StatusOr<RankArguments>& mine, const CallOptions& options,
                   CallSite site, Move move);

  // Copies within this process; between memory that the communicator reaches, where there is one.
  absl::Status Copy(const void* from, void* to, size_t bytes, const CallOptions& options);

 private:
  absl::Status Enter(const Job& job, absl::string_view operation);
  absl::Status MeetAndMove(const Job& job, absl::string_view operation,
                           const absl::StatusOr<RankArguments>& mine, const CallOptions& options,
                           CallSite site, Move move);
  bool IsReady(uint64_t epoch) const;
  // `number` is what the ranks have agreed upon for it.
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
