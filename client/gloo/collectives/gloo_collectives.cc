#include "client/gloo/collectives/gloo_collectives.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "client/gloo/collectives/reduce_scatter.h"
#include "client/gloo/connections/gloo_slots.h"
#include "client/src/base/reduction.h"
#include "gloo/allgather.h"
#include "gloo/allgatherv.h"
#include "gloo/allreduce.h"
#include "gloo/alltoall.h"
#include "gloo/barrier.h"
#include "gloo/broadcast.h"
#include "gloo/reduce.h"
#include "gloo/types.h"

namespace muster::internal {
namespace {

// Calls `set` with a value of an unsigned type of the element's size. Gloo takes only the element
// size from the type.
template <class F>
void WithElementOf(DataType type, F&& set) {
  switch (SizeOf(type)) {
    case sizeof(uint8_t):
      return set(uint8_t());
    case sizeof(uint16_t):
      return set(uint16_t());
    case sizeof(uint32_t):
      return set(uint32_t());
    case sizeof(uint64_t):
      return set(uint64_t());
  }
}

template <class Options>
void SetInput(const void* in, size_t count, DataType type, Options* options) {
  WithElementOf(type, [&](auto element) {
    using T = decltype(element);
    options->setInput(static_cast<T*>(const_cast<void*>(in)), count);  // Gloo only reads it
  });
}

template <class Options>
void SetOutput(void* out, size_t count, DataType type, Options* options) {
  WithElementOf(type, [&](auto element) {
    using T = decltype(element);
    options->setOutput(static_cast<T*>(out), count);
  });
}

using BufferPtr = std::unique_ptr<gloo::transport::UnboundBuffer>;

uint64_t MessageSlot(const NumberedMessage& numbered) {
  return gloo::Slot::build(kSendRecvSlotPrefix, numbered.Tag());
}

}  // namespace

void GlooAllReduce(const GlooContext& context, const Operation& operation, const void* in,
                   void* out) {
  gloo::AllreduceOptions options(context);
  if (in != out) SetInput(in, operation.count, operation.type, &options);
  SetOutput(out, operation.count, operation.type, &options);
  options.setReduceFunction(ReduceFunctionFor(operation.type, operation.op));
  options.setTag(operation.Tag());
  gloo::allreduce(options);
  FinishAverage(out, operation.count, operation.type, operation.op, context->size);
}

void GlooBroadcast(const GlooContext& context, const Operation& operation, void* data) {
  gloo::BroadcastOptions options(context);
  SetOutput(data, operation.count, operation.type, &options);
  options.setRoot(operation.peer);
  options.setTag(operation.Tag());
  gloo::broadcast(options);
}

void GlooReduce(const GlooContext& context, const Operation& operation, const void* in, void* out) {
  // Needs room for all elements on every rank, since each rank reduces a part of them.
  const bool root = context->rank == operation.peer;
  std::vector<char> scratch(root ? 0 : operation.count * SizeOf(operation.type));
  void* const to = root ? out : scratch.data();
  gloo::ReduceOptions options(context);
  if (in != to) SetInput(in, operation.count, operation.type, &options);
  SetOutput(to, operation.count, operation.type, &options);
  options.setReduceFunction(ReduceFunctionFor(operation.type, operation.op));
  options.setRoot(operation.peer);
  options.setTag(operation.Tag());
  gloo::reduce(options);
  if (root) FinishAverage(out, operation.count, operation.type, operation.op, context->size);
}

void GlooAllGather(const GlooContext& context, const Operation& operation, const void* in,
                   void* out) {
  gloo::AllgatherOptions options(context);
  const size_t part = operation.count * SizeOf(operation.type);
  const bool in_place = in == static_cast<char*>(out) + part * context->rank;
  if (!in_place) SetInput(in, operation.count, operation.type, &options);
  SetOutput(out, operation.count * context->size, operation.type, &options);
  options.setTag(operation.Tag());
  gloo::allgather(options);
}

void GlooReduceScatter(const GlooContext& context, const Operation& operation, const void* in,
                       void* out) {
  RingReduceScatter(context, in, out, operation.count, SizeOf(operation.type),
                    ReduceFunctionFor(operation.type, operation.op), operation.Tag());
  FinishAverage(out, operation.count, operation.type, operation.op, context->size);
}

void GlooExchange(const GlooContext& context, absl::Span<const NumberedMessage> sending,
                  absl::Span<const NumberedMessage> receiving) {
  std::vector<BufferPtr> incoming, outgoing;
  for (const NumberedMessage& numbered : receiving) {
    if (numbered.message.count == 0) continue;
    incoming.push_back(
        context->createUnboundBuffer(numbered.message.data, numbered.message.bytes()));
    incoming.back()->recv(numbered.message.peer, MessageSlot(numbered));
  }
  for (const NumberedMessage& numbered : sending) {
    if (numbered.message.count == 0) continue;
    outgoing.push_back(
        context->createUnboundBuffer(numbered.message.data, numbered.message.bytes()));
    outgoing.back()->send(numbered.message.peer, MessageSlot(numbered));
  }
  for (const BufferPtr& buffer : incoming) buffer->waitRecv();
  for (const BufferPtr& buffer : outgoing) buffer->waitSend();
}

void GlooAllToAll(const GlooContext& context, const Operation& operation, const void* in,
                  void* out) {
  const size_t all = operation.count * context->size;
  gloo::AlltoallOptions options(context);
  SetInput(in, all, operation.type, &options);
  SetOutput(out, all, operation.type, &options);
  options.setTag(operation.Tag());
  gloo::alltoall(options);
}

void GlooAllGatherUneven(const GlooContext& context, const Operation& operation, const void* in,
                         absl::Span<const size_t> counts, void* out) {
  const size_t own = counts[context->rank];
  const size_t before = std::accumulate(counts.begin(), counts.begin() + context->rank, size_t{0});
  gloo::AllgathervOptions options(context);
  if (in != static_cast<char*>(out) + before * SizeOf(operation.type)) {
    SetInput(in, own, operation.type, &options);
  }
  WithElementOf(operation.type, [&](auto element) {
    using T = decltype(element);
    options.setOutput(static_cast<T*>(out), std::vector<size_t>(counts.begin(), counts.end()));
  });
  options.setTag(operation.Tag());
  gloo::allgatherv(options);
}

void GlooBarrier(const GlooContext& context, const Operation& operation) {
  gloo::BarrierOptions options(context);
  options.setTag(operation.Tag());
  gloo::barrier(options);
}

}  // namespace muster::internal
