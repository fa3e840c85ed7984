#include "client/src/protocol/store/store_client_core.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

// AttachRequest.protocol_version.
constexpr uint32_t kProtocolVersion = 1;

// How many answers to reads, and bytes of their values, are confirmed together. The daemon records
// nothing of a read (K3), so nothing waits for these confirmations but its bound on unread
// messages, which is 16 times as high. Without them, a read is one message each way.
constexpr uint64_t kUnconfirmedReads = 64;
constexpr uint64_t kUnconfirmedReadBytes = 2 << 20;

}  // namespace

StoreClientCore::StoreClientCore(StoreClientOptions options)
    : options_(std::move(options)),
      stream_(options_, &outbox_),
      clients_(options_.identity.incarnation),
      operations_(options_, &stream_, &outbox_),
      watches_(&stream_, &outbox_) {}

StoreEffects StoreClientCore::Begin(SteadyTime now, StoreCallId id, v1::StoreOperation operation,
                                    const Deadline& deadline) {
  next_id_ = id + 1;
  operations_.Begin(id, std::move(operation), deadline);
  return Settle(now);
}

StoreEffects StoreClientCore::Watch(SteadyTime now, StoreCallId id, std::string prefix) {
  next_id_ = id + 1;
  watches_.Add(id, std::move(prefix));
  return Settle(now);
}

StoreEffects StoreClientCore::Cancel(SteadyTime now, StoreCallId id) {
  operations_.Cancel(id);
  watches_.End(id, absl::CancelledError("the watch was cancelled"));
  return Settle(now);
}

StoreEffects StoreClientCore::Stop(SteadyTime now, const absl::Status& why) {
  if (stopped_.ok()) stopped_ = why;
  stream_.Leave();
  return Settle(now);
}

StoreEffects StoreClientCore::OnMessage(SteadyTime now, uint64_t attempt,
                                        v1::StoreResponse message) {
  if (!stream_.IsLatest(attempt)) return Settle(now);
  // Lists are large, and few.
  const bool read = message.has_answer() && message.answer().keys_size() == 0 &&
                    operations_.IsRead(message.answer().operation());
  const uint64_t bytes = message.answer().value().size();
  const std::string misfit = Take(now, &message);
  if (misfit.empty()) {
    ++processed_;
    unconfirmed_bytes_ += bytes;
    confirm_is_due_ = confirm_is_due_ || !read || unconfirmed_bytes_ >= kUnconfirmedReadBytes ||
                      processed_ - confirmed_ >= kUnconfirmedReads;
  } else {
    stream_.Restart(now, misfit);
  }
  return Settle(now);
}

StoreEffects StoreClientCore::OnStreamEnd(SteadyTime now, uint64_t attempt,
                                          const absl::Status& status) {
  stream_.TakeEnd(now, attempt, status);
  return Settle(now);
}

StoreEffects StoreClientCore::Tick(SteadyTime now) { return Settle(now); }

SteadyTime StoreClientCore::NextDeadline() const {
  return std::min(stream_.NextDeadline(), operations_.NextDeadline());
}

// Operations follow when the daemon has accepted the stream, so that no value travels into a stream
// that is refused.
void StoreClientCore::OpenStream(SteadyTime now) {
  stream_.Open(now);
  processed_ = confirmed_ = unconfirmed_bytes_ = 0;
  confirm_is_due_ = false;
  v1::StoreRequest open;
  *open.mutable_open() = NewOpen();
  stream_.Send(std::move(open));
  std::vector<v1::StoreClaim> claim = held_.Claim();
  clients_.AddTo(&claim.front());
  for (v1::StoreClaim& part : claim) {
    v1::StoreRequest request;
    *request.mutable_claim() = std::move(part);
    stream_.Send(std::move(request));
  }
}

v1::StoreOpen StoreClientCore::NewOpen() const {
  v1::StoreOpen open;
  open.set_job_id(options_.job_id);
  open.set_incarnation(options_.identity.incarnation);
  open.set_secret(options_.identity.secret);
  open.set_protocol_version(kProtocolVersion);
  if (options_.rank) open.set_rank(*options_.rank);
  open.set_launcher(options_.launcher);
  open.set_node(options_.identity.node_id);
  open.set_attempt(stream_.attempt());
  open.set_was_served(was_served_);
  open.set_highest_revision(held_.highest_revision());
  open.set_next_operation(next_id_);
  operations_.AddUnanswered(&open);
  return open;
}

std::string StoreClientCore::Take(SteadyTime now, v1::StoreResponse* message) {
  const auto kind = message->message_case();
  if (stream_.is_open() == (kind == v1::StoreResponse::kOpened)) {
    return "its first message, and no other one, must be `opened`";
  }
  if (kind == v1::StoreResponse::kOpened) {
    stream_.TakeOpened(now, message->opened());
    return "";
  }
  stream_.NoteProgress();
  if (kind == v1::StoreResponse::kClients) {
    for (std::string& client : clients_.Merge(message->clients()))
      outbox_.NoteLost(std::move(client));
    return "";
  }
  was_served_ = true;
  switch (kind) {
    case v1::StoreResponse::kAnswer:
      TakeAnswer(message->mutable_answer());
      break;
    case v1::StoreResponse::kHold:
      return TakeHold(message->mutable_hold());
    case v1::StoreResponse::kDrop:
      held_.Take(message->drop());
      break;
    case v1::StoreResponse::kFetch:
      TakeFetch(message->fetch());
      break;
    case v1::StoreResponse::kEvent:
      held_.NoteRevision(message->event().revision());
      watches_.Take(std::move(*message->mutable_event()));
      break;
    case v1::StoreResponse::kSynced:
      held_.NoteRevision(message->synced().revision());
      watches_.Take(message->synced());
      break;
    default:
      break;
  }
  return "";
}

void StoreClientCore::TakeAnswer(v1::StoreAnswer* answer) {
  held_.NoteRevision(answer->revision());
  watches_.TakeAnswer(*answer);
  operations_.TakeAnswer(std::move(*answer));
}

// A change that does not fit cannot happen on one ordered stream. If it does, a new claim tells the
// daemon what this client really holds.
std::string StoreClientCore::TakeHold(v1::StoreHold* hold) {
  std::string misfit =
      absl::StrCat("got a change of ", QuoteKey(hold->key()), " without what it changes");
  if (hold->value_of_operation() != 0) {
    const std::string* const value = operations_.FindValue(hold->value_of_operation());
    if (value == nullptr) return misfit;
    hold->mutable_entry()->set_value(*value);
  }
  if (!held_.Take(std::move(*hold))) return misfit;
  return "";
}

void StoreClientCore::TakeFetch(const v1::StoreFetch& fetch) {
  for (v1::StoreEntries& entries : held_.Fetch(fetch)) {
    v1::StoreRequest request;
    *request.mutable_entries() = std::move(entries);
    stream_.Send(std::move(request));
  }
}

void StoreClientCore::Confirm() {
  if (!stream_.is_open() || !confirm_is_due_) return;
  confirmed_ = processed_;
  unconfirmed_bytes_ = 0;
  confirm_is_due_ = false;
  v1::StoreRequest request;
  request.mutable_confirm()->set_processed(processed_);
  stream_.Send(std::move(request));
}

StoreEffects StoreClientCore::Settle(SteadyTime now) {
  const absl::Status over = stopped_.ok() ? stream_.final_status() : stopped_;
  if (!over.ok()) {
    operations_.EndAll(over);
    watches_.EndAll(over);
    return outbox_.Take();
  }
  const bool is_needed = stream_.attempt() == 0 && !(operations_.empty() && watches_.empty());
  if (is_needed || stream_.MustReopen(now)) OpenStream(now);
  operations_.Advance(now, [this](StoreCallId id) { watches_.AdvanceBelow(id); });
  watches_.AdvanceBelow(next_id_);
  Confirm();
  return outbox_.Take();
}

}  // namespace muster::internal
