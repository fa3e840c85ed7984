#include "common/names/node_names.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr absl::string_view kBootIdShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr size_t kShortestBootId = 4;

bool IsBootId(absl::string_view text) {
  if (text.empty()) return true;  // the kernel does not state it
  return std::equal(
      text.begin(), text.end(), kBootIdShape.begin(), kBootIdShape.end(), [](char c, char shape) {
        return shape == 'x' ? absl::ascii_isxdigit(static_cast<unsigned char>(c)) : c == shape;
      });
}

struct GeneratedId {
  absl::string_view host;
  absl::string_view boot_id;
};

// Splits an id of MakeNodeId(). Returns nullopt for an id that a user has given.
std::optional<GeneratedId> Parse(absl::string_view node_id) {
  const size_t slash = node_id.rfind('/');
  if (slash == absl::string_view::npos || slash == 0) return std::nullopt;
  const absl::string_view boot_id = node_id.substr(slash + 1);
  if (!IsBootId(boot_id)) return std::nullopt;
  return GeneratedId{node_id.substr(0, slash), boot_id};
}

size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return std::mismatch(a.begin(), a.begin() + most, b.begin()).first - a.begin();
}

}  // namespace

std::string MakeNodeId(absl::string_view hostname, absl::string_view boot_id) {
  return absl::StrCat(hostname, "/", boot_id);
}

void NodeNames::Add(absl::string_view node_id) {
  const std::optional<GeneratedId> id = Parse(node_id);
  if (id) ++hosts_[std::string(id->host)][std::string(id->boot_id)];
}

void NodeNames::Remove(absl::string_view node_id) {
  const std::optional<GeneratedId> id = Parse(node_id);
  if (!id) return;
  const auto host = hosts_.find(id->host);
  if (host == hosts_.end()) return;
  const auto boot = host->second.find(std::string(id->boot_id));
  if (boot != host->second.end() && --boot->second == 0) host->second.erase(boot);
  if (host->second.empty()) hosts_.erase(host);
}

std::string NodeNames::NameOf(absl::string_view node_id) const {
  const std::optional<GeneratedId> id = Parse(node_id);
  if (!id) return std::string(node_id);
  const auto host = hosts_.find(id->host);
  size_t shared = 0;
  bool alone = true;
  if (host != hosts_.end()) {
    // The map is sorted, so the ids that share the longest prefix with this one are its neighbours.
    const auto& boots = host->second;
    const std::string own(id->boot_id);
    const auto compare = [&](const std::string& other) {
      alone = false;
      shared = std::max(shared, CommonPrefix(own, other));
    };
    const auto next = boots.upper_bound(own);
    if (next != boots.end()) compare(next->first);
    const auto at = boots.lower_bound(own);
    if (at != boots.begin()) compare(std::prev(at)->first);
  }
  if (alone) return std::string(id->host);
  return absl::StrCat(id->host, "/", id->boot_id.substr(0, std::max(kShortestBootId, shared + 1)));
}

std::string NodeNames::Describe(absl::string_view node_id) const {
  const std::string name = NameOf(node_id);
  return Parse(node_id) ? absl::StrCat("host ", name) : absl::StrCat("node '", name, "'");
}

std::string NodeNames::DescribeWithHost(absl::string_view node_id,
                                        absl::string_view hostname) const {
  if (Parse(node_id)) return Describe(node_id);
  if (hostname == node_id) return absl::StrCat("host ", hostname);
  return absl::StrCat(Describe(node_id), ", host ", hostname.empty() ? "unknown" : hostname);
}

std::string NodeNames::DescribeLauncherNode(absl::string_view name) const {
  if (hosts_.find(name) != hosts_.end()) return absl::StrCat("host ", name);
  return Describe(name);
}

}  // namespace muster
