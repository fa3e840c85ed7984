#ifndef MUSTER_TESTS_CLIENT_LAUNCHER_TORCH_TORCH_CLIENTS_H_
#define MUSTER_TESTS_CLIENT_LAUNCHER_TORCH_TORCH_CLIENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/launcher/torch/local_key_store.h"
#include "client/launcher/torch/session.h"
#include "client/launcher/torch/wire.h"

namespace muster::launcher::torch {

// The bytes of a request's parts.
inline std::string Code(Op op) { return std::string(1, static_cast<char>(op)); }
inline std::string I64(int64_t number) {
  std::string bytes;
  AppendI64(number, &bytes);
  return bytes;
}
inline std::string Blob(absl::string_view blob) {
  std::string bytes;
  AppendBlob(blob, &bytes);
  return bytes;
}
inline std::string Keys(const std::vector<std::string>& keys) {
  std::string bytes = I64(static_cast<int64_t>(keys.size()));
  for (const std::string& key : keys) bytes += Blob(key);
  return bytes;
}
// Returns the first bytes of a client of PyTorch 2.1 and newer.
inline std::string Hello() { return std::string("\x00\xce\xf7\x85\x3c", 5); }

// Several clients' sessions over one store, without I/O.
class Clients {
 public:
  explicit Clients(int count) {
    for (int i = 0; i < count; ++i) clients_.push_back(std::make_unique<Client>(&next_id_));
  }

  // Delivers bytes of a client, and everything that follows from them.
  void Send(int client, absl::string_view bytes) {
    Carry(client, clients_[client]->session.Receive(bytes));
  }
  // Sends a request of a client that has greeted, and returns all replies since the last call.
  std::string Ask(int client, absl::string_view bytes) {
    Greet(client);
    Send(client, bytes);
    return Take(client);
  }
  void Greet(int client) {
    if (!std::exchange(clients_[client]->greeted, true)) Send(client, Hello());
  }
  void Disconnect(int client) { Carry(client, clients_[client]->session.Disconnect()); }

  // Returns the replies since the last call.
  std::string Take(int client) { return std::exchange(clients_[client]->received, ""); }
  // Returns why the session closed the connection, or "".
  const std::string& closed(int client) const { return clients_[client]->closed; }
  Session& session(int client) { return clients_[client]->session; }

  // Stops and resumes the delivery of the store's answers, as if the coordinator were away.
  void HoldAnswers() { holds_ = true; }
  void ReleaseAnswers() {
    holds_ = false;
    Settle();
  }

 private:
  struct Client {
    explicit Client(uint64_t* next_id) : session("t/", next_id) {}
    Session session;
    bool greeted = false;
    std::string received;
    std::string closed;
  };

  void Carry(int client, const Effects& effects) {
    for (const Effect& effect : effects) Carry(client, effect);
    Settle();
  }

  void Carry(int client, const Effect& effect) {
    Client& to = *clients_[client];
    if (const auto* send = std::get_if<SendBytes>(&effect)) {
      to.received += send->bytes;
    } else if (const auto* begin = std::get_if<BeginOperation>(&effect)) {
      store_.Begin(begin->id, begin->operation);
    } else if (const auto* cancel = std::get_if<CancelOperation>(&effect)) {
      store_.Cancel(cancel->id);
    } else {
      to.closed = std::get<CloseConnection>(effect).reason;
    }
  }

  void Settle() {
    if (holds_) return;
    for (KeyStore::Ended& ended : store_.TakeEnded()) {
      for (size_t i = 0; i < clients_.size(); ++i) {
        Carry(static_cast<int>(i), clients_[i]->session.Ended(ended.id, ended.answer));
      }
    }
  }

  LocalKeyStore store_;
  uint64_t next_id_ = 1;
  bool holds_ = false;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace muster::launcher::torch

#endif  // MUSTER_TESTS_CLIENT_LAUNCHER_TORCH_TORCH_CLIENTS_H_
