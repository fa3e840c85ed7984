#ifndef MUSTER_COMMON_RPC_STUB_METHODS_H_
#define MUSTER_COMMON_RPC_STUB_METHODS_H_

#include "common/rpc/rpcs.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster {

// The methods of the generated stub for the unary rpc of a request, so that a template can call
// every rpc:
//
//   (stub->*StubMethods<Request>::kBlocking)(&context, request, &response);
//
// Each generated method registers its name with the channel once. GenericStub needs no table, but
// sends the name with each call.
template <typename Request>
struct StubMethods;

#define MUSTER_STUB_METHODS(name, ...)                                         \
  template <>                                                                  \
  struct StubMethods<v1::name##Request> {                                      \
    static constexpr auto kBlocking = &v1::CoordinatorService::Stub::name;     \
    static constexpr auto kAsync = &v1::CoordinatorService::Stub::Async##name; \
  };
#define MUSTER_NOTHING(name, ...)
MUSTER_RPCS(MUSTER_STUB_METHODS, MUSTER_NOTHING)
#undef MUSTER_NOTHING
#undef MUSTER_STUB_METHODS

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_STUB_METHODS_H_
