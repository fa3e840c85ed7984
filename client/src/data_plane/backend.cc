#include "client/src/data_plane/backend.h"

#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/src/base/deadline.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

// Returns "4 int32" or "3 messages".
std::string WhatOf(absl::Span<const Message> messages) {
  if (messages.size() != 1) return absl::StrCat(messages.size(), " messages");
  return absl::StrCat(messages[0].count, " ", NameOf(messages[0].type));
}

std::string PeersOf(absl::Span<const Message> messages) {
  std::set<int> peers;
  for (const Message& message : messages) peers.insert(message.peer);
  return RankList({peers.begin(), peers.end()});
}

}  // namespace

std::string DescribeExchange(absl::Span<const Message> sends, absl::Span<const Message> receives) {
  const std::string sent = absl::StrCat(WhatOf(sends), " to ", PeersOf(sends));
  const std::string received = absl::StrCat(WhatOf(receives), " from ", PeersOf(receives));
  if (receives.empty()) return absl::StrCat("Send of ", sent);
  if (sends.empty()) return absl::StrCat("Recv of ", received);
  return absl::StrCat("SendRecv of ", sent, " and of ", received);
}

absl::Status Backend::AllReduceCoalesced(absl::Span<const Buffer> buffers, DataType type,
                                         ReduceOp op, const CallOptions& options) {
  const Deadline deadline(*options.timeout, options.cancellation);
  CallOptions rest = options;
  absl::Status status;
  for (const Buffer& buffer : buffers) {
    status = deadline.RunPart([&](absl::Duration left) {
      rest.timeout = left;
      return AllReduce(buffer.data, buffer.data, buffer.count, type, op, rest);
    });
    if (!status.ok()) break;
  }
  return status;
}

absl::Status Backend::Copy(const void* from, void* to, size_t bytes, const CallOptions& options) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

}  // namespace muster::internal
