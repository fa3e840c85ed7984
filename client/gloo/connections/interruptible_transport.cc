#include "client/gloo/connections/interruptible_transport.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "client/gloo/endings/exception.h"

namespace muster::internal {
namespace {

// Never reached, since the interrupter ends waits. Small enough to be added to a clock's time.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

// The ranks of pending sends or receives, in the order of the calls.
using Ranks = absl::InlinedVector<int, 8>;

class InterruptibleBuffer final : public gloo::transport::UnboundBuffer, public Interruptible {
 public:
  InterruptibleBuffer(std::unique_ptr<gloo::transport::UnboundBuffer> inner,
                      Interrupter* interrupter)
      : UnboundBuffer(inner->ptr, inner->size),
        inner_(std::move(inner)),
        interrupter_(interrupter) {
    interrupter_->Add(this);
  }
  ~InterruptibleBuffer() override { interrupter_->Remove(this); }

  void Interrupt() override {
    inner_->abortWaitRecv();
    inner_->abortWaitSend();
  }

  // Waits ignore Gloo's time-out. Gloo passes the time-out of the whole collective to each of its
  // waits, while the interrupter's deadline is for the whole collective.
  bool waitRecv(int* rank, std::chrono::milliseconds) override {
    int source = -1;
    Guard([&] {
      CheckNotRaised(receiving_from_);
      if (!inner_->waitRecv(&source, kForever)) throw Interrupted(Copy(receiving_from_));
    });
    Forget(source, &receiving_from_);
    if (rank != nullptr) *rank = source;
    return true;
  }
  bool waitSend(int* rank, std::chrono::milliseconds) override {
    int destination = -1;
    Guard([&] {
      CheckNotRaised(sending_to_);
      if (!inner_->waitSend(&destination, kForever)) throw Interrupted(Copy(sending_to_));
    });
    Forget(destination, &sending_to_);
    if (rank != nullptr) *rank = destination;
    return true;
  }

  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }

  void send(int rank, uint64_t slot, size_t offset, size_t nbytes) override {
    Guard([&] { inner_->send(rank, slot, offset, nbytes); });
    sending_to_.push_back(rank);
  }
  void recv(int rank, uint64_t slot, size_t offset, size_t nbytes) override {
    Guard([&] { inner_->recv(rank, slot, offset, nbytes); });
    receiving_from_.push_back(rank);
  }
  void recv(std::vector<int> ranks, uint64_t slot, size_t offset, size_t nbytes) override {
    receiving_from_.insert(receiving_from_.end(), ranks.begin(), ranks.end());
    Guard([&] { inner_->recv(std::move(ranks), slot, offset, nbytes); });
  }

 private:
  // Runs `call`, and tells the interrupter of an exception before it leaves this buffer.
  template <class Call>
  void Guard(Call call) {
    try {
      call();
    } catch (const std::exception& error) {
      interrupter_->BeforeThrow(error);
      throw;
    }
  }

  static std::vector<int> Copy(const Ranks& ranks) {
    std::vector<int> copy(ranks.begin(), ranks.end());
    std::sort(copy.begin(), copy.end());
    copy.erase(std::unique(copy.begin(), copy.end()), copy.end());
    return copy;
  }
  static void Forget(int rank, Ranks* ranks) {
    const auto found = std::find(ranks->begin(), ranks->end(), rank);
    if (found != ranks->end()) ranks->erase(found);
  }
  // Throws if the interrupter was raised already. A buffer that is made after the interrupter has
  // woken its targets is not woken again.
  void CheckNotRaised(const Ranks& awaited) const {
    if (interrupter_->raised()) throw Interrupted(Copy(awaited));
  }

  const std::unique_ptr<gloo::transport::UnboundBuffer> inner_;
  Interrupter* const interrupter_;
  Ranks receiving_from_;
  Ranks sending_to_;
};

}  // namespace

InterruptibleContext::InterruptibleContext(std::shared_ptr<gloo::transport::Context> inner,
                                           Interrupter* interrupter)
    : Context(inner->rank, inner->size), inner_(std::move(inner)), interrupter_(interrupter) {}

std::unique_ptr<gloo::transport::Pair>& InterruptibleContext::getPair(int rank) {
  return inner_->getPair(rank);
}

std::unique_ptr<gloo::transport::Pair>& InterruptibleContext::createPair(int rank) {
  return inner_->createPair(rank);
}

std::unique_ptr<gloo::transport::UnboundBuffer> InterruptibleContext::createUnboundBuffer(
    void* ptr, size_t size) {
  return std::make_unique<InterruptibleBuffer>(inner_->createUnboundBuffer(ptr, size),
                                               interrupter_);
}

}  // namespace muster::internal
