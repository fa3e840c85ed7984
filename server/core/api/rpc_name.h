#ifndef MUSTER_SERVER_CORE_API_RPC_NAME_H_
#define MUSTER_SERVER_CORE_API_RPC_NAME_H_

#include <type_traits>

#include "absl/strings/string_view.h"
#include "common/rpc/rpc_table.h"
#include "server/core/api/requests.h"

namespace muster::core {

// Returns the name of the rpc whose request is read into this type: "Join". If several rpcs share
// the type, returns the first one's name. If no rpc has it, returns an empty text.
template <typename Request>
constexpr absl::string_view RpcNameOf() {
#define MUSTER_NAME_IF_IT_IS(name, caller, request, ...) \
  if (std::is_same_v<Request, request>) return #name;
  MUSTER_RPCS(MUSTER_NAME_IF_IT_IS, MUSTER_NAME_IF_IT_IS)
#undef MUSTER_NAME_IF_IT_IS
  return "";
}

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_RPC_NAME_H_
