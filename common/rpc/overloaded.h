#ifndef MUSTER_COMMON_RPC_OVERLOADED_H_
#define MUSTER_COMMON_RPC_OVERLOADED_H_

namespace muster {

// A visitor for std::visit, made of one function for each alternative.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_OVERLOADED_H_
