#include "client/gloo/planes/inter_node_messages.h"

#include "client/gloo/connections/gloo_slots.h"
#include "gloo/types.h"

namespace muster::internal {

InterNodeMessages::InterNodeMessages(const GlooContext& context, const Operation& operation)
    : context_(context), tag_(operation.Tag()) {}

uint64_t InterNodeMessages::SlotOf(Kind kind) const {
  return gloo::Slot::build(kind == Kind::kPartial ? kPartialSlotPrefix : kResultSlotPrefix, tag_);
}

char* InterNodeMessages::Scratch(size_t bytes) {
  scratch_.emplace_back(new char[bytes]);
  return scratch_.back().get();
}

void InterNodeMessages::Send(Kind kind, int rank, const void* data, size_t bytes) {
  if (bytes == 0) return;
  // The cast is safe: Gloo only reads from a buffer that is sent.
  sending_.push_back(context_->createUnboundBuffer(const_cast<void*>(data), bytes));
  sending_.back()->send(rank, SlotOf(kind));
}

size_t InterNodeMessages::Receive(Kind kind, int rank, void* data, size_t bytes) {
  receiving_.push_back(bytes == 0 ? nullptr : context_->createUnboundBuffer(data, bytes));
  if (bytes > 0) receiving_.back()->recv(rank, SlotOf(kind));
  return receiving_.size() - 1;
}

void InterNodeMessages::AwaitReceived(size_t number) {
  if (receiving_[number] != nullptr) receiving_[number]->waitRecv();
}

void InterNodeMessages::AwaitSent() {
  for (const Buffer& buffer : sending_) buffer->waitSend();
}

}  // namespace muster::internal
