#ifndef MUSTER_SERVER_CORE_STORE_PARKED_OPERATION_H_
#define MUSTER_SERVER_CORE_STORE_PARKED_OPERATION_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/core/api/store_messages.h"
#include "server/core/support/byte_budget.h"

namespace muster::core::store {

struct Client;
struct Slot;

// An operation that is not answered on its client's stream.
struct ParkedOperation {
  ParkedOperation(Client* by, uint64_t number, StoreOperation the_request, Time now,
                  ByteBudget* budget)
      : client(by), serial(number), request(std::move(the_request)), since(now), charge(budget) {}

  Client* const client;
  const uint64_t serial;  // by age among all operations
  StoreOperation request;
  const Time since;
  Time deadline = absl::InfiniteFuture();
  bool served = false;     // the daemon has looked at it
  bool cancelled = false;  // its client has given it up
  bool expired = false;    // its time-out has passed
  ByteCharge charge;       // of the request

  Slot* waits_for = nullptr;  // the slot whose change it waits for
  // An answer that waits until holders have confirmed what it depends on (K5).
  std::unique_ptr<StoreAnswer> answer;
  std::vector<std::pair<Slot*, uint64_t>> depends_on;  // slots and revisions
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_PARKED_OPERATION_H_
