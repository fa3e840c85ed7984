#include "client/src/data_plane/argument_check.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/base/reduction.h"

namespace muster::internal {
namespace {

std::vector<absl::string_view> AllNames() {
  std::vector<absl::string_view> names;
  for (int op = 0; !NameOf(static_cast<ReduceOp>(op)).empty(); ++op) {
    names.push_back(NameOf(static_cast<ReduceOp>(op)));
  }
  return names;
}

bool AreDisjoint(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const char* a_begin = static_cast<const char*>(a);
  const char* b_begin = static_cast<const char*>(b);
  const std::less_equal<const char*> not_after;
  return a_bytes == 0 || b_bytes == 0 || not_after(a_begin + a_bytes, b_begin) ||
         not_after(b_begin + b_bytes, a_begin);
}

struct Area {
  const char* begin;
  const char* end;
  bool received;
};

std::vector<Area> AreasOf(absl::Span<const Message> sends, absl::Span<const Message> receives) {
  std::vector<Area> areas;
  const auto add = [&areas](const Message& message, bool received) {
    const auto* const begin = static_cast<const char*>(message.data);
    if (message.count > 0) areas.push_back({begin, begin + message.bytes(), received});
  };
  for (const Message& message : sends) add(message, false);
  for (const Message& message : receives) add(message, true);
  return areas;
}

// Returns whether a received area overlaps with any other. Areas to be sent may overlap each other.
bool AnyReceivedOverlaps(std::vector<Area> areas) {
  const std::less<const char*> before;
  std::sort(areas.begin(), areas.end(),
            [&](const Area& a, const Area& b) { return before(a.begin, b.begin); });
  const char* end = nullptr;           // the highest end so far
  const char* received_end = nullptr;  // the highest end of a received area so far
  for (const Area& area : areas) {
    if (before(area.begin, area.received ? end : received_end)) return true;
    end = std::max(end, area.end, before);
    if (area.received) received_end = std::max(received_end, area.end, before);
  }
  return false;
}

// Floats are the last enumerators.
bool IsFloat(DataType type) { return type >= DataType::kFloat8E4m3; }

}  // namespace

template <class... Pieces>
absl::Status ArgumentCheck::Refuse(const Pieces&... pieces) const {
  return absl::InvalidArgumentError(
      absl::StrCat(operation_, " on rank ", rank_, " of ", size_, ": ", pieces...));
}

absl::Status ArgumentCheck::SameSize(size_t in_count, size_t out_count) const {
  if (in_count == out_count) return absl::OkStatus();
  return Refuse("in has ", in_count, " elements and out has ", out_count,
                ", expected the same number");
}

absl::Status ArgumentCheck::Parts(absl::string_view whole_name, size_t whole,
                                  absl::string_view part_name, size_t part) const {
  if (whole % size_ == 0 && whole / size_ == part) return absl::OkStatus();
  return Refuse(whole_name, " has ", whole, " elements and ", part_name, " has ", part,
                ", expected ", whole_name, " to have ", size_, " times as many as ", part_name);
}

absl::Status ArgumentCheck::Root(int root) const {
  if (root >= 0 && root < size_) return absl::OkStatus();
  return Refuse("root is ", root, ", expected a rank from 0 to ", size_ - 1);
}

absl::Status ArgumentCheck::Peer(int peer) const {
  if (peer < 0 || peer >= size_) {
    return Refuse("peer is ", peer, ", expected a rank from 0 to ", size_ - 1);
  }
  if (peer == rank_) return Refuse("peer is this rank itself, expected another one");
  return absl::OkStatus();
}

absl::Status ArgumentCheck::Op(ReduceOp op, DataType type) const {
  if (NameOf(op).empty()) {
    return Refuse("op is ", static_cast<int>(op),
                  ", expected one of ReduceOp's: ", absl::StrJoin(AllNames(), ", "));
  }
  if (!IsBitwise(op) || !IsFloat(type)) return absl::OkStatus();
  return Refuse("op is ", NameOf(op), ", which is for integers and bool, not for ", NameOf(type));
}

absl::Status ArgumentCheck::Timeout(const std::optional<absl::Duration>& timeout) const {
  if (!timeout || (*timeout >= absl::ZeroDuration() && *timeout < absl::InfiniteDuration())) {
    return absl::OkStatus();
  }
  return Refuse("timeout is ", absl::FormatDuration(*timeout),
                ", expected one that is not negative and not infinite");
}

absl::Status ArgumentCheck::Counts(absl::Span<const size_t> counts, size_t in, size_t out) const {
  if (counts.size() != static_cast<size_t>(size_)) {
    return Refuse("there are ", counts.size(), " counts, expected one for each of ", size_,
                  " ranks");
  }
  const size_t total = std::accumulate(counts.begin(), counts.end(), size_t{0});
  if (in == counts[rank_] && out == total) return absl::OkStatus();
  return Refuse("in has ", in, " elements and out has ", out, ", expected ", counts[rank_], " and ",
                total, " by counts");
}

absl::Status ArgumentCheck::Exchange(int to, size_t out, int from, size_t in) const {
  if (to != rank_ || from != rank_) {
    absl::Status status = Peer(to);
    status.Update(Peer(from));
    return status;
  }
  if (in == out) return absl::OkStatus();
  return Refuse("out has ", out, " elements and in has ", in,
                ", expected the same number where a rank sends to itself");
}

absl::Status ArgumentCheck::Messages(absl::Span<const Message> sends,
                                     absl::Span<const Message> receives) const {
  for (absl::Span<const Message> messages : {sends, receives}) {
    for (const Message& message : messages) {
      if (absl::Status status = Peer(message.peer); !status.ok()) return status;
    }
  }
  if (AnyReceivedOverlaps(AreasOf(sends, receives))) {
    return Refuse("what is received overlaps with another tensor, expected them to be disjoint");
  }
  return absl::OkStatus();
}

absl::Status ArgumentCheck::Disjoint(const void* a, size_t a_bytes, const void* b,
                                     size_t b_bytes) const {
  if (AreDisjoint(a, a_bytes, b, b_bytes)) return absl::OkStatus();
  return Refuse("in and out overlap, expected them to be disjoint");
}

absl::Status ArgumentCheck::Overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes,
                                    size_t offset) const {
  const bool in_place = b == static_cast<const char*>(a) + offset;
  if (in_place || AreDisjoint(a, a_bytes, b, b_bytes)) return absl::OkStatus();
  return Refuse(
      "in and out overlap in part; expected them to be disjoint, or one to be this "
      "rank's place in the other");
}

absl::Status ArgumentCheck::NotAlone(const Group& group) const {
  if (!group.prevents_block()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      operation_, " on rank ", rank_, " of ", size_,
      ": a scope is open in which this thread does not wait for the others (muster/scopes.h), and "
      "there is nothing to connect to; call it before the scope"));
}

}  // namespace muster::internal
