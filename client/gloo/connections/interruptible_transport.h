#ifndef MUSTER_CLIENT_GLOO_CONNECTIONS_INTERRUPTIBLE_TRANSPORT_H_
#define MUSTER_CLIENT_GLOO_CONNECTIONS_INTERRUPTIBLE_TRANSPORT_H_

#include <memory>

#include "client/gloo/connections/interrupter.h"
#include "gloo/transport/context.h"
#include "gloo/transport/unbound_buffer.h"

// Gloo's transport, with waits that another thread can end. Gloo has no public way to do so:
// closing the connections does not wake a blocked collective.
namespace muster::internal {

// A context that passes all calls on to `inner`, and wraps the buffers that it makes.
class InterruptibleContext final : public gloo::transport::Context {
 public:
  InterruptibleContext(std::shared_ptr<gloo::transport::Context> inner, Interrupter* interrupter);

  std::unique_ptr<gloo::transport::Pair>& getPair(int rank) override;
  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override;
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* ptr,
                                                                      size_t size) override;

 private:
  const std::shared_ptr<gloo::transport::Context> inner_;
  Interrupter* const interrupter_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CONNECTIONS_INTERRUPTIBLE_TRANSPORT_H_
