#include "client/nccl/bootstrap.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/nccl/agreement.h"
#include "client/nccl/card.h"
#include "client/nccl/errors.h"
#include "client/nccl/features.h"
#include "client/nccl/ids.h"
#include "client/src/argument_check.h"
#include "client/src/rendezvous.h"

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

absl::StatusOr<NcclCard> MakeCard(const Group& group, const NcclOptions& options,
                                  absl::FunctionRef<absl::Status()> prepare) {
  if (absl::Status status = CheckNcclEnvironment(); !status.ok()) return status;
  if (absl::Status status = CheckConfig(options.config); !status.ok()) return status;
  absl::StatusOr<Device> device = OpenDevice(options.device, group.member(group.rank()).local_rank);
  if (!device.ok()) return device.status();
  if (absl::Status status = prepare(); !status.ok()) return status;
  NcclCard card;
  card.device = *std::move(device);
  card.allow_shared_gpu = options.allow_shared_gpu || Environment("MUSTER_ALLOW_SHARED_GPU") == "1";
  absl::Status version = NcclStatus("ncclGetVersion", ncclGetVersion(&card.nccl_version));
  if (!version.ok()) return version;
  return card;
}

absl::StatusOr<NumberedGroup> ExchangeNcclCards(const Group& group,
                                                const absl::StatusOr<NcclCard>& own,
                                                const Patience& patience) {
  const absl::StatusOr<std::string> card =
      own.ok() ? absl::StatusOr<std::string>(EncodeNcclCard(*own)) : own.status();
  absl::StatusOr<Rendezvous> rendezvous =
      ExchangeCards(group, kBackend, card, patience.Remaining());
  if (!rendezvous.ok()) return rendezvous.status();
  std::vector<NcclCard> cards;
  for (const std::string& bytes : rendezvous->cards) {
    absl::StatusOr<NcclCard> decoded = DecodeNcclCard(bytes);
    if (!decoded.ok()) return decoded.status();
    cards.push_back(*std::move(decoded));
  }
  if (absl::Status status = CheckNcclCards(group, cards); !status.ok()) return status;
  return std::move(rendezvous->numbered);
}

ncclResult_t BeginInit(const Group& group, ncclConfig_t config, std::vector<ncclUniqueId>& ids,
                       ncclComm_t* comm) {
  config.blocking = 0;
#if MUSTER_NCCL_HAS_SCALABLE_INIT
  if (ids.size() > 1) {
    return ncclCommInitRankScalable(comm, group.size(), group.rank(), static_cast<int>(ids.size()),
                                    ids.data(), &config);
  }
#endif
  return ncclCommInitRankConfig(comm, group.size(), ids.front(), group.rank(), &config);
}

}  // namespace

absl::Status CheckNcclEnvironment() {
  if (const absl::string_view id = Environment("NCCL_COMM_ID"); !id.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "NCCL_COMM_ID is set ('", id,
        "'): NCCL would use it in place of every id, so that communicators mix with each other and "
        "with those of former attempts; unset it: the job brings the ranks together"));
  }
  if (const absl::string_view mode = Environment("NCCL_COMM_BLOCKING");
      !mode.empty() && mode != "0") {
    return absl::FailedPreconditionError(absl::StrCat(
        "NCCL_COMM_BLOCKING is set ('", mode,
        "'): NCCL's calls would block, and nothing could end them when a rank is lost; unset it"));
  }
  return absl::OkStatus();
}

absl::Status InitializeTogether(const Group& group, NcclHandle* handle, absl::string_view what,
                                const Patience& patience,
                                absl::FunctionRef<absl::Status(const Patience&)> initialize) {
  const absl::Duration reserve = ReserveOf(patience.timeout());
  absl::Status status = initialize(patience.Without(reserve));
  // It is stopped while the others are told.
  if (!status.ok() && handle != nullptr) handle->Fail(status);
  status = Agree(group, what, status, reserve, patience);
  if (!status.ok() && handle != nullptr) {
    handle->Discard(status, patience.Without(reserve / 4).deadline());
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
  const Patience patience(timeout, options.cancellation);

  const absl::StatusOr<NcclCard> card = MakeCard(group, options, prepare);
  absl::StatusOr<NumberedGroup> numbered = ExchangeNcclCards(group, card, patience);
  if (!numbered.ok()) return numbered.status();
  const Group& here = numbered->group();
  absl::StatusOr<std::vector<ncclUniqueId>> ids = ShareIds(here, RanksPerId(), patience);
  if (!ids.ok()) return ids.status();
  absl::Status status =
      here.Barrier("ready to initialize NCCL", patience.Without(ReserveOf(timeout)).Remaining());
  if (!status.ok()) return status;
  std::shared_ptr<NcclHandle> handle = NcclHandle::Open(group, card->device, timeout);
  status = InitializeTogether(here, handle.get(), kWhat, patience, [&](const Patience& shorter) {
    return handle->Initialize(kWhat, shorter, [&](ncclComm_t* comm) {
      return BeginInit(group, options.config, *ids, comm);
    });
  });
  if (!status.ok()) return status;
  numbered->Keep();
  return handle;
}

}  // namespace muster::internal
