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

// One exchange as one rank of the group goes through it. All ranks call the same methods in the
// same order; each but the constructor is a collective of the group, and an error of one rank is
// the result on all.
class Exchange {
 public:
  // `call` names the program's call, for messages.
  Exchange(const Group& group, std::string call, const CallOptions& options)
      : group_(group), call_(std::move(call)), options_(options) {}

  // Shares what every rank says, and checks that it fits together.
  absl::Status Meet(const absl::StatusOr<ExchangePeerInfo>& mine);

  // Runs `put` where this rank offers something and is not the first, which sees its own without;
  // and shares the ticket that it returns, from which the first finds what was put.
  absl::Status Put(const std::function<absl::StatusOr<std::string>()>& put);

  // Runs `take` where this rank is the first.
  absl::Status Take(const std::function<absl::Status()>& take);

  // After Meet().
  const std::vector<ExchangePeerInfo>& infos() const { return infos_; }
  bool is_first() const { return first_ == group_.rank(); }
  int first() const { return first_; }
  uint64_t total_bytes() const { return TotalBytes(infos_, group_); }
  // The exchange's ranks as indexes of the group, in the order given.
  std::vector<int> Indexes() const;

  // After Put(), by index in the group; empty for the first, and for who offers nothing.
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
