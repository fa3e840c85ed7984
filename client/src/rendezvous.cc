#include "client/src/rendezvous.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/patience.h"
#include "client/src/peer_names.h"
#include "muster/codec.h"
#include "muster/version.h"

namespace muster::internal {
namespace {

constexpr absl::string_view kMeeting = "communicator";
constexpr absl::string_view kTypeName = "communicator card";

struct Entry {
  std::string backend;  // empty: the rank failed before it chose one
  std::string version;
  std::string error;  // why the rank cannot take part; empty: it can
  std::string card;
};

std::string Pack(const Entry& entry) {
  return Encode(std::vector<std::string>{entry.backend, entry.version, entry.error, entry.card});
}

absl::StatusOr<Entry> Unpack(absl::string_view bytes) {
  absl::StatusOr<std::vector<std::string>> fields = Decode<std::vector<std::string>>(bytes);
  if (!fields.ok()) return fields.status();
  if (fields->size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("a communicator card has ", fields->size(), " fields, expected 4"));
  }
  return Entry{(*fields)[0], (*fields)[1], (*fields)[2], std::move((*fields)[3])};
}

absl::Status CheckAllTakePart(const Group& group, const std::vector<Entry>& entries) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].error.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(DescribePeer(group, static_cast<int>(i)),
                     " cannot take part in the communicator: ", entries[i].error));
  }
  return absl::OkStatus();
}

// FAILED_PRECONDITION if the ranks do not hold the same `field`.
absl::Status CheckAgreement(const std::vector<Entry>& entries, std::string Entry::*field,
                            absl::string_view what, absl::string_view advice) {
  std::map<std::string, std::vector<int>> holders;
  for (size_t i = 0; i < entries.size(); ++i) {
    holders[entries[i].*field].push_back(static_cast<int>(i));
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

absl::Status CheckEntries(const Group& group, const std::vector<Entry>& entries) {
  absl::Status status = CheckAllTakePart(group, entries);
  if (status.ok()) {
    status = CheckAgreement(entries, &Entry::version, "SDK versions",
                            "build all programs of the job with one version");
  }
  if (status.ok()) {
    status = CheckAgreement(entries, &Entry::backend, "backends",
                            "name one that all of them link, in CommunicatorOptions::backend or "
                            "MUSTER_BACKEND");
  }
  return status;
}

}  // namespace

absl::StatusOr<Rendezvous> ExchangeCards(const Group& group, absl::string_view backend,
                                         const absl::StatusOr<std::string>& card,
                                         const CallOptions& options) {
  const Patience patience(options.timeout.value_or(group.default_timeout()), options.cancellation);
  absl::StatusOr<NumberedGroup> numbered =
      MeetInNumberedGroup(group, kMeeting, patience.Remaining());
  if (!numbered.ok()) return card.ok() ? numbered.status() : card.status();
  Entry own{std::string(backend), MUSTER_VERSION,
            card.status().ok() ? "" : card.status().ToString(), card.ok() ? *card : ""};
  const absl::StatusOr<std::vector<std::string>> payloads =
      numbered->group().AllGatherBytes(Pack(own), kTypeName, patience.Remaining());
  if (!card.ok()) return card.status();
  if (!payloads.ok()) return payloads.status();
  std::vector<Entry> entries;
  for (const std::string& payload : *payloads) {
    absl::StatusOr<Entry> entry = Unpack(payload);
    if (!entry.ok()) return entry.status();
    entries.push_back(*std::move(entry));
  }
  if (absl::Status status = CheckEntries(group, entries); !status.ok()) return status;
  Rendezvous rendezvous = {*std::move(numbered), {}};
  for (Entry& entry : entries) rendezvous.cards.push_back(std::move(entry.card));
  return rendezvous;
}

}  // namespace muster::internal
