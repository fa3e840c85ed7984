#include "client/gloo/gloo_backend.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/gloo/connection_plane.h"
#include "client/gloo/exception.h"
#include "client/gloo/memory_sharing.h"
#include "client/gloo/shared_plane.h"
#include "client/gloo/sigpipe_guard.h"
#include "client/gloo/step_board.h"
#include "client/gloo/transport.h"
#include "client/gloo/two_level_plane.h"
#include "client/src/base/cancel_watch.h"
#include "client/src/data_plane/broken_peers.h"
#include "client/src/data_plane/rendezvous.h"
#include "client/src/job/rank_names.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

constexpr char kName[] = "gloo";

absl::Status AlwaysUsable() { return absl::OkStatus(); }

const bool registered =
    RegisterBackend({kName, /*priority=*/0, &AlwaysUsable, &GlooBackend::Create});

absl::Status Cancelled() { return absl::CancelledError(""); }

// Opens the mesh's listening ends at the address that options and environment ask for.
absl::StatusOr<std::unique_ptr<Mesh>> Listen(const Group& group, absl::string_view wanted,
                                             Interruptor* interruptor) {
  const absl::StatusOr<std::vector<NetworkAddress>> addresses = LocalNetworkAddresses();
  if (!addresses.ok()) return addresses.status();
  const absl::StatusOr<NetworkAddress> address =
      ChooseNetworkAddress(*addresses, wanted, group.local_address());
  if (!address.ok()) return address.status();
  return Mesh::Listen(group, *address, interruptor);
}

absl::StatusOr<GlooPeerInfo> OwnPeerInfo(const absl::StatusOr<std::unique_ptr<Mesh>>& mesh) {
  if (!mesh.ok()) return mesh.status();
  const absl::StatusOr<bool> share = MayShareMemory();
  if (!share.ok()) return share.status();
  GlooPeerInfo info = (*mesh)->peer_info();
  if (*share) info.set_shared_memory(SharedRegion::NewName());
  return info;
}

absl::StatusOr<std::vector<GlooPeerInfo>> ExchangeGlooPeerInfos(
    const Group& group, const absl::StatusOr<std::unique_ptr<Mesh>>& mesh,
    const CallOptions& options) {
  const absl::StatusOr<GlooPeerInfo> own = OwnPeerInfo(mesh);
  auto rendezvous = ExchangePeerInfos(group, kName, own, options);
  if (!rendezvous.ok()) return rendezvous.status();
  rendezvous->numbered.Keep();  // nothing more is said there
  absl::Status status = CheckGlooPeerInfos(group, rendezvous->infos);
  if (!status.ok()) return status;
  return std::move(rendezvous->infos);
}

void LogSharing(const Group& group, const std::string& how) {
  Log(LogLevel::kDebug,
      absl::StrCat("communicator of ", group.size(), " on rank ", group.rank(), ": ", how));
}

}  // namespace

GlooBackend::GlooBackend(const Group& group)
    : group_(group), sent_(group.size()), received_(group.size()) {}

absl::StatusOr<std::unique_ptr<Backend>> GlooBackend::Create(const Group& group,
                                                             const CommunicatorOptions& options) {
  const SigpipeGuard guard;  // threads of Gloo and ours inherit it
  std::unique_ptr<GlooBackend> backend(new GlooBackend(group));
  if (absl::Status status = backend->Assemble(options); !status.ok()) return status;
  return backend;
}

GlooBackend::~GlooBackend() {
  const PeerEnd words{group_.rank(), false, "it destroyed its communicator"};
  Close(&words);
}

void GlooBackend::Abort(const absl::Status& why) { interruptor_.Raise(why); }

absl::Status GlooBackend::Assemble(const CommunicatorOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto left = [&] {
    const auto elapsed = std::chrono::steady_clock::now() - start;
    return std::max(*options.timeout - absl::FromChrono(elapsed), absl::ZeroDuration());
  };
  absl::StatusOr<std::unique_ptr<Mesh>> mesh = Listen(group_, options.interface, &interruptor_);
  const absl::StatusOr<std::vector<GlooPeerInfo>> infos =
      ExchangeGlooPeerInfos(group_, mesh, CallOptions{options.timeout, options.cancellation});
  if (!infos.ok()) return infos.status();
  mesh_ = *std::move(mesh);
  const Subscription lost = group_.OnFailure([this](const absl::Status& why) { Abort(why); });
  absl::Status status = Connect(*infos, left(), options.cancellation);
  if (status.ok()) status = Meet(CallOptions{left(), options.cancellation});
  if (status.ok()) status = ShareMemory(*infos, CallOptions{left(), options.cancellation});
  return status;
}

absl::Status GlooBackend::Connect(const std::vector<GlooPeerInfo>& infos, absl::Duration timeout,
                                  Cancellation* cancellation) {
  const CancelWatch watch(cancellation, [this] { interruptor_.Raise(Cancelled()); });
  interruptor_.Arm(timeout);
  absl::Status status = mesh_->Connect(infos, Deadline(timeout, cancellation));
  interruptor_.Disarm();
  if (status.ok()) status = interruptor_.status();
  if (!status.ok()) mesh_.reset();
  if (status.ok()) plane_ = std::make_unique<ConnectionPlane>(mesh_->context());
  return status;
}

// A connection that the peer's kernel has accepted may wait for its process for ever. After this
// all ranks are known to be there, and to be ready for last words.
absl::Status GlooBackend::Meet(const CallOptions& options) {
  interruptor_.SetPatrol([this] { Patrol(); });
  Operation operation;
  operation.kind = OperationKind::kMeeting;
  return Run(operation, options, [&](CollectivePlane& plane) { plane.Barrier(operation); });
}

// That they cannot is no failure.
absl::Status GlooBackend::ShareMemory(const std::vector<GlooPeerInfo>& infos,
                                      const CallOptions& options) {
  absl::StatusOr<NodeLayout> nodes = NodesThatShare(group_, infos);
  if (!nodes.ok()) {
    LogSharing(group_, DescribeNoSharing(nodes.status()));
    return absl::OkStatus();
  }
  auto region = OpenRegion(infos, options, &*nodes);
  if (mesh_ == nullptr) return region.status();
  LogSharing(group_, DescribeSharing(*nodes, region.status()));
  if (!nodes->all_alone()) ChoosePlane(region.ok() ? *std::move(region) : nullptr, *nodes);
  return absl::OkStatus();
}

// All ranks of a node use it, or none. It has a name for no longer than it takes them to agree on
// that; should all of them be killed meanwhile, until another communicator is made.
absl::StatusOr<std::unique_ptr<SharedRegion>> GlooBackend::OpenRegion(
    const std::vector<GlooPeerInfo>& infos, const CallOptions& options, NodeLayout* nodes) {
  const NodeLayout wanted = *nodes;
  const bool first = group_.rank() == wanted.neighbours_of(group_.rank()).front();
  auto region = MakeNodeRegion(wanted, group_.rank(), infos);
  const absl::StatusOr<std::vector<bool>> made = TellAll(region.ok(), 1, options);
  if (!made.ok()) return made.status();
  if (!first) region = OpenNodeRegion(group_, wanted, infos, *made);
  const absl::StatusOr<std::vector<bool>> have = TellAll(region.ok(), 2, options);
  if (!have.ok()) return have.status();
  *nodes = wanted.WhereAll(*have);
  if (!region.ok()) return region;
  const absl::Status shared = CannotShare(group_, wanted, *have);
  if (!shared.ok()) return shared;
  (*region)->Unlink();
  return region;
}

void GlooBackend::ChoosePlane(std::unique_ptr<SharedRegion> region, const NodeLayout& nodes) {
  std::unique_ptr<NodeMemory> memory;
  if (region != nullptr) {
    memory = std::make_unique<NodeMemory>(std::move(region), nodes.neighbours_of(group_.rank()),
                                          nodes.index_of(group_.rank()), &interruptor_,
                                          [this] { Patrol(); });
  }
  if (nodes.nodes().size() == 1) {
    plane_ = std::make_unique<SharedPlane>(std::move(memory), group_.size());
  } else {
    plane_ =
        std::make_unique<TwoLevelPlane>(nodes, group_.rank(), mesh_->context(), std::move(memory));
  }
}

absl::StatusOr<std::vector<bool>> GlooBackend::TellAll(bool yes, uint64_t number,
                                                       const CallOptions& options) {
  const uint8_t own = yes ? 1 : 0;
  std::vector<uint8_t> all(group_.size());
  Operation operation;
  operation.kind = OperationKind::kMeeting;
  operation.number = number;
  operation.count = 1;
  const absl::Status status = Run(operation, options, [&](CollectivePlane& plane) {
    plane.AllGather(operation, &own, all.data());
  });
  if (!status.ok()) return status;
  return std::vector<bool>(all.begin(), all.end());
}

// Gloo does not tell an operation in the middle of a message that its connection broke.
void GlooBackend::Patrol() {
  if (!mesh_->peer_ends().FailedPeers().empty()) interruptor_.Raise(absl::UnavailableError(""));
}

Operation GlooBackend::NextCollective(OperationKind kind, size_t count, DataType type) {
  Operation operation;
  operation.kind = kind;
  operation.count = count;
  operation.type = type;
  operation.number = ++collectives_;
  return operation;
}

absl::Status GlooBackend::Run(const Operation& operation, const CallOptions& options,
                              absl::FunctionRef<void(CollectivePlane&)> call) {
  return RunCall(operation, options, [&] { call(*plane_); });
}

absl::Status GlooBackend::RunOverConnections(const Operation& operation, const CallOptions& options,
                                             absl::FunctionRef<void(const GlooContext&)> call) {
  return RunCall(operation, options, [&] {
    const SigpipeGuard guard;
    call(mesh_->context());
  });
}

absl::Status GlooBackend::RunCall(const Operation& operation, const CallOptions& options,
                                  absl::FunctionRef<void()> call) {
  if (mesh_ == nullptr) return interruptor_.status();
  const bool barrier =
      operation.kind == OperationKind::kBarrier || operation.kind == OperationKind::kMeeting;
  if (operation.count == 0 && !barrier) return absl::OkStatus();
  const Deadline deadline(*options.timeout, options.cancellation);
  const CancelWatch watch(options.cancellation, [this] { interruptor_.Raise(Cancelled()); });
  interruptor_.Arm(*options.timeout);
  Failure failure;
  try {
    // What has been cancelled before it began sends nothing.
    if (!interruptor_.raised()) call();
  } catch (const Interrupted& interrupted) {
    failure.awaited = interrupted.awaited();
  } catch (const PeerEnded& ended) {
    failure.reason = ReasonOf(ended);
    failure.ended = ended.rank();
  } catch (const std::exception& error) {
    failure.reason = ReasonOf(error);
  }
  interruptor_.Disarm();
  if (failure.reason.empty() && !interruptor_.raised()) return absl::OkStatus();
  const SigpipeGuard guard;
  return End(operation, deadline, failure);
}

absl::Status GlooBackend::End(const Operation& operation, const Deadline& deadline,
                              const Failure& failure) {
  PeerEnd words{group_.rank(), true, ""};
  absl::Status status = ExplainInterruption(operation, deadline.timeout(), failure);
  if (status.ok()) status = ExplainBreak(operation, failure, deadline, &words);
  if (words.reason.empty()) words.reason = status.ToString();
  // Where a member was lost the job tells the peers, and says it better.
  Close(absl::IsAborted(status) ? nullptr : &words);
  interruptor_.Raise(status);
  return status;
}

// OK if it was a broken connection that ended the operation.
absl::Status GlooBackend::ExplainInterruption(const Operation& operation, absl::Duration timeout,
                                              const Failure& failure) const {
  const absl::Status why = interruptor_.status();
  if (!why.message().empty()) return why;
  const std::string awaited =
      failure.awaited.empty()
          ? ""
          : absl::StrCat(" while waiting for ", DescribePeers(group_, failure.awaited));
  switch (why.code()) {
    case absl::StatusCode::kUnavailable:
      return absl::OkStatus();
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(absl::StrCat(
          operation.Describe(), " did not end within ", absl::FormatDuration(timeout), awaited,
          "; all ranks must make the same calls in the same order with the same sizes"));
    case absl::StatusCode::kCancelled:
      return absl::CancelledError(absl::StrCat(operation.Describe(), " was cancelled", awaited));
    default:
      return why;
  }
}

// The end of a peer may show in the shared memory alone, where the network is cut.
absl::Status GlooBackend::ExplainBreak(const Operation& operation, const Failure& failure,
                                       const Deadline& deadline, PeerEnd* words) {
  const std::string& reason = failure.reason;
  const int culprit = AwaitCulprit(failure.ended, deadline);
  if (culprit < 0) {
    return absl::UnavailableError(absl::StrCat(operation.Describe(), ": Gloo failed: ", reason));
  }
  if (const std::optional<PeerEnd> said = mesh_->peer_ends().WordsOf(culprit)) {
    *words = *said;
    words->failed = true;
    return absl::UnavailableError(absl::StrCat(operation.Describe(), ": ",
                                               DescribePeer(group_, said->rank),
                                               " is no longer there: ", said->reason));
  }
  return ExplainBrokenConnection(group_, culprit, operation.Describe(),
                                 reason.empty() ? "it ended in the middle of a message" : reason,
                                 deadline.Remaining());
}

// The peer whose connection broke, or else `ended`, which is -1 if none has. Gloo tells what uses a
// connection of its end one after another, so it may take a moment until all can be seen, and more
// where its thread does not get to run in between. A peer that ended in the normal course is blamed
// only if there is nobody else. Only an error that no peer is to blame for, which is rare, takes
// all of the time.
int GlooBackend::AwaitCulprit(int ended, const Deadline& deadline) {
  constexpr absl::Duration kForAnother = absl::Milliseconds(100);
  constexpr absl::Duration kForAny = absl::Seconds(2);
  constexpr std::chrono::milliseconds kPoll(1);
  PeerEnds& peer_ends = mesh_->peer_ends();
  const SteadyTime start = SteadyClock::now();
  const absl::Duration patience = std::max(kForAnother, std::min(kForAny, deadline.Left()));
  for (;;) {
    const std::vector<int> failed = peer_ends.FailedPeers();
    if (!failed.empty()) return failed.front();
    const absl::Duration waited = Between(start, SteadyClock::now());
    if (waited >= kForAnother) {
      const std::vector<int> broken = peer_ends.BrokenPeers();
      if (!broken.empty()) return broken.front();
      if (ended >= 0 || waited >= patience) return ended;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

void GlooBackend::Close(const PeerEnd* words) {
  if (mesh_ == nullptr) return;
  const SigpipeGuard guard;
  interruptor_.SetPatrol(nullptr);
  if (words != nullptr) mesh_->peer_ends().Say(*words);
  mesh_.reset();
  plane_.reset();  // who is woken by that finds the words
}

}  // namespace muster::internal
