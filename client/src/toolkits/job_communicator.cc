#include "client/src/toolkits/job_communicator.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/data_plane/communicator_access.h"
#include "client/src/group/numbered_group.h"
#include "client/src/job/job_access.h"

namespace muster::internal {
namespace {

constexpr char kReady[] = "connected";

// Adds whether this rank has a usable communicator.
absl::StatusOr<RankArguments> WithReadiness(absl::StatusOr<RankArguments> arguments, bool ready) {
  if (arguments.ok()) arguments->value = ready ? kReady : "";
  return arguments;
}

// Returns whether an error has ended the communicator. UNIMPLEMENTED has not, because nothing was
// sent.
bool HasEnded(const absl::Status& status) { return !status.ok() && !absl::IsUnimplemented(status); }

}  // namespace

absl::StatusOr<BackendChoice> ChooseJobBackend(absl::string_view named) {
  return ChooseBackend(RegisteredBackends(), named, "Initialize()");
}

std::shared_ptr<JobCommunicator> JobCommunicator::Of(const Job& job) {
  return JobAccess::Helpers<JobCommunicator>(job);
}

JobCommunicator::~JobCommunicator() { Drop(); }

void JobCommunicator::set_backend(absl::string_view backend) {
  absl::MutexLock lock(&mutex_);
  backend_ = std::string(backend);
}

std::string JobCommunicator::backend() const {
  absl::MutexLock lock(&mutex_);
  return backend_;
}

absl::Status JobCommunicator::Enter(const Job& job, absl::string_view operation) {
  absl::MutexLock lock(&mutex_);
  if (busy_) {
    return absl::FailedPreconditionError(
        absl::StrCat(operation, " on rank ", job.rank(), " of ", job.world_size(),
                     ": another thread is in a helper that moves tensors of this job; make one "
                     "call at a time, or create a Communicator for each thread"));
  }
  busy_ = true;
  return absl::OkStatus();
}

absl::Status JobCommunicator::Run(const Job& job, absl::string_view operation,
                                  const absl::StatusOr<RankArguments>& mine,
                                  const CallOptions& options, CallSite site, Move move) {
  if (absl::Status status = Enter(job, operation); !status.ok()) return status;
  absl::Status status = AgreeAndMove(job, operation, mine, options, site, move);
  absl::MutexLock lock(&mutex_);
  busy_ = false;
  return status;
}

absl::Status JobCommunicator::AgreeAndMove(const Job& job, absl::string_view operation,
                                           const absl::StatusOr<RankArguments>& mine,
                                           const CallOptions& options, CallSite site, Move move) {
  // Read the epoch before the world. If a Rejoin() comes in between, the communicator of the new
  // epoch counts as one of the old, and is created again.
  const uint64_t epoch = job.epoch();
  const Group world = job.world();
  const Deadline deadline(options.timeout.value_or(world.default_timeout()), options.cancellation);
  const auto met =
      AgreeOnArguments(world, operation, WithReadiness(mine, IsReady(epoch)), options, site);
  if (!met.ok()) return met.status();
  const bool ready = std::all_of(met->values.begin(), met->values.end(),
                                 [](const std::string& word) { return word == kReady; });
  if (!ready) Drop();
  const auto communicator = Connect(world, met->number, epoch, deadline);
  if (!communicator.ok()) return communicator.status();
  CallOptions rest = deadline.Remaining();
  rest.stream = options.stream;
  const absl::Status status = deadline.NameWhole(move(**communicator, rest), *rest.timeout);
  if (HasEnded(status)) Drop();
  return status;
}

absl::Status JobCommunicator::Copy(const void* from, void* to, size_t bytes,
                                   const CallOptions& options) {
  std::shared_ptr<Communicator> communicator;
  {
    absl::MutexLock lock(&mutex_);
    communicator = communicator_;
  }
  if (communicator != nullptr) {
    return CommunicatorAccess::Copy(*communicator, from, to, bytes, options);
  }
  if (bytes > 0) std::memmove(to, from, bytes);
  return absl::OkStatus();
}

bool JobCommunicator::IsReady(uint64_t epoch) const {
  absl::MutexLock lock(&mutex_);
  return communicator_ != nullptr && epoch_ == epoch;
}

absl::StatusOr<std::shared_ptr<Communicator>> JobCommunicator::Connect(const Group& world,
                                                                       uint64_t number,
                                                                       uint64_t epoch,
                                                                       const Deadline& deadline) {
  CommunicatorOptions options;
  {
    absl::MutexLock lock(&mutex_);
    if (communicator_ != nullptr) return communicator_;
    options.backend = backend_;
  }
  options.timeout = deadline.LeftForPart();
  options.cancellation = deadline.cancellation();
  NumberedGroup numbered(world, number);
  absl::StatusOr<std::shared_ptr<Communicator>> made =
      Communicator::Create(numbered.group(), options);
  if (!made.ok()) return deadline.NameWhole(made.status(), *options.timeout);
  numbered.Keep();
  absl::MutexLock lock(&mutex_);
  communicator_ = *made;
  epoch_ = epoch;
  return made;
}

void JobCommunicator::Drop() {
  std::shared_ptr<Communicator> dropped;
  {
    absl::MutexLock lock(&mutex_);
    dropped = std::move(communicator_);
  }
  if (dropped == nullptr) return;
  CommunicatorAccess::Fail(
      *dropped, absl::CancelledError("the helpers of the job have given up this communicator"));
}

}  // namespace muster::internal
