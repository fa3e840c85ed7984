#include "server/core/api/answer_size.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::core {
namespace {

constexpr size_t kMaxNamed = 4;

std::string DescribeLimit(uint64_t limit) {
  const std::string more = limit == kMaxMessageBytes
                               ? "; no message carries more"
                               : absl::StrCat(" raises it, up to ", kMaxMessageBytes);
  return absl::StrCat(limit, " (musterd --max-answer-bytes", more, ")");
}

}  // namespace

std::string DescribeTooLarge(std::vector<Contribution> contributions, uint64_t answer_bytes,
                             uint64_t limit) {
  const size_t named = std::min(kMaxNamed, contributions.size());
  std::partial_sort(contributions.begin(), contributions.begin() + named, contributions.end(),
                    [](const Contribution& a, const Contribution& b) {
                      return std::make_tuple(b.bytes, a.rank) < std::make_tuple(a.bytes, b.rank);
                    });
  const size_t ranks = contributions.size();
  contributions.resize(named);
  const std::string largest =
      absl::StrJoin(contributions, ", ", [](std::string* out, const Contribution& c) {
        absl::StrAppend(out, "rank ", c.rank, " (", c.bytes, " bytes)");
      });
  return absl::StrCat("with the payloads of ", ranks, ranks == 1 ? " rank" : " ranks",
                      " the answer has ", answer_bytes, " bytes already; the limit is ",
                      DescribeLimit(limit), ". The largest payloads: ", largest);
}

}  // namespace muster::core
