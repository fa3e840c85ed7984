#ifndef MUSTER_TESTS_FUZZ_FUZZED_STORE_H_
#define MUSTER_TESTS_FUZZ_FUZZED_STORE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "client/src/protocol/store/store_client_core.h"
#include "muster/v1/store.pb.h"
#include "server/core/api/effects.h"
#include "server/core/api/input.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/message_filler.h"
#include "tests/server/journal/tape.h"

namespace muster::fuzz {

// The clients of the job's store. They are the SDK's, so they get to states in which noise matters:
// claims, entries that are fetched, changes that are repeated. Their requests arrive as they are,
// changed, or not at all, and strangers send noise on streams of their own. Aborts with a message
// if the daemon breaks a promise of StoreService.
class FuzzedStore {
 public:
  // The daemon.
  class Daemon {
   public:
    virtual ~Daemon() = default;
    virtual core::WaiterId NewId() = 0;
    virtual core::Time now() const = 0;
    // Passes an input to the core. Its effects come to Take() and TakeEnd().
    virtual void Put(core::WaiterId id, const core::Input& input,
                     const journal::KeptRequest* kept) = 0;
  };

  // The pointers must outlive this.
  FuzzedStore(ByteSource* bytes, const Knowledge* known, Daemon* daemon);

  // Adds a client in this process of the job.
  void Add(const std::string& secret, const std::string& incarnation, const std::string& node);

  // Makes one random step of a client or a stranger.
  void Step();
  void Take(const core::StoreMessage& message);
  // Returns false if the stream is none of the store's.
  bool TakeEnd(const core::StreamEnd& end);
  // The daemon is killed, and all streams with it. Another one starts.
  void NoteDaemonKilled();

  // Returns whether the core has a stream that it has not ended.
  bool has_streams() const;
  // Returns whether a replay of the daemon's inputs must have the same effects. Values are not
  // recorded, so a replay may differ once a value is compared or added to that programs have made
  // otherwise.
  bool replays() const { return replays_; }

 private:
  struct Client {
    internal::Identity identity;
    uint32_t rank = 0;
    std::unique_ptr<internal::StoreClientCore> core;
    internal::StoreCallId next_id = 1;
    uint64_t attempt = 0;
    core::WaiterId stream = 0;                       // 0: there is none, or the daemon has ended it
    std::deque<std::optional<v1::StoreRequest>> up;  // nullopt: it leaves
    std::deque<v1::StoreResponse> down;
    std::optional<absl::Status> end;  // of the stream, after `down`
    bool cancels = false;             // it ends the stream from its side
  };
  // The state of a stream, as its peer sees it.
  struct Stream {
    Client* client = nullptr;  // null: it is a stranger's
    bool begun = false;        // the core has got a message of it
    bool opened = false;
    std::set<uint64_t> asked;  // operations without an answer
  };

  void NewCore(Client* client);
  void Replace(Client* client);
  void Begin(Client* client);
  v1::StoreOperation NewOperation();
  void CancelOne(Client* client);
  // Lets the daemon take the client's next request, or something like it.
  void SendNext(Client* client, bool changed);
  // Lets the client take the daemon's next message, or the end of its stream.
  void ReceiveNext(Client* client);
  void DeliverAll();
  void Cut(Client* client);
  void SendNoise();
  // Lets the daemon take a request as it has arrived on the wire.
  void Deliver(core::WaiterId stream, v1::StoreRequest request);
  void CloseAtDaemon(core::WaiterId stream);
  void Apply(Client* client, internal::StoreEffects effects);
  void Do(Client* client, const internal::OpenStoreStream& open);
  void Do(Client* client, const internal::SendToStore& send);
  void Do(Client* client, const internal::LeaveStoreStream& leave);
  void Do(Client* client, const internal::CancelStoreStream& cancel);
  void Do(Client*, const internal::WarnOfStore&) {}
  void Tick(Client* client);
  void NoteUnreplayable(const v1::StoreOperation& operation);
  internal::SteadyTime Now() const;

  ByteSource* const bytes_;
  const Knowledge* const known_;
  Daemon* const daemon_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<core::WaiterId, Stream> streams_;  // that the daemon has not ended
  std::set<std::string> appended_;            // keys that were appended to
  std::set<std::string> texts_;               // keys that may have a value that is no number
  bool replays_ = true;
  int replaced_ = 0;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_STORE_H_
