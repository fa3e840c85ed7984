#include "server/service/store_reactor.h"

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "muster/v1/store.pb.h"
#include "server/journal/records/kept_request.h"
#include "server/service/answers/answer_bytes.h"
#include "server/service/answers/stream_reset.h"
#include "server/service/conversion/store_response_conversion.h"
#include "server/service/raw_message.h"
#include "server/service/status.h"

namespace muster::service {

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StoreReactor::Start(
    CoordinatorDriver* driver, grpc::CallbackServerContext* context) noexcept {
  std::shared_ptr<StoreReactor> stream(new StoreReactor(driver, context));
  StoreReactor* const reactor = stream.get();
  reactor->self_ = stream;
  const absl::Status opened = driver->OpenStore(reactor->id_, std::move(stream));
  if (opened.ok()) {
    reactor->StartRead(&reactor->reading_);
  } else {
    reactor->Finish(ToGrpcStatus(opened));
  }
  return reactor;
}

StoreReactor::StoreReactor(CoordinatorDriver* driver, grpc::CallbackServerContext* context)
    : driver_(driver),
      id_(driver->Enter()),
      context_(context),
      queue_(driver->options().limits.max_held_bytes) {}

// Takes the next request. A read also fails if the peer has ended its side, which ends its part in
// the job, and if the connection is gone, which does not. gRPC does not say which of the two has
// happened, but a write to a connection that is gone fails, too.
void StoreReactor::OnReadDone(bool ok) noexcept {
  if (!ok) {
    if (context_->IsCancelled()) return;  // OnCancel() ends the stream
    queue_.PushProbe();
    return Flush();
  }
  journal::KeptRequest kept;
  absl::StatusOr<core::StoreRequest> request =
      ReadRequest<v1::StoreRequest>(reading_, driver_->payload_hasher(), &kept);
  if (!request.ok()) return driver_->CloseStream(id_, request.status());
  driver_->ReceiveFromStore({id_, *std::move(request), &kept});
  if (queue_.MayRead()) StartRead(&reading_);
}

// Sends the next item, unless a write is in flight. After Finish() the queue stays in the state
// "being written" for good, so nothing follows the end of the stream.
void StoreReactor::Flush() noexcept {
  if (queue_.TakeOverflow()) EndForUnreadMessages();
  const std::optional<StoreSendQueue::Item> next = queue_.Next();
  if (!next) return;
  if (next->kind == StoreSendQueue::Item::Kind::kEnd) return Finish(ToGrpcStatus(next->end));
  Send(next->message);
}

// The reset frees what gRPC still holds of the message that is being sent.
void StoreReactor::EndForUnreadMessages() {
  const absl::Status why = absl::UnavailableError(
      absl::StrCat("the client has not read its messages of the store, more than ",
                   driver_->options().limits.max_held_bytes,
                   " bytes (musterd --max-held-bytes); open another stream"));
  auto reset = MakeStreamReset(context_);
  driver_->CloseStream(id_, why);
  reset(why);
}

void StoreReactor::Send(const core::StoreResponse& message) {
  const absl::Status encoded = MakeAnswer(
      nullptr, [&] { return ValuesOf(message); },
      ToProto(message, driver_->options().store).SerializeAsString(), &writing_);
  // The core bounds entries, so that each fits into one message.
  if (!encoded.ok()) driver_->CloseStream(id_, encoded);
  StartWrite(&writing_);
}

// Continues after a write. A failed write means that the peer is gone. The writes that follow it
// fail at once, so the stream still reaches its end in order.
void StoreReactor::OnWriteDone(bool ok) noexcept {
  writing_.Clear();
  const StoreSendQueue::Item::Kind written = queue_.Written();
  if (!ok) {
    OnCancel();
  } else if (written == StoreSendQueue::Item::Kind::kProbe) {
    driver_->LeaveStore(id_);
  } else if (queue_.TakeResumed()) {
    StartRead(&reading_);
  }
  Flush();
}

void StoreReactor::OnCancel() noexcept {
  driver_->CloseStream(id_, absl::CancelledError("the stream was closed by its peer"));
}

void StoreReactor::OnDone() noexcept {
  driver_->Exit();
  self_.reset();
}

}  // namespace muster::service
