#include "client/nccl/bootstrap/bootstrap.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/nccl/bootstrap/agreement.h"
#include "client/nccl/bootstrap/config_strings.h"
#include "client/nccl/bootstrap/ids.h"
#include "client/nccl/bootstrap/nccl_peer_info.h"
#include "client/nccl/bootstrap/settings.h"
#include "client/nccl/communicator/stopper.h"
#include "client/nccl/device/errors.h"
#include "client/nccl/device/features.h"
#include "client/nccl/device/nccl_types.h"
#include "client/src/base/error_note.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/data_plane/rendezvous.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

constexpr char kBackend[] = "nccl";
constexpr char kWhat[] = "initializing NCCL";

absl::string_view Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::Status CheckConfig(const ncclConfig_t& config) {
  if (config.blocking == NCCL_CONFIG_UNDEF_INT || config.blocking == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "NcclOptions::config.blocking is ", config.blocking,
      ", expected it to be left alone: a call that blocks could not be ended when a rank is lost"));
}

absl::StatusOr<Device> Prepare(const Group& group, const NcclOptions& options,
                               absl::FunctionRef<absl::Status()> prepare) {
  if (absl::Status status = CheckNcclEnvironment(); !status.ok()) {
    return WithExitCode(status, kExitBadConfiguration);
  }
  if (absl::Status status = CheckConfig(options.config); !status.ok()) return status;
  if (absl::Status status = Stopper::Get().Start(); !status.ok()) return status;
  absl::StatusOr<Device> device = OpenDevice(options.device, group.member(group.rank()).local_rank);
  if (!device.ok()) return device.status();
  if (absl::Status status = prepare(); !status.ok()) return status;
  return device;
}

absl::Status CheckNcclVersion(int version) {
  if (version >= kOldestNcclVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this process has loaded NCCL ", NcclVersionText(version), ", expected ",
                   NcclVersionText(kOldestNcclVersion), " or newer (see LD_LIBRARY_PATH)"));
}

absl::StatusOr<NcclPeerInfo> MakeNcclPeerInfo(const absl::StatusOr<Device>& device,
                                              const NcclOptions& options) {
  if (!device.ok()) return device.status();
  const int version = LoadedNcclVersion();
  if (absl::Status status = CheckNcclVersion(version); !status.ok()) return status;
  NcclPeerInfo info;
  info.set_gpu_index(device->index);
  info.set_gpu_name(device->name);
  info.set_gpu_uuid(device->uuid);
  info.set_nccl_version(version);
  info.set_allow_shared_gpu(options.allow_shared_gpu ||
                            Environment("MUSTER_ALLOW_SHARED_GPU") == "1");
  AddSettings(NcclVariables(), options.config, &info);
  return info;
}

absl::StatusOr<NumberedGroup> ExchangeNcclPeerInfos(const Group& group,
                                                    const absl::StatusOr<NcclPeerInfo>& own,
                                                    const Deadline& deadline) {
  auto rendezvous = ExchangePeerInfos(group, kBackend, own, deadline.Remaining());
  if (!rendezvous.ok()) return rendezvous.status();
  absl::Status status = CheckNcclPeerInfos(group, rendezvous->infos);
  if (!status.ok()) return status;
  return std::move(rendezvous->numbered);
}

ncclResult_t BeginInit(const Group& group, ncclConfig_t config, std::vector<ncclUniqueId>& ids,
                       ncclComm_t* comm) {
  config.blocking = 0;
  InternConfigStrings(&config);
  if (ids.size() > 1) {
    return ncclCommInitRankScalable(comm, group.size(), group.rank(), static_cast<int>(ids.size()),
                                    ids.data(), &config);
  }
  return ncclCommInitRankConfig(comm, group.size(), ids.front(), group.rank(), &config);
}

// Adds the exit code for an unhealthy node if the failure began on this node. It did not if a peer,
// the deadline, the program or an argument caused it.
absl::Status WithNodeExitCode(const absl::Status& own, absl::Status agreed) {
  const bool here = !own.ok() && own.code() == agreed.code() && !absl::IsAborted(own) &&
                    !absl::IsCancelled(own) && !absl::IsDeadlineExceeded(own) &&
                    !absl::IsInvalidArgument(own);
  return here ? WithExitCode(std::move(agreed), kExitUnhealthyNode) : agreed;
}

}  // namespace

std::unique_ptr<StopBoard> OpenStopBoard(absl::string_view secret) {
  auto board = StopBoard::Open(StopBoard::NameOf(secret));
  if (board.ok()) return *std::move(board);
  Log(LogLevel::kDebug, absl::StrCat("a communicator's ranks do not tell each other when they stop "
                                     "NCCL: ",
                                     board.status().message()));
  return nullptr;
}

absl::Status CheckNcclEnvironment() { return CheckNcclVariables(NcclVariables()); }

absl::Status InitializeOnAllRanks(const Group& group, NcclHandle* handle, absl::string_view what,
                                  const Deadline& deadline,
                                  absl::FunctionRef<absl::Status(const Deadline&)> initialize) {
  const absl::Duration reserve = AgreementReserve(deadline.timeout());
  absl::Status status = initialize(deadline.Without(reserve));
  // Stops the communicator while the other ranks are told.
  if (!status.ok() && handle != nullptr) handle->Fail(status);
  const absl::Status own = status;
  status = WithNodeExitCode(own, AgreeOnOutcome(group, what, own, reserve, deadline));
  if (!status.ok() && handle != nullptr) {
    handle->Discard(status, deadline.Without(reserve / 4).when());
  }
  return status;
}

absl::StatusOr<std::shared_ptr<NcclHandle>> Bootstrap(const Group& group,
                                                      const NcclOptions& options,
                                                      absl::FunctionRef<absl::Status()> prepare) {
  const ArgumentCheck check("NcclCommunicator::Create", group.rank(), group.size());
  if (absl::Status status = check.Timeout(options.timeout); !status.ok()) return status;
  if (absl::Status status = check.NotAlone(group); !status.ok()) return status;
  const absl::Duration timeout = options.timeout.value_or(group.default_timeout());
  const Deadline deadline(timeout, options.cancellation);

  const absl::StatusOr<Device> device = Prepare(group, options, prepare);
  absl::StatusOr<NumberedGroup> numbered =
      ExchangeNcclPeerInfos(group, MakeNcclPeerInfo(device, options), deadline);
  if (!numbered.ok()) return numbered.status();
  const Group& here = numbered->group();
  absl::StatusOr<std::vector<ncclUniqueId>> ids = ShareIds(here, RanksPerId(), deadline);
  if (!ids.ok()) return ids.status();
  const ncclUniqueId& id = ids->front();
  std::unique_ptr<StopBoard> board =
      OpenStopBoard(absl::string_view(id.internal, sizeof(id.internal)));
  absl::Status status = here.Barrier("ready to initialize NCCL",
                                     deadline.Without(AgreementReserve(timeout)).Remaining());
  if (!status.ok()) return status;
  std::shared_ptr<NcclHandle> handle =
      NcclHandle::Open(group, *device, timeout, options.config.splitShare, std::move(board));
  status = InitializeOnAllRanks(here, handle.get(), kWhat, deadline, [&](const Deadline& shorter) {
    return handle->Initialize(kWhat, shorter, [&](ncclComm_t* comm) {
      return BeginInit(group, options.config, *ids, comm);
    });
  });
  // Removes the name: all ranks have opened the board, or no rank keeps its communicator.
  if (handle->board() != nullptr) handle->board()->Unlink();
  if (!status.ok()) return status;
  numbered->Keep();
  return handle;
}

}  // namespace muster::internal
