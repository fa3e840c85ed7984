#include "muster/parallel_exchange.h"

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/exchange/exchange_scope.h"
#include "muster/log.h"

namespace muster {

template <class T>
ParallelExchange<T>::ParallelExchange(std::vector<T> values,
                                      std::unique_ptr<internal::ExchangeScope> scope)
    : values_(std::move(values)), scope_(std::move(scope)) {}

template <class T>
absl::Status ParallelExchange<T>::Release() {
  values_.clear();
  if (scope_ == nullptr) return absl::OkStatus();
  const std::unique_ptr<internal::ExchangeScope> scope = std::move(scope_);
  return scope->Release();
}

template <class T>
ParallelExchange<T>::~ParallelExchange() {
  const absl::Status status = Release();
  if (status.ok()) return;
  Log(LogLevel::kWarning,
      absl::StrCat("the end of a parallel exchange: ", internal::CodeAndText(status)));
}

template <class T>
ParallelExchange<T>::ParallelExchange(ParallelExchange&&) noexcept = default;

template <class T>
ParallelExchange<T>& ParallelExchange<T>::operator=(ParallelExchange&& other) noexcept {
  // Ends the old scope when it goes out of scope.
  ParallelExchange ended(std::move(values_), std::move(scope_));
  values_ = std::move(other.values_);
  scope_ = std::move(other.scope_);
  return *this;
}

template class ParallelExchange<std::optional<Configuration>>;
template class ParallelExchange<TensorView>;

}  // namespace muster
