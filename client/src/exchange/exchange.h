#ifndef MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_H_
#define MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/exchange/exchange_peer_info.h"
#include "client/src/exchange/shared_segment.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// One exchange, as one rank of the group runs it:
//
//   Exchange exchange(group, "GetTensorsParallel", options);
//   exchange.ShareInfos(info);  // every rank says what it offers
//   exchange.Put(put);    // ranks that offer something store it, and share a ticket
//   exchange.Take(take);  // the first rank of the exchange reads everything
//
// All ranks call the same methods in the same order. Each method but the constructor is a
// collective of the group, and an error of one rank becomes the result on all. Callers:
// GetConfigsParallel() and GetTensorsParallel() (docs/workspace.md). Data moves through files or
// shared memory, never through the daemon. Tests: tests/client/exchange.
class Exchange {
 public:
  // `call` names the program's call, for messages.
  Exchange(const Group& group, std::string call, const CallOptions& options)
      : group_(group), call_(std::move(call)), options_(options) {}

  // Shares every rank's info, and checks that all infos fit together.
  absl::Status ShareInfos(const absl::StatusOr<ExchangePeerInfo>& mine);

  // Calls `put` on ranks that offer something, except the first rank, which needs no copy of its
  // own value. Shares the tickets that they return, from which the first rank finds the values.
  absl::Status Put(const std::function<absl::StatusOr<std::string>()>& put);

  // Calls `take` on the first rank.
  absl::Status Take(const std::function<absl::Status()>& take);

  // Valid after ShareInfos().
  const std::vector<ExchangePeerInfo>& infos() const { return infos_; }
  bool is_first() const { return first_ == group_.rank(); }
  int first() const { return first_; }
  uint64_t total_bytes() const { return TotalBytes(infos_, group_); }
  // Returns the exchange's ranks as indices in the group, in the order given.
  std::vector<int> Indexes() const;

  // Returns the tickets after Put(), by index in the group. Empty for the first rank, and for ranks
  // that offer nothing.
  const std::vector<std::string>& tickets() const { return tickets_; }

 private:
  const Group group_;
  const std::string call_;
  const CallOptions options_;
  std::vector<ExchangePeerInfo> infos_;
  int first_ = 0;
  std::vector<std::string> tickets_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_H_
