#include "server/service/guarded_services.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/grpc.h"
#include "muster/v1/calls.grpc.pb.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/v1/store.grpc.pb.h"
#include "server/service/status.h"

namespace muster::service {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

// The health service. kubelet and load balancers call it without a token.
constexpr char kHealth[] = "/grpc.health.v1.Health/";

template <typename Service>
bool IsMethodOf(absl::string_view method) {
  static const std::string* const prefix =
      new std::string(absl::StrCat("/", Service::service_full_name(), "/"));
  return absl::StartsWith(method, *prefix);
}

bool NeedsNoInterceptor(absl::string_view method) {
  return absl::StartsWith(method, kHealth) || IsMethodOf<v1::CoordinatorService>(method) ||
         IsMethodOf<v1::CallService>(method) || IsMethodOf<v1::StoreService>(method);
}

// An interceptor that ends calls that the guard refuses. It cannot keep a call from its handler, so
// it ends the call beforehand: the handler reads the end of the stream, and its answer goes
// nowhere.
class GuardInterceptor final : public grpc::experimental::Interceptor {
 public:
  GuardInterceptor(CallGuard* guard, ServerRpcInfo* info) : guard_(guard), info_(info) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      const absl::Status admitted = guard_->Admit(*info_->server_context());
      if (!admitted.ok()) End(ToGrpcStatus(admitted));
    }
    methods->Proceed();
  }

 private:
  void End(const grpc::Status& status) {
    grpc_call_cancel_with_status(info_->server_context()->c_call(),
                                 static_cast<grpc_status_code>(status.error_code()),
                                 status.error_message().c_str(), nullptr);
  }

  CallGuard* const guard_;
  ServerRpcInfo* const info_;
};

class GuardInterceptorFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit GuardInterceptorFactory(CallGuard* guard) : guard_(guard) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return NeedsNoInterceptor(info->method()) ? nullptr : new GuardInterceptor(guard_, info);
  }

 private:
  CallGuard* const guard_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
GuardOtherServices(CallGuard* guard) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<GuardInterceptorFactory>(guard));
  return factories;
}

}  // namespace muster::service
