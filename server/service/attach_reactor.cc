#include "server/service/attach_reactor.h"

#include <optional>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "muster/v1/coordinator.pb.h"
#include "server/service/answers/stream_reset.h"
#include "server/service/conversion/event_conversion.h"
#include "server/service/raw_message.h"
#include "server/service/status.h"

namespace muster::service {

grpc::ServerWriteReactor<grpc::ByteBuffer>* AttachReactor::Start(
    const ReactorDependencies& dependencies, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer& request) noexcept {
  std::shared_ptr<AttachReactor> stream(new AttachReactor(dependencies, context));
  AttachReactor* const reactor = stream.get();
  reactor->self_ = stream;
  journal::KeptRequest kept;
  absl::StatusOr<core::AttachRequest> converted =
      ReadRequest<v1::AttachRequest>(request, dependencies.driver->payload_hasher(), &kept);
  if (converted.ok()) {
    reactor->process_ = converted->member.incarnation;
    dependencies.driver->Attach({reactor->id_, *std::move(converted), &kept}, std::move(stream));
  } else {
    reactor->Finish(ToGrpcStatus(converted.status()));
  }
  return reactor;
}

AttachReactor::AttachReactor(const ReactorDependencies& dependencies,
                             grpc::CallbackServerContext* context)
    : dependencies_(dependencies), id_(dependencies.driver->Enter()), context_(context) {}

void AttachReactor::Push(StreamItem item) { queue_.Push(std::move(item)); }

// Sends the next item, unless a write is in flight. After Finish() the queue stays in the state
// "being written" for good, so nothing follows the end of the stream.
void AttachReactor::Flush() noexcept {
  if (queue_.TakeOverflow()) {
    dependencies_.driver->CloseStream(
        id_, absl::UnavailableError(absl::StrCat("the member has not read ",
                                                 StreamSendQueue::kMaxWaiting,
                                                 " events of its stream; attach again")));
  }
  const std::optional<StreamItem> next = queue_.Next();
  if (!next) return;
  next->event != nullptr ? Send(next->event.get()) : Finish(ToGrpcStatus(next->end));
}

// Registers the session that the first event names. The member cannot make a call in the session
// before it has read this event, so no call overtakes the registration.
void AttachReactor::NoteSession(const core::Event& event) {
  const auto* attached = std::get_if<core::Attached>(&event);
  if (attached == nullptr) return;
  dependencies_.unread->SessionStarted(process_, attached->session, id_, this);
}

UnreadAnswerLimiter::StreamReset AttachReactor::PrepareReset() { return MakeStreamReset(context_); }

void AttachReactor::Send(StreamedEvent* event) {
  NoteSession(event->event());
  const auto encode = [&] {
    return ToBytes(ToProto(event->event(), event->now(), dependencies_.driver->options()));
  };
  writing_ = *event->EncodedBy<grpc::ByteBuffer>(encode);  // shares the encoding's memory
  StartWrite(&writing_);
}

// Continues after a write. A failed write means that the peer is gone. The writes that follow it
// fail at once, so the stream still reaches its end in order.
void AttachReactor::OnWriteDone(bool ok) noexcept {
  writing_.Clear();
  queue_.Written();
  if (!ok) OnCancel();
  Flush();
}

void AttachReactor::OnCancel() noexcept {
  dependencies_.driver->CloseStream(id_, absl::CancelledError("the stream was closed by its peer"));
}

void AttachReactor::OnDone() noexcept {
  dependencies_.unread->StreamDone(process_, id_);
  dependencies_.driver->Exit();
  self_.reset();
}

}  // namespace muster::service
