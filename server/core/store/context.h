#ifndef MUSTER_SERVER_CORE_STORE_CONTEXT_H_
#define MUSTER_SERVER_CORE_STORE_CONTEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/core/api/effects.h"
#include "server/core/api/store_messages.h"
#include "server/core/store/clients.h"

namespace muster::core::store {

// The configuration of a Store, mostly from musterd's flags.
struct Options {
  uint64_t daemon_instance = 1;  // new at each start of a daemon
  // Until when a daemon that no claim has told of other clients is too young to answer.
  Time young_until = absl::InfinitePast();
  uint32_t world_size = 0;  // ranks of the job, if that is fixed; 0: it is not
  absl::Duration member_grace = absl::Seconds(2);
  absl::Duration recovery_grace = absl::Seconds(60);
  absl::Duration default_wait_timeout = absl::Minutes(30);
  uint64_t max_key_bytes = 8 << 10;     // --max-store-key-bytes
  uint64_t max_value_bytes = 8 << 20;   // --max-store-value-bytes
  uint64_t max_entry_bytes = 64 << 20;  // a queue with its elements; see StoreOptions
  uint64_t max_keys = 128 << 10;        // --max-store-keys: entries, with tombstones
  uint32_t max_operations = 1024;       // --max-waiters-per-member
  size_t max_clients = 65536;           // that have ever joined
  bool answers_wait_for_copy = false;   // --store-answers-wait-for-copy
};

// The effects of a step.
struct Effects {
  std::vector<StoreMessage> messages;
  std::vector<StreamEnd> ends;
  std::vector<LogLine> log;
};

// The parts that all owners of the store's state share.
struct Context {
  Context(const Options& the_options, ByteBudget* the_budget)
      : options(the_options), budget(the_budget) {}

  // Sends a message to an attached client, after the news of the list (K10).
  void Send(Client* client, StoreResponse message, decltype(Sent::what) what = SentOther(),
            uint64_t bytes = 0);
  // Sends the news of the list, if there are any.
  void Tell(Client* client);
  void EndStream(WaiterId stream, absl::Status status) {
    out.ends.push_back({stream, std::move(status)});
  }
  void Log(Severity severity, std::string text) { out.log.push_back({severity, std::move(text)}); }

  const Options options;
  ByteBudget* const budget;
  Time now;
  Clients clients;
  uint64_t latest = 0;    // the highest revision that is given or heard of (K1)
  bool gathering = true;  // clients may come that the list does not name
  bool serving = false;   // the recovery is over
  Effects out;
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_CONTEXT_H_
