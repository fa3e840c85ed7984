#include "server/service/call_service.h"

#include "server/service/bidi_handler.h"
#include "server/service/call_reactor.h"

namespace muster::service {

CallService::CallService(const ReactorDependencies& dependencies) {
  MarkMethodRawCallback(
      0, MakeBidiHandler(dependencies.guard, [dependencies](grpc::CallbackServerContext* context) {
        return CallReactor::Start(dependencies, context);
      }));
}

}  // namespace muster::service
