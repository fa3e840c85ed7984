#include "server/service/attach_stream.h"

#include <optional>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "muster/v1/coordinator.pb.h"
#include "server/service/answers/let_go.h"
#include "server/service/conversion/event_conversion.h"
#include "server/service/raw_message.h"
#include "server/service/status.h"

namespace muster::service {

grpc::ServerWriteReactor<grpc::ByteBuffer>* AttachStream::Start(
    const Host& host, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer& request) noexcept {
  std::shared_ptr<AttachStream> stream(new AttachStream(host, context));
  AttachStream* const reactor = stream.get();
  reactor->self_ = stream;
  journal::KeptRequest kept;
  absl::StatusOr<core::AttachRequest> converted =
      ReadRequest<v1::AttachRequest>(request, host.driver->keeps(), &kept);
  if (converted.ok()) {
    reactor->process_ = converted->member.incarnation;
    host.driver->Attach({reactor->id_, *std::move(converted), &kept}, std::move(stream));
  } else {
    reactor->Finish(ToGrpcStatus(converted.status()));
  }
  return reactor;
}

AttachStream::AttachStream(const Host& host, grpc::CallbackServerContext* context)
    : host_(host), id_(host.driver->Enter()), context_(context) {}

void AttachStream::Push(StreamItem item) { queue_.Push(std::move(item)); }

// Sends the next item, unless a write is in flight. After Finish() the queue stays in the state
// "being written" for good, so nothing follows the end of the stream.
void AttachStream::Flush() noexcept {
  if (queue_.TakeOverflow()) {
    host_.driver->CloseStream(
        id_, absl::UnavailableError(absl::StrCat("the member has left ", EventQueue::kMaxWaiting,
                                                 " events of its stream unread; attach again")));
  }
  const std::optional<StreamItem> next = queue_.Next();
  if (!next) return;
  next->event != nullptr ? Send(next->event.get()) : Finish(ToGrpcStatus(next->end));
}

// Registers the session that the first event names. The member cannot make a call in the session
// before it has read this event, so no call overtakes the registration.
void AttachStream::NoteSession(const core::Event& event) {
  const auto* attached = std::get_if<core::Attached>(&event);
  if (attached == nullptr) return;
  host_.unread->SessionStarted(process_, attached->session, id_, this);
}

UnreadAnswers::LetGo AttachStream::ToLetGo() { return LetGoOf(context_); }

void AttachStream::Send(StreamedEvent* event) {
  NoteSession(event->event());
  const auto encode = [&] {
    return ToBytes(ToProto(event->event(), event->now(), host_.driver->options()));
  };
  writing_ = *event->EncodedBy<grpc::ByteBuffer>(encode);  // shares the encoding's memory
  StartWrite(&writing_);
}

// Continues after a write. A failed write means that the peer is gone. The writes that follow it
// fail at once, so the stream still reaches its end in order.
void AttachStream::OnWriteDone(bool ok) noexcept {
  writing_.Clear();
  queue_.Written();
  if (!ok) OnCancel();
  Flush();
}

void AttachStream::OnCancel() noexcept {
  host_.driver->CloseStream(id_, absl::CancelledError("the stream was closed by its peer"));
}

void AttachStream::OnDone() noexcept {
  host_.unread->StreamDone(process_, id_);
  host_.driver->Exit();
  self_.reset();
}

}  // namespace muster::service
