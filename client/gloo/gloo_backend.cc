#include "client/gloo/gloo_backend.h"

#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/gloo/collectives/connection_plane.h"
#include "client/gloo/connections/interruptible_transport.h"
#include "client/gloo/connections/sigpipe_guard.h"
#include "client/gloo/endings/exception.h"
#include "client/gloo/node_memory/memory_sharing.h"
#include "client/gloo/node_memory/step_sequencer.h"
#include "client/gloo/planes/shared_plane.h"
#include "client/gloo/planes/two_level_plane.h"
#include "client/src/base/cancel_watch.h"
#include "client/src/base/deadline.h"
#include "client/src/data_plane/rendezvous.h"
#include "client/src/group/rank_names.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

constexpr char kName[] = "gloo";

absl::Status AlwaysUsable() { return absl::OkStatus(); }

const bool registered =
    RegisterBackend({kName, /*priority=*/0, &AlwaysUsable, &GlooBackend::Create});

// Returns the record of an operation that has thrown `error`.
CallFailure FailureOf(const std::exception& error) {
  CallFailure failure;
  if (const auto* const interrupted = dynamic_cast<const Interrupted*>(&error)) {
    failure.awaited = interrupted->awaited();
    return failure;
  }
  failure.reason = ReasonOf(error);
  if (const auto* const ended = dynamic_cast<const PeerEnded*>(&error)) {
    failure.ended = ended->rank();
  }
  return failure;
}

absl::Status Cancelled() { return absl::CancelledError(""); }

// Starts the interrupter, and listens for peers at the address that options and environment ask
// for.
absl::StatusOr<std::unique_ptr<Mesh>> Listen(const Group& group, absl::string_view wanted,
                                             Interrupter* interrupter) {
  if (absl::Status started = interrupter->Start(DescribePeer(group, group.rank())); !started.ok())
    return started;
  const absl::StatusOr<std::vector<NetworkAddress>> addresses = LocalNetworkAddresses();
  if (!addresses.ok()) return addresses.status();
  const absl::StatusOr<NetworkAddress> address =
      ChooseNetworkAddress(*addresses, wanted, group.local_address());
  if (!address.ok()) return address.status();
  return Mesh::Listen(group, *address, interrupter);
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
  rendezvous->numbered.Keep();  // the rendezvous carries nothing more
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
    : group_(group),
      teardown_(group, &interrupter_, [this] { Disconnect(); }),
      sent_(group.size()),
      received_(group.size()) {}

absl::StatusOr<std::unique_ptr<Backend>> GlooBackend::Create(const Group& group,
                                                             const CommunicatorOptions& options) {
  const SigpipeGuard guard;  // threads that Gloo and this backend start inherit it
  std::unique_ptr<GlooBackend> backend(new GlooBackend(group));
  if (absl::Status status = backend->Assemble(options); !status.ok()) return status;
  return backend;
}

GlooBackend::~GlooBackend() { teardown_.Finish(); }

void GlooBackend::Abort(const absl::Status& why) { interrupter_.Raise(why); }

absl::Status GlooBackend::Assemble(const CommunicatorOptions& options) {
  const Deadline deadline(*options.timeout, options.cancellation);
  absl::StatusOr<std::unique_ptr<Mesh>> mesh = Listen(group_, options.interface, &interrupter_);
  const absl::StatusOr<std::vector<GlooPeerInfo>> infos =
      ExchangeGlooPeerInfos(group_, mesh, CallOptions{options.timeout, options.cancellation});
  if (!infos.ok()) return infos.status();
  mesh_ = *std::move(mesh);
  const Subscription lost = group_.OnFailure([this](const absl::Status& why) { Abort(why); });
  absl::Status status = Connect(*infos, deadline);
  if (status.ok()) status = AwaitAllRanks(deadline);
  if (status.ok()) status = ShareMemory(*infos, deadline);
  return status;
}

absl::Status GlooBackend::Connect(const std::vector<GlooPeerInfo>& infos,
                                  const Deadline& deadline) {
  const CancelWatch watch(deadline.cancellation(), [this] { interrupter_.Raise(Cancelled()); });
  interrupter_.Arm(deadline.Left());
  absl::Status status = mesh_->Connect(infos, deadline);
  interrupter_.Disarm();
  if (!status.ok()) mesh_.reset();
  if (status.ok()) plane_ = std::make_unique<ConnectionPlane>(mesh_->context());
  return status;
}

// Blocks until all ranks have arrived. A connection that the peer's kernel has accepted may wait
// forever for its process. When this returns, all ranks are known to run, and to be ready for end
// notices. It fails if the interrupter was raised when the connections had just been made.
absl::Status GlooBackend::AwaitAllRanks(const Deadline& deadline) {
  teardown_.Add(&mesh_->connection_monitor());
  Operation operation;
  operation.kind = OperationKind::kCreation;
  return RunPart(operation, deadline, [&](CollectivePlane& plane) { plane.Barrier(operation); });
}

// Shares memory among ranks of a node where that is possible. Returns OK if it is not.
absl::Status GlooBackend::ShareMemory(const std::vector<GlooPeerInfo>& infos,
                                      const Deadline& deadline) {
  absl::StatusOr<NodeLayout> nodes = NodesThatShare(group_, infos);
  if (!nodes.ok()) {
    LogSharing(group_, DescribeNoSharing(nodes.status()));
    return absl::OkStatus();
  }
  auto region = OpenRegion(infos, deadline, &*nodes);
  if (mesh_ == nullptr) return region.status();
  LogSharing(group_, DescribeSharing(*nodes, region.status()));
  if (!nodes->all_alone()) ChoosePlane(region.ok() ? *std::move(region) : nullptr, *nodes);
  return absl::OkStatus();
}

// Opens the region in three steps: README.md, "How the ranks choose". All ranks of a node use the
// region, or none does. It has a name only until its ranks have agreed on that. If all of them are
// killed before, the maker of the next region removes the name.
absl::StatusOr<std::unique_ptr<SharedRegion>> GlooBackend::OpenRegion(
    const std::vector<GlooPeerInfo>& infos, const Deadline& deadline, NodeLayout* nodes) {
  const NodeLayout wanted = *nodes;
  const bool first = group_.rank() == wanted.neighbours_of(group_.rank()).front();
  auto region = MakeNodeRegion(wanted, group_.rank(), infos);
  const absl::StatusOr<std::vector<bool>> made = AllGatherBool(region.ok(), 1, deadline);
  if (!made.ok()) return made.status();
  if (!first) region = OpenNodeRegion(group_, wanted, infos, *made);
  const absl::StatusOr<std::vector<bool>> have = AllGatherBool(region.ok(), 2, deadline);
  if (!have.ok()) return have.status();
  *nodes = wanted.WithUnsharedNodesSplit(*have);
  if (!region.ok()) return region;
  const absl::Status shared = CheckNodeShares(group_, wanted, *have);
  if (!shared.ok()) return shared;
  (*region)->Unlink();
  return region;
}

void GlooBackend::ChoosePlane(std::unique_ptr<SharedRegion> region, const NodeLayout& nodes) {
  std::unique_ptr<NodeMemory> memory;
  if (region != nullptr) {
    memory = std::make_unique<NodeMemory>(std::move(region), nodes.neighbours_of(group_.rank()),
                                          nodes.index_of(group_.rank()), &interrupter_,
                                          [this] { teardown_.CheckPeers(); });
    teardown_.Add(memory.get());
  }
  if (nodes.nodes().size() == 1) {
    plane_ = std::make_unique<SharedPlane>(std::move(memory), group_.size());
  } else {
    plane_ =
        std::make_unique<TwoLevelPlane>(nodes, group_.rank(), mesh_->context(), std::move(memory));
  }
}

absl::StatusOr<std::vector<bool>> GlooBackend::AllGatherBool(bool value, uint64_t number,
                                                             const Deadline& deadline) {
  const uint8_t own = value ? 1 : 0;
  std::vector<uint8_t> all(group_.size());
  Operation operation;
  operation.kind = OperationKind::kCreation;
  operation.number = number;
  operation.count = 1;
  const absl::Status status = RunPart(operation, deadline, [&](CollectivePlane& plane) {
    plane.AllGather(operation, &own, all.data());
  });
  if (!status.ok()) return status;
  return std::vector<bool>(all.begin(), all.end());
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

absl::Status GlooBackend::RunPart(const Operation& operation, const Deadline& whole,
                                  absl::FunctionRef<void(CollectivePlane&)> call) {
  return whole.RunPart([&](absl::Duration left) {
    return Run(operation, CallOptions{left, whole.cancellation()}, call);
  });
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
  if (mesh_ == nullptr) return interrupter_.status();
  const bool barrier =
      operation.kind == OperationKind::kBarrier || operation.kind == OperationKind::kCreation;
  const Deadline deadline(*options.timeout, options.cancellation);
  const bool empty = operation.count == 0 && !barrier;
  if (empty && !absl::IsCancelled(deadline.Check())) return absl::OkStatus();
  std::optional<absl::Status> error;
  Attempt(options, call, [&](const CallFailure& failure) {
    if (!error) error = teardown_.Fail(operation, deadline, failure);
  });
  if (!error) return absl::OkStatus();
  teardown_.Close();
  return *error;
}

// Makes the call. After it, and once it has failed, its time-out and cancellation can no longer
// raise the interrupter. So a late cancellation counts for this call or for none, and never for the
// next one.
void GlooBackend::Attempt(const CallOptions& options, absl::FunctionRef<void()> call,
                          absl::FunctionRef<void(const CallFailure&)> fail) {
  std::optional<CancelWatch> watch(std::in_place, options.cancellation,
                                   [this] { interrupter_.Raise(Cancelled()); });
  interrupter_.Arm(*options.timeout);
  const auto end = [&](const CallFailure& failure) {
    watch.reset();
    interrupter_.Disarm();
    if (!failure.reason.empty() || interrupter_.raised()) fail(failure);
  };
  interrupter_.SetBeforeThrow([&](const std::exception& error) { end(FailureOf(error)); });
  CallFailure failure;
  try {
    // Sends nothing if the call was cancelled before it began.
    if (!interrupter_.raised()) call();
  } catch (const std::exception& error) {
    failure = FailureOf(error);
  }
  interrupter_.SetBeforeThrow(nullptr);
  end(failure);
}

// Drops the plane last: neighbours that it wakes then find that the connections have broken.
void GlooBackend::Disconnect() {
  mesh_.reset();
  plane_.reset();
}

}  // namespace muster::internal
