// Tests of how a rank learns of its peers' ends. The test delivers the messages and breaks the
// connections.

#include "client/gloo/connections/connection_monitor.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gloo/transport/context.h"
#include "gloo/transport/pair.h"
#include "gloo/transport/unbound_buffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Optional;

// The connections of one rank. As with Gloo's, a wait that times out closes all of them.
class Connections final : public gloo::transport::Context {
 public:
  using Context::Context;

  std::unique_ptr<gloo::transport::Pair>& createPair(int) override { std::abort(); }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data,
                                                                      size_t bytes) override;

  void Break(int peer) { broken_[peer] = true; }
  void BreakAll() {
    for (int peer = 0; peer < size; ++peer) Break(peer);
  }
  bool IsBroken(int peer) const { return broken_.count(peer) > 0; }

  // Keeps back what is sent to `peer` from now on.
  void Fill(int peer) { full_.insert(peer); }
  bool IsFull(int peer) const { return full_.count(peer) > 0; }

  // Delivers the first `bytes` bytes that this rank has sent to `peer`.
  void DeliverTo(Connections& peer, size_t bytes = std::string::npos) const {
    for (const auto& [to, text] : sent_) {
      if (to.first == peer.rank) peer.Receive(rank, to.second, text.substr(0, bytes));
    }
  }

  void Post(int peer, uint64_t slot, void* data, size_t bytes) {
    posted_[{peer, slot}] = {static_cast<char*>(data), bytes};
  }
  bool HasReceived(int peer, uint64_t slot) const { return received_.count({peer, slot}) > 0; }
  void Send(int peer, uint64_t slot, const void* data, size_t bytes) {
    sent_[{peer, slot}].assign(static_cast<const char*>(data), bytes);
  }

 private:
  using Message = std::pair<int, uint64_t>;  // peer and slot

  void Receive(int peer, uint64_t slot, const std::string& text) {
    const auto& [data, bytes] = posted_.at({peer, slot});
    std::memcpy(data, text.data(), text.size());
    if (text.size() == bytes) received_.insert({peer, slot});
  }

  std::map<int, bool> broken_;
  std::set<int> full_;
  std::map<Message, std::pair<char*, size_t>> posted_;
  std::set<Message> received_;
  std::map<Message, std::string> sent_;
};

class Buffer final : public gloo::transport::UnboundBuffer {
 public:
  Buffer(Connections* connections, void* data, size_t bytes)
      : UnboundBuffer(data, bytes), connections_(connections) {}
  ~Buffer() override = default;

  void recv(int peer, uint64_t slot, size_t, size_t) override {
    if (connections_->IsBroken(peer)) throw std::runtime_error("the connection is broken");
    peer_ = peer;
    slot_ = slot;
    connections_->Post(peer, slot, ptr, size);
  }
  void recv(std::vector<int>, uint64_t, size_t, size_t) override { std::abort(); }
  void send(int peer, uint64_t slot, size_t, size_t) override {
    peer_ = peer;
    connections_->Send(peer, slot, ptr, size);
  }

  bool waitRecv(int*, std::chrono::milliseconds) override {
    if (connections_->HasReceived(peer_, slot_)) return true;
    if (connections_->IsBroken(peer_)) throw std::runtime_error("the connection is broken");
    if (std::exchange(receive_aborted_, false)) return false;
    connections_->BreakAll();
    throw std::runtime_error("the time is up");
  }
  bool waitSend(int*, std::chrono::milliseconds timeout) override {
    if (!connections_->IsFull(peer_)) return true;
    if (send_aborted_.WaitForNotificationWithTimeout(absl::FromChrono(timeout))) return false;
    connections_->BreakAll();
    throw std::runtime_error("the time is up");
  }
  void abortWaitRecv() override { receive_aborted_ = true; }
  void abortWaitSend() override { send_aborted_.Notify(); }

 private:
  Connections* const connections_;
  int peer_ = -1;
  uint64_t slot_ = 0;
  bool receive_aborted_ = false;
  absl::Notification send_aborted_;
};

std::unique_ptr<gloo::transport::UnboundBuffer> Connections::createUnboundBuffer(void* data,
                                                                                 size_t bytes) {
  return std::make_unique<Buffer>(this, data, bytes);
}

auto NoticeFrom(int rank, bool failed) {
  return AllOf(Field(&EndNotice::rank, rank), Field(&EndNotice::failed, failed),
               Field(&EndNotice::reason, "its reason"));
}
template <class Notice>
auto Ended(int rank, const Notice& notice) {
  return AllOf(Field(&EndedPeer::rank, rank), Field(&EndedPeer::notice, notice));
}

// Four ranks, with what each of them knows of the others.
class ConnectionMonitorTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 4;

  ConnectionMonitorTest() {
    for (int rank = 0; rank < kRanks; ++rank) {
      connections_.push_back(std::make_shared<Connections>(rank, kRanks));
      monitors_.push_back(std::make_unique<ConnectionMonitor>(connections_.back()));
    }
  }

  // Makes `sender` announce that `ended_rank` has ended. Rank 0 gets the first `bytes` bytes of it.
  void SendNotice(int sender, int ended_rank, bool failed, size_t bytes = std::string::npos) {
    monitors_[sender]->Notify(EndNotice{ended_rank, failed, "its reason"}, {0});
    connections_[sender]->DeliverTo(*connections_[0], bytes);
  }
  void Break(int peer) { connections_[0]->Break(peer); }
  ConnectionMonitor& rank0() { return *monitors_[0]; }

  std::vector<std::shared_ptr<Connections>> connections_;
  std::vector<std::unique_ptr<ConnectionMonitor>> monitors_;
};

TEST_F(ConnectionMonitorTest, ReturnsNoticesThatArrivedBeforeTheConnectionBroke) {
  SendNotice(2, /*ended_rank=*/1, /*failed=*/true);
  SendNotice(3, /*ended_rank=*/3, /*failed=*/false);
  for (int peer : {1, 2, 3}) Break(peer);
  EXPECT_THAT(rank0().EndedPeers(),
              ElementsAre(Ended(1, Eq(std::nullopt)), Ended(2, Optional(NoticeFrom(1, true))),
                          Ended(3, Optional(NoticeFrom(3, false)))));
}

TEST_F(ConnectionMonitorTest, SaysWhyAConnectionBroke) {
  Break(2);
  EXPECT_THAT(rank0().EndedPeers(),
              ElementsAre(Field(&EndedPeer::seen, "the connection is broken")));
}

TEST_F(ConnectionMonitorTest, CheckingHealthyPeersClosesNoConnection) {
  EXPECT_THAT(rank0().EndedPeers(), IsEmpty());
  EXPECT_THAT(rank0().EndedPeers(), IsEmpty());
}

TEST_F(ConnectionMonitorTest, APeerWithANoticeHasNotEndedBeforeItsConnectionBreaks) {
  SendNotice(2, /*ended_rank=*/1, /*failed=*/true);
  EXPECT_THAT(rank0().EndedPeers(), IsEmpty());
  Break(2);
  EXPECT_THAT(rank0().EndedPeers(), ElementsAre(Ended(2, Optional(NoticeFrom(1, true)))));
}

TEST_F(ConnectionMonitorTest, AnIncompleteNoticeIsIgnored) {
  SendNotice(2, /*ended_rank=*/1, /*failed=*/true, /*bytes=*/100);
  Break(2);
  EXPECT_THAT(rank0().EndedPeers(), ElementsAre(Ended(2, Eq(std::nullopt))));
}

TEST_F(ConnectionMonitorTest, PeersWithBrokenConnectionsAreNotNotified) {
  Break(2);
  EXPECT_THAT(rank0().Notify(EndNotice{0, true, "its reason"}, {1, 2, 3}), ElementsAre(2));
}

TEST_F(ConnectionMonitorTest, AConnectionThatWasBrokenBeforeEndsThatPeerAlone) {
  const auto connections = std::make_shared<Connections>(0, kRanks);
  connections->Break(2);
  ConnectionMonitor monitor(connections);
  EXPECT_THAT(monitor.EndedPeers(), ElementsAre(Ended(2, Eq(std::nullopt))));
  EXPECT_THAT(monitor.Notify(EndNotice{0, true, "its reason"}, {1, 2, 3}), ElementsAre(2));
}

TEST_F(ConnectionMonitorTest, APeerThatDoesNotReadBreaksNoOtherConnection) {
  connections_[0]->Fill(2);
  rank0().Notify(EndNotice{0, true, "its reason"}, {1, 2, 3});
  EXPECT_THAT(rank0().EndedPeers(), IsEmpty());
}

}  // namespace
}  // namespace muster::internal
