#ifndef MUSTER_CLIENT_LAUNCHER_TORCH_SESSION_H_
#define MUSTER_CLIENT_LAUNCHER_TORCH_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/launcher/torch/wire.h"
#include "muster/v1/store.pb.h"

namespace muster::launcher::torch {

// ---- What the session's caller has to do ----

// Send bytes to the client.
struct SendBytes {
  std::string bytes;
};
// Begin an operation of the store, and pass its end to Session::Ended().
struct BeginOperation {
  uint64_t id;
  v1::StoreOperation operation;
};
// Give an operation up. Its end is still passed to Session::Ended().
struct CancelOperation {
  uint64_t id;
};
// Close the connection. `reason` is a clause for the user.
struct CloseConnection {
  std::string reason;
};
using Effect = std::variant<SendBytes, BeginOperation, CancelOperation, CloseConnection>;
using Effects = std::vector<Effect>;

// One client's connection: requests of TCPStore as operations of a store. Decides only; its caller
// does all I/O (TorchServer).
//
//   Session session("torch/0/", &next_id);
//   for (const Effect& effect : session.Receive(bytes)) Carry(effect);
//   for (const Effect& effect : session.Ended(id, answer)) Carry(effect);
//
// Requests are served one after the other. Only CANCEL_WAIT is served while another one waits. An
// old client sends none when its wait has timed out, so its next request ends the wait. Where the
// store differs from PyTorch's:
//   * A key holds a value or a queue, not both. GETNUMKEYS and LIST_KEYS also count queues, and
//     DELETE_KEY deletes them.
//   * PyTorch's client pops by WAIT and then QUEUE_POP. So a WAIT for one key that is a queue takes
//     the element, which the client gets by its QUEUE_POP. Until then, WAIT, CHECK and QUEUE_LEN of
//     this key go on as if the element were still there. If another request comes first, the
//     element goes back, behind the others.
class Session {
 public:
  // All keys of the program begin with `prefix` in the store. `next_id` gives ids to operations;
  // all sessions of a store share it.
  Session(std::string prefix, uint64_t* next_id);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Handles bytes of the client.
  Effects Receive(absl::string_view bytes);
  // Handles the end of an operation. Ignores other sessions' operations.
  Effects Ended(uint64_t id, absl::StatusOr<v1::StoreAnswer> answer);
  // Handles the end of the connection. Requests that have arrived whole are still served, but none
  // waits.
  Effects Disconnect();

  // Stop serving requests, because the client does not read its replies, and go on.
  void Pause() { paused_ = true; }
  Effects Resume();

  // Returns how many bytes have arrived that are not served.
  size_t buffered() const { return reader_.buffered(); }
  // Returns whether a request is being served.
  bool busy() const { return busy_; }
  // Returns whether no operation is in progress after Disconnect().
  bool finished() const { return disconnected_ && pending_.empty(); }

 private:
  using Answer = absl::StatusOr<v1::StoreAnswer>;
  using Then = std::function<void(Answer)>;
  // An operation in progress.
  struct Pending {
    uint64_t request;  // the number of the request that it belongs to
    Then then;
    Then abandoned;  // instead of `then`, if the request was cancelled
  };
  // Operations whose order matters, or which are too many to begin at once.
  struct Batch {
    std::vector<v1::StoreOperation> operations;
    std::function<void(size_t index, Answer answer)> each;
    std::function<void()> all;
    size_t begun = 0;
    size_t ended = 0;
  };

  void Advance();
  void Serve(Request request);

  // Begin and end the parts of a request. Reply() and Done() end it, Fail() the connection.
  uint64_t Begin(v1::StoreOperation operation, Then then, Then abandoned = nullptr);
  // Begins an operation that Cancel() may give up, and whose request then ends.
  void BeginWait(v1::StoreOperation operation, Then then, Then abandoned = nullptr);
  // Begins an operation that no request waits for.
  void BeginInBackground(v1::StoreOperation operation, Then then = nullptr);
  void RunBatch(const std::shared_ptr<Batch>& batch);
  void Reply(std::string bytes);
  void Done();
  void Fail(const absl::Status& why);
  void Fail(const std::string& why);
  // Ends the request that waits, with this reply.
  void CancelWait(std::string reply);
  void GiveUpWaits();

  // Begins a change without a reply. Later requests do not wait for its end, because the store runs
  // a launcher's operations in order.
  void Change(v1::StoreOperation operation);

  // The requests.
  void MultiSet(Request request);
  void CompareSet(const Request& request, bool empty_exists);
  void Get(const std::string& key);
  void MultiGet(const Request& request);
  void Add(const Request& request);
  void Check(const Request& request);
  void Wait(const Request& request);
  void WaitForAll(const Request& request);
  void WaitForElement(const std::string& key);
  void CountKeys();
  void ListKeys(std::shared_ptr<std::vector<std::string>> keys);
  void Delete(const std::string& key);
  void Pop(const std::string& key);
  void QueueLength(const std::string& key);
  void Barrier(const Request& request);
  void ReturnElement(const std::string& key, const std::string& element);
  // Returns whether this request and the element that a WAIT has taken are of the same queue.
  bool ConcernsTaken(const Request& request) const;

  // Returns the name of a key in the store, and of the mark that a barrier is complete.
  std::string KeyOf(const std::string& key) const { return prefix_ + "k" + key; }
  std::string MarkOf(const std::string& barrier) const { return prefix_ + "b" + barrier; }
  v1::StoreOperation ReadNow(const std::string& key) const;
  // Returns operations that wait for these keys together, as few as the store allows.
  std::vector<v1::StoreOperation> WaitsFor(const std::vector<std::string>& keys) const;

  const std::string prefix_;
  uint64_t* const next_id_;
  RequestReader reader_;
  Effects effects_;  // of the current step
  std::map<uint64_t, Pending> pending_;

  bool busy_ = false;
  uint64_t request_ = 0;         // the number of the current request, or the next one
  std::vector<uint64_t> waits_;  // operations that CANCEL_WAIT gives up
  bool waiting_ = false;         // the current request may be cancelled
  size_t changes_ = 0;           // without a reply, in progress
  size_t change_bytes_ = 0;      // of their values
  std::optional<Request> held_;  // arrived while another one waits
  bool paused_ = false;
  bool disconnected_ = false;
  bool failed_ = false;
  // The value that a WAIT for this key has found. PyTorch's client then asks for it.
  std::optional<std::pair<std::string, std::string>> found_;
  // The element that a WAIT for this key has taken.
  std::optional<std::pair<std::string, std::string>> taken_;
};

}  // namespace muster::launcher::torch

#endif  // MUSTER_CLIENT_LAUNCHER_TORCH_SESSION_H_
