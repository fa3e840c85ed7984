#include "server/service/store_service.h"

#include "server/service/bidi_handler.h"
#include "server/service/store_reactor.h"

namespace muster::service {

StoreService::StoreService(CoordinatorDriver* driver, CallGuard* guard) {
  MarkMethodRawCallback(0, MakeBidiHandler(guard, [driver](grpc::CallbackServerContext* context) {
                          return StoreReactor::Start(driver, context);
                        }));
}

}  // namespace muster::service
