#ifndef MUSTER_CLIENT_SRC_PROTOCOL_LEASE_LEDGER_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_LEASE_LEDGER_H_

#include <cstdint>
#include <map>
#include <optional>

namespace muster::internal {

// The lease requests of one member and what became of them. Pure: no I/O, no threads, no clock.
class LeaseLedger {
 public:
  // Names a new request.
  uint64_t NewRequest() { return ++last_request_; }

  // The request was granted under this token: the member holds the lease until End().
  void Granted(uint64_t request, uint64_t token);

  // The lease of this token is held no more. The request that got it; nullopt if none did.
  std::optional<uint64_t> End(uint64_t token);

  // A token that the coordinator has named, held or not.
  void Saw(uint64_t token);
  uint64_t highest_token() const { return highest_token_; }

 private:
  uint64_t last_request_ = 0;
  uint64_t highest_token_ = 0;
  std::map<uint64_t, uint64_t> request_of_;  // by token, of leases held
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_LEASE_LEDGER_H_
