#ifndef MUSTER_SERVER_SERVICE_DRIVER_STREAMED_EVENT_H_
#define MUSTER_SERVER_SERVICE_DRIVER_STREAMED_EVENT_H_

#include <memory>
#include <mutex>
#include <utility>

#include "absl/functional/function_ref.h"
#include "server/core/api/effects.h"

namespace muster::service {

// An event of one step, shared by all the streams that it goes to. Thousands of members may be told
// which ranks they wait for, so the event is encoded once. Thread-safe.
class StreamedEvent {
 public:
  StreamedEvent(core::Time now, core::SharedEvent event) : now_(now), event_(std::move(event)) {}

  core::Time now() const { return now_; }
  const core::Event& event() const { return *event_; }

  // Returns the encoding. The first call makes it with `make`. All calls must name the same type.
  template <class Encoding>
  std::shared_ptr<const Encoding> EncodedBy(absl::FunctionRef<Encoding()> make) {
    std::call_once(encoded_, [&] { encoding_ = std::make_shared<const Encoding>(make()); });
    return std::static_pointer_cast<const Encoding>(encoding_);
  }

 private:
  const core::Time now_;
  const core::SharedEvent event_;
  std::once_flag encoded_;
  std::shared_ptr<const void> encoding_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_DRIVER_STREAMED_EVENT_H_
