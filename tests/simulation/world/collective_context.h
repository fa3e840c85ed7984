#ifndef MUSTER_TESTS_SIMULATION_WORLD_COLLECTIVE_CONTEXT_H_
#define MUSTER_TESTS_SIMULATION_WORLD_COLLECTIVE_CONTEXT_H_

#include <type_traits>
#include <utility>

#include "muster/v1/coordinator.pb.h"

namespace muster::simulation {

// True for requests that arrive at a collective: they have a CollectiveContext.
template <typename Request, typename = void>
inline constexpr bool kIsCollective = false;
template <typename Request>
inline constexpr bool
    kIsCollective<Request, std::void_t<decltype(std::declval<const Request&>().context())>> = true;

// Returns nullptr for a request that does not arrive at a collective.
template <typename Request>
const v1::CollectiveContext* CollectiveContextOf(const Request& request) {
  if constexpr (kIsCollective<Request>) {
    return &request.context();
  } else {
    return nullptr;
  }
}

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_COLLECTIVE_CONTEXT_H_
