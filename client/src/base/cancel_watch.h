#ifndef MUSTER_CLIENT_SRC_BASE_CANCEL_WATCH_H_
#define MUSTER_CLIENT_SRC_BASE_CANCEL_WATCH_H_

#include <functional>
#include <utility>

#include "muster/call_options.h"

namespace muster::internal {

// A guard that runs `wake` when `cancellation` is cancelled during its life. `wake` may take the
// lock of the waiting call, so do not create or destroy the guard under that lock.
class CancelWatch {
 public:
  CancelWatch(Cancellation* cancellation, std::function<void()> wake)
      : cancellation_(cancellation),
        number_(cancellation == nullptr ? 0 : cancellation->Add(std::move(wake))) {}
  ~CancelWatch() {
    if (cancellation_ != nullptr) cancellation_->Remove(number_);
  }
  CancelWatch(const CancelWatch&) = delete;
  CancelWatch& operator=(const CancelWatch&) = delete;

 private:
  Cancellation* const cancellation_;
  const int64_t number_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_CANCEL_WATCH_H_
