#include "client/src/data_plane/rendezvous.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/base/deadline.h"
#include "client/src/base/error_note.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"
#include "common/names/operation_names.h"
#include "muster/sdk/v1/peers.pb.h"
#include "muster/version.h"

namespace muster::internal {
namespace {

constexpr absl::string_view kCreate = "Communicator::Create";

using Entries = std::vector<sdk::v1::CommunicatorEntry>;

sdk::v1::CommunicatorEntry EntryOf(absl::string_view backend,
                                   const absl::StatusOr<std::string>& own) {
  sdk::v1::CommunicatorEntry entry;
  entry.set_backend(std::string(backend));
  entry.set_sdk_version(MUSTER_VERSION);
  if (own.ok()) {
    entry.set_peer_info(*own);
  } else {
    entry.set_error(CodeAndText(own.status()));
  }
  return entry;
}

absl::Status CheckAllTakePart(const Group& group, const Entries& entries) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].error().empty()) continue;
    const int index = static_cast<int>(i);
    const absl::Status error = absl::FailedPreconditionError(absl::StrCat(
        DescribePeer(group, index), " cannot take part in the communicator: ", entries[i].error()));
    return WithExitCode(WithMember(group, index, error), kExitPeerLost);
  }
  return absl::OkStatus();
}

// Returns FAILED_PRECONDITION if a field differs between the ranks.
absl::Status CheckAgreement(const Entries& entries,
                            const std::string& (sdk::v1::CommunicatorEntry::*field)() const,
                            absl::string_view what, absl::string_view advice) {
  std::map<std::string, std::vector<int>> holders;
  for (size_t i = 0; i < entries.size(); ++i) {
    holders[(entries[i].*field)()].push_back(static_cast<int>(i));
  }
  if (holders.size() == 1) return absl::OkStatus();
  std::vector<std::string> sides;
  for (const auto& [value, ranks] : holders) {
    sides.push_back(absl::StrCat(RankList(ranks), " '", value, "'"));
  }
  return absl::FailedPreconditionError(absl::StrCat("the ranks of the communicator have different ",
                                                    what, ": ", absl::StrJoin(sides, ", "), "; ",
                                                    advice));
}

absl::Status CheckEntries(const Group& group, const Entries& entries) {
  absl::Status status = CheckAllTakePart(group, entries);
  if (status.ok()) {
    status = CheckAgreement(entries, &sdk::v1::CommunicatorEntry::sdk_version, "SDK versions",
                            "build all programs of the job with one version");
  }
  if (status.ok()) {
    status = CheckAgreement(entries, &sdk::v1::CommunicatorEntry::backend, "backends",
                            "name one that all of them link, in CommunicatorOptions::backend or "
                            "MUSTER_BACKEND");
  }
  return status;
}

}  // namespace

absl::StatusOr<Rendezvous<std::string>> ExchangePeerBytes(const Group& group,
                                                          absl::string_view backend,
                                                          const absl::StatusOr<std::string>& own,
                                                          const CallOptions& options) {
  const Deadline deadline(options.timeout.value_or(group.default_timeout()), options.cancellation);
  absl::StatusOr<NumberedGroup> numbered =
      AgreeOnNumberedGroup(group, kCreate, deadline.Remaining());
  if (!numbered.ok()) return own.ok() ? numbered.status() : own.status();
  const CallOptions rest = deadline.Remaining();
  const auto payloads =
      numbered->group().AllGatherBytes(Encode(EntryOf(backend, own)), CallTypeName(kCreate), rest);
  if (!own.ok()) return own.status();
  if (!payloads.ok()) return deadline.NameWhole(payloads.status(), *rest.timeout);
  Entries entries;
  for (const std::string& payload : *payloads) {
    auto entry = Decode<sdk::v1::CommunicatorEntry>(payload);
    if (!entry.ok()) return entry.status();
    entries.push_back(*std::move(entry));
  }
  if (absl::Status status = CheckEntries(group, entries); !status.ok()) return status;
  Rendezvous<std::string> rendezvous = {*std::move(numbered), {}};
  for (auto& entry : entries) rendezvous.infos.push_back(std::move(*entry.mutable_peer_info()));
  return rendezvous;
}

}  // namespace muster::internal
