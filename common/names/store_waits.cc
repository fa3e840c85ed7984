#include "common/names/store_waits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text/number_ranges.h"

namespace muster {
namespace {

std::string DescribeLaunchers(const std::vector<std::string>& nodes) {
  constexpr size_t kMost = 4;
  const size_t named = std::min(nodes.size(), kMost);
  std::string text = absl::StrCat(nodes.size() == 1 ? "the launcher of " : "the launchers of ",
                                  absl::StrJoin(nodes.begin(), nodes.begin() + named, ", "));
  if (nodes.size() > named) absl::StrAppend(&text, ", ", nodes.size() - named, " more");
  return text;
}

}  // namespace

std::string DescribeStoreClients(const std::vector<uint32_t>& ranks,
                                 const std::vector<std::string>& launcher_nodes, uint32_t others) {
  std::vector<std::string> who;
  if (!ranks.empty()) {
    who.push_back(absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", NumberRanges(ranks)));
  }
  if (!launcher_nodes.empty()) who.push_back(DescribeLaunchers(launcher_nodes));
  if (others == 1) who.emplace_back("a process without a rank");
  if (others > 1) who.push_back(absl::StrCat(others, " processes without a rank"));
  const bool many = ranks.size() + launcher_nodes.size() + others > 1;
  return absl::StrCat(absl::StrJoin(who, " and "), many ? " have" : " has", " waited");
}

std::string DescribeWaitInStore(absl::string_view missing) {
  return absl::StrCat("the store (", missing, ")");
}

}  // namespace muster
