#ifndef MUSTER_COMMON_RPC_TYPE_LIST_H_
#define MUSTER_COMMON_RPC_TYPE_LIST_H_

#include <cstddef>
#include <type_traits>

namespace muster {

// A list of types. Each member below makes another type from the same types.
template <typename... Types>
struct TypeList {
  static constexpr size_t kSize = sizeof...(Types);
  template <typename Type>
  static constexpr bool kHas = (std::is_same_v<Type, Types> || ...);
  // Into<std::variant> is std::variant<Types...>.
  template <template <typename...> class Template>
  using Into = Template<Types...>;
  // Map<ResponseOf> is the list of the responses, at the same places as their requests.
  template <template <typename> class Function>
  using Map = TypeList<Function<Types>...>;
};

// Concatenates two lists.
template <typename... First, typename... Second>
TypeList<First..., Second...> operator+(TypeList<First...>, TypeList<Second...>);

// Calls `visit` with a null pointer to each type of the list, in order. A generic lambda learns the
// type from its parameter.
template <typename... Types, typename Visit>
void ForEachType(TypeList<Types...>, Visit visit) {
  (visit(static_cast<Types*>(nullptr)), ...);
}

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_TYPE_LIST_H_
