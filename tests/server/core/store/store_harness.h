#ifndef MUSTER_TESTS_SERVER_CORE_STORE_STORE_HARNESS_H_
#define MUSTER_TESTS_SERVER_CORE_STORE_STORE_HARNESS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/store/store.h"

namespace muster::core::store {

// A store with clients that are named by letters, on a stepped clock. Each message that a client
// gets stays in its inbox until it is taken.
class StoreHarness {
 public:
  explicit StoreHarness(Options options = {});

  // Opens a stream of the client, whose claim is `open` and `claim`. Confirms nothing.
  void Open(char client, StoreOpen open = {}, StoreClaim claim = {});
  // Opens a stream of a client that was served before and claims these entries.
  void Reopen(char client, const std::string& others,
              const std::map<std::string, StoreVersion>& entries, uint64_t highest = 0);
  // Opens these clients, and lets each confirm what it gets until they all know each other.
  void OpenAll(const std::string& clients);
  // Starts an operation, and returns its id.
  template <class What>
  uint64_t Start(char client, What what, std::optional<absl::Duration> timeout = {}) {
    return Send(client, {0, timeout, std::move(what)});
  }
  void Cancel(char client, uint64_t operation);
  // Confirms all that the client has got, until there is no more to confirm.
  void Confirm(char client);
  void ConfirmAll();
  void Send(char client, const StoreRequest& request);
  void Close(char client);
  void Leave(char client);
  void Pass(absl::Duration time);

  // Takes the messages of one kind out of the client's inbox.
  template <class Message>
  std::vector<Message> Take(char client) {
    std::vector<Message> taken;
    std::vector<StoreResponse> others;
    for (StoreResponse& message : inbox_[client]) {
      if (auto* const it = std::get_if<Message>(&message)) {
        taken.push_back(std::move(*it));
      } else {
        others.push_back(std::move(message));
      }
    }
    inbox_[client] = std::move(others);
    return taken;
  }
  // Takes the client's answer to an operation: "OK", an error's text, "5", "a value", "changed" or
  // "" if there is none.
  std::string Answer(char client, uint64_t operation);
  // Returns how the client's latest stream has ended, or OK and no value.
  std::optional<absl::Status> End(char client) const;
  const std::vector<StoreResponse>& inbox(char client) { return inbox_[client]; }

  static Incarnation IdOf(char client) { return std::string(16, client); }
  static Bytes Value(std::string text) { return std::make_shared<std::string>(std::move(text)); }
  const Store& store() const { return *store_; }
  const Slot* slot(const std::string& key) const { return store_->slots().Find(key); }
  ByteBudget* budget() { return &budget_; }
  // Kills the daemon, and starts another one.
  void Restart();

 private:
  uint64_t Send(char client, StoreOperation operation);
  void Deliver(Effects effects);

  Options options_;
  ByteBudget budget_{1 << 20};
  Time now_ = absl::UnixEpoch() + absl::Hours(1);
  std::unique_ptr<Store> store_;
  WaiterId streams_ = 0;
  std::map<char, WaiterId> stream_;
  std::map<WaiterId, char> client_;
  std::map<char, uint64_t> operations_;
  std::map<char, uint64_t> attempts_;
  std::map<char, uint64_t> received_;
  std::map<char, uint64_t> confirmed_;
  std::map<char, std::vector<StoreResponse>> inbox_;
  std::map<char, absl::Status> ends_;
};

}  // namespace muster::core::store

#endif  // MUSTER_TESTS_SERVER_CORE_STORE_STORE_HARNESS_H_
