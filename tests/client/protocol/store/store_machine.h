#ifndef MUSTER_TESTS_CLIENT_PROTOCOL_STORE_STORE_MACHINE_H_
#define MUSTER_TESTS_CLIENT_PROTOCOL_STORE_STORE_MACHINE_H_

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/src/protocol/store/store_client_core.h"

namespace muster::internal {

// One client of the store, a clock, and a daemon that the test plays by hand.
//
//   StoreMachine client;
//   client.Begin(1, GetOf("key"));
//   client.Accept();
//   client.Answer(1, "value");
//   EXPECT_EQ(client.EndOf(1)->answer->value(), "value");
class StoreMachine {
 public:
  StoreMachine() : core_(NewOptions()) {}

  // Moves the clock, and ticks at each deadline on the way.
  void Advance(absl::Duration duration) {
    const SteadyTime end = After(now_, duration);
    while (core_.NextDeadline() <= end) {
      now_ = std::max(now_, core_.NextDeadline());
      Take(core_.Tick(now_));
    }
    now_ = end;
    Take(core_.Tick(now_));
  }
  absl::Duration UntilDeadline() const { return Between(now_, core_.NextDeadline()); }

  // ---- The program ----
  void Begin(StoreCallId id, v1::StoreOperation operation,
             absl::Duration timeout = absl::Hours(1)) {
    Take(core_.Begin(now_, id, std::move(operation), Deadline(now_, timeout)));
  }
  void Watch(StoreCallId id, const std::string& prefix) { Take(core_.Watch(now_, id, prefix)); }
  void Cancel(StoreCallId id) { Take(core_.Cancel(now_, id)); }
  void Stop() { Take(core_.Stop(now_, absl::CancelledError("the Job was destroyed"))); }

  // ---- The daemon ----
  void Say(v1::StoreResponse message) { Take(core_.OnMessage(now_, streams_, std::move(message))); }
  void SayOnStream(uint64_t attempt, v1::StoreResponse message) {
    Take(core_.OnMessage(now_, attempt, std::move(message)));
  }
  void Accept(bool recovering = false) {
    v1::StoreResponse message;
    message.mutable_opened()->set_recovering(recovering);
    message.mutable_opened()->set_max_key_bytes(8 << 10);
    message.mutable_opened()->set_max_value_bytes(8 << 20);
    Say(std::move(message));
  }
  void Answer(StoreCallId id, const std::string& value) { Say(AnswerOf(id, value)); }
  void Refuse(StoreCallId id, const absl::Status& why) {
    v1::StoreResponse message;
    message.mutable_answer()->set_operation(id);
    message.mutable_answer()->mutable_error()->set_code(static_cast<uint32_t>(why.code()));
    message.mutable_answer()->mutable_error()->set_message(std::string(why.message()));
    Say(std::move(message));
  }
  void EndStream(const absl::Status& why = absl::UnavailableError("connection refused")) {
    Take(core_.OnStreamEnd(now_, streams_, why));
  }
  // Ends the stream, and waits until the client has opened another one.
  void Reopen() {
    const uint64_t before = streams_;
    EndStream();
    while (streams_ == before) Advance(UntilDeadline());
  }

  static v1::StoreResponse AnswerOf(StoreCallId id, const std::string& value) {
    v1::StoreResponse message;
    message.mutable_answer()->set_operation(id);
    message.mutable_answer()->set_value(value);
    return message;
  }

  // ---- What the client did ----
  // Returns the number of streams that were opened. The latest one has this number.
  uint64_t streams() const { return streams_; }
  // Returns what was sent on the latest stream since the last call.
  std::vector<v1::StoreRequest> TakeSent() { return std::exchange(sent_, {}); }
  bool has_left() const { return has_left_; }
  bool has_cancelled_stream() const { return has_cancelled_stream_; }
  const std::vector<v1::StoreWatchEvent>& events() const { return events_; }
  // Returns how the operation or watch ended, or nullptr while it goes on.
  const StoreCompletion* EndOf(StoreCallId id) const {
    const auto end = ends_.find(id);
    return end == ends_.end() ? nullptr : &end->second;
  }
  const StoreClientCore& core() const { return core_; }

 private:
  static StoreClientOptions NewOptions() {
    StoreClientOptions options;
    options.coordinator = "host:7370";
    options.job_id = "run";
    options.identity.incarnation = "self------------";
    options.identity.secret = "secret----------";
    options.identity.node_id = "node-a";
    options.coordinator_timeout = absl::Minutes(10);
    options.random = [engine = std::mt19937_64(1)]() mutable { return engine(); };
    return options;
  }

  void Do(const OpenStoreStream& open) {
    streams_ = open.attempt;
    sent_.clear();
  }
  void Do(const SendToStore& send) {
    if (send.attempt == streams_) sent_.push_back(send.message);
  }
  void Do(const LeaveStoreStream& /*leave*/) { has_left_ = true; }
  void Do(const CancelStoreStream& /*cancel*/) { has_cancelled_stream_ = true; }
  void Do(const WarnOfStore& /*line*/) {}

  void Take(StoreEffects effects) {
    for (const StoreOutput& output : effects.outputs) {
      std::visit([this](const auto& what) { Do(what); }, output);
    }
    for (StoreCompletion& completion : effects.completions) {
      ends_.emplace(completion.id, std::move(completion));
    }
    for (v1::StoreWatchEvent& event : effects.events) events_.push_back(std::move(event));
  }

  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  uint64_t streams_ = 0;
  std::vector<v1::StoreRequest> sent_;
  bool has_left_ = false;
  bool has_cancelled_stream_ = false;
  std::vector<v1::StoreWatchEvent> events_;
  std::map<StoreCallId, StoreCompletion> ends_;
  StoreClientCore core_;
};

inline v1::StoreOperation SetOf(const std::string& key, const std::string& value) {
  v1::StoreOperation operation;
  operation.mutable_set()->set_key(key);
  operation.mutable_set()->set_value(value);
  return operation;
}
inline v1::StoreOperation GetOf(const std::string& key) {
  v1::StoreOperation operation;
  operation.mutable_get()->set_key(key);
  return operation;
}
inline v1::StoreOperation PopOf(const std::string& key) {
  v1::StoreOperation operation;
  operation.mutable_pop()->set_key(key);
  return operation;
}

// A hold of a whole value.
inline v1::StoreResponse HoldOf(const std::string& key, uint64_t revision,
                                const std::string& value) {
  v1::StoreResponse message;
  v1::StoreHold& hold = *message.mutable_hold();
  hold.set_key(key);
  hold.set_revision(revision);
  hold.set_daemon_instance(7);
  hold.mutable_entry()->set_value(value);
  return message;
}

}  // namespace muster::internal

#endif  // MUSTER_TESTS_CLIENT_PROTOCOL_STORE_STORE_MACHINE_H_
