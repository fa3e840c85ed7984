#include "client/src/protocol/groups/member_group.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"
#include "common/names/group_digest.h"

namespace muster::internal {
namespace {

std::string DigestOf(const std::string& name, const std::vector<int>& ranks) {
  return name.empty() ? "" : GroupDigest(name, std::vector<uint32_t>(ranks.begin(), ranks.end()));
}

}  // namespace

void GroupArrivals::Completed(const std::optional<SessionId>& session, CollectiveKind kind,
                              const Response& answer) {
  known_in_ = session;
  answer_bytes_[static_cast<size_t>(kind)] = PayloadBytesOf(answer);
}

MemberGroup::MemberGroup(std::string group_name, std::vector<int> group_ranks,
                         std::shared_ptr<const NodeGroup> on_node)
    : name(std::move(group_name)),
      ranks(std::move(group_ranks)),
      digest(DigestOf(name, ranks)),
      at_node(std::move(on_node)),
      sequence(name.empty() ? "the world" : absl::StrCat("group '", name, "'")) {}

const std::vector<int>& MemberGroup::RanksToName(const std::optional<SessionId>& session) const {
  static const auto* const none = new std::vector<int>();
  return arrivals.IsKnownIn(session) ? *none : ranks;
}

void MemberGroup::Restart() {
  ++lives;
  sequence.Restart();
  arrivals = GroupArrivals();
}

}  // namespace muster::internal
