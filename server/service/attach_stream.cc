#include "server/service/attach_stream.h"

#include "absl/status/statusor.h"
#include "server/service/event_conversion.h"
#include "server/service/request_conversion.h"
#include "server/service/status.h"

namespace muster::service {

grpc::ServerWriteReactor<v1::AttachResponse>* AttachStream::Start(
    Driver* driver, const v1::AttachRequest& request) {
  std::shared_ptr<AttachStream> stream(new AttachStream(driver));
  AttachStream* const reactor = stream.get();
  reactor->self_ = stream;
  const absl::StatusOr<core::AttachRequest> converted = FromProto(request);
  if (converted.ok()) {
    driver->Attach(reactor->id_, std::move(stream), *converted);
  } else {
    reactor->Finish(ToGrpcStatus(converted.status()));
  }
  return reactor;
}

AttachStream::AttachStream(Driver* driver) : driver_(driver), id_(driver->Enter()) {}

void AttachStream::Push(core::Time now, StreamItem item) {
  std::lock_guard<std::mutex> lock(mutex_);
  queue_.emplace_back(now, std::move(item));
}

void AttachStream::Flush() {
  if (auto next = Next()) {
    std::visit([&](const auto& item) { Send(next->first, item); }, next->second);
  }
}

std::optional<std::pair<core::Time, StreamItem>> AttachStream::Next() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (busy_ || queue_.empty()) return std::nullopt;
  busy_ = true;
  auto next = std::move(queue_.front());
  queue_.pop_front();
  return next;
}

void AttachStream::Send(core::Time now, const core::Event& event) {
  writing_ = ToProto(event, now, driver_->options());
  StartWrite(&writing_);
}

// Leaves busy_ set: nothing may follow.
void AttachStream::Send(core::Time now, const absl::Status& end) { Finish(ToGrpcStatus(end)); }

// A write that failed means that the peer has gone; the writes that follow it fail at once, and the
// stream's end is reached in order.
void AttachStream::OnWriteDone(bool ok) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    busy_ = false;
  }
  if (!ok) driver_->CloseStream(id_);
  Flush();
}

void AttachStream::OnCancel() { driver_->CloseStream(id_); }

void AttachStream::OnDone() {
  driver_->Exit();
  self_.reset();
}

}  // namespace muster::service
