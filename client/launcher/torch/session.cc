#include "client/launcher/torch/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/store/messages/store_calls.h"
#include "common/rpc/store_limits.h"

namespace muster::launcher::torch {
namespace {

using v1::StoreOperation;

// How many operations of one connection are in progress at once, and about how many bytes of those
// without a reply. The store limits them for each launcher.
constexpr size_t kWindow = 16;
constexpr size_t kWindowBytes = 1 << 20;

std::string ByteReply(uint8_t byte) { return std::string(1, static_cast<char>(byte)); }
std::string ReplyOf(WaitReply reply) { return ByteReply(static_cast<uint8_t>(reply)); }
std::string ReplyOf(CheckReply reply) { return ByteReply(static_cast<uint8_t>(reply)); }

std::string NumberReply(int64_t number) {
  std::string bytes;
  AppendI64(number, &bytes);
  return bytes;
}

std::string BlobReply(absl::string_view blob) {
  std::string bytes;
  AppendBlob(blob, &bytes);
  return bytes;
}

// Makes an operation end at once instead of waiting.
StoreOperation Now(StoreOperation operation) {
  operation.mutable_wait_timeout()->set_seconds(0);
  return operation;
}

// The store has no key of this name, or a queue or barrier.
bool IsMissing(const absl::Status& status) { return absl::IsDeadlineExceeded(status); }
bool IsOtherKind(const absl::Status& status) { return absl::IsFailedPrecondition(status); }

StoreOperation SetOf(std::string key, std::string value) {
  StoreOperation operation;
  operation.mutable_set()->set_key(std::move(key));
  operation.mutable_set()->set_value(std::move(value));
  return operation;
}

StoreOperation AddOf(std::string key, int64_t amount) {
  StoreOperation operation;
  operation.mutable_add()->set_key(std::move(key));
  operation.mutable_add()->set_amount(amount);
  return operation;
}

StoreOperation GetOf(std::string key) {
  StoreOperation operation;
  operation.mutable_get()->set_key(std::move(key));
  return operation;
}

StoreOperation DeleteOf(std::string key) {
  StoreOperation operation;
  operation.mutable_delete_()->set_key(std::move(key));
  return operation;
}

StoreOperation PushOf(std::string key, std::string element) {
  StoreOperation operation;
  operation.mutable_push()->set_key(std::move(key));
  operation.mutable_push()->set_value(std::move(element));
  return operation;
}

StoreOperation PopOf(std::string key) {
  StoreOperation operation;
  operation.mutable_pop()->set_key(std::move(key));
  return operation;
}

StoreOperation QueueLengthOf(std::string key) {
  StoreOperation operation;
  operation.mutable_queue_length()->set_key(std::move(key));
  return operation;
}

}  // namespace

Session::Session(std::string prefix, uint64_t* next_id)
    : prefix_(std::move(prefix)), next_id_(next_id) {}

Effects Session::Receive(absl::string_view bytes) {
  reader_.Add(bytes);
  Advance();
  return std::exchange(effects_, {});
}

Effects Session::Ended(uint64_t id, Answer answer) {
  auto ended = pending_.extract(id);
  if (ended.empty()) return {};
  Pending& pending = ended.mapped();
  const bool current = busy_ && pending.request == request_;
  const Then& then = current ? pending.then : pending.abandoned;
  if (then) then(std::move(answer));
  Advance();
  return std::exchange(effects_, {});
}

Effects Session::Resume() {
  paused_ = false;
  Advance();
  return std::exchange(effects_, {});
}

Effects Session::Disconnect() {
  disconnected_ = true;
  paused_ = false;
  if (busy_ && waiting_) CancelWait("");
  Advance();
  return std::exchange(effects_, {});
}

void Session::Advance() {
  while (!failed_) {
    const bool full = changes_ >= kWindow || change_bytes_ >= kWindowBytes;
    const bool listens = busy_ ? waiting_ && !held_ : !paused_ && !full;
    if (!listens) break;
    std::optional<Request> request = busy_ ? std::nullopt : std::exchange(held_, std::nullopt);
    if (!request) {
      absl::StatusOr<std::optional<Request>> next = reader_.Next();
      if (!next.ok()) return Fail(std::string(next.status().message()));
      if (!next->has_value()) break;
      request = *std::move(next);
    }
    if (busy_ && request->op == Op::kCancelWait) {
      CancelWait(ReplyOf(WaitReply::kCancelled));
    } else if (busy_ && reader_.is_old_client()) {
      CancelWait("");
      Serve(*std::move(request));
    } else if (busy_) {
      held_ = std::move(request);
    } else {
      Serve(*std::move(request));
    }
  }
  if (!disconnected_ || busy_ || !taken_) return;
  const auto taken = *std::exchange(taken_, std::nullopt);
  ReturnElement(taken.first, taken.second);
}

void Session::Serve(Request request) {
  busy_ = true;
  const auto found = std::exchange(found_, std::nullopt);
  const std::string key = request.keys.empty() ? "" : request.keys.front();
  if (taken_ && !ConcernsTaken(request)) {
    const auto taken = *std::exchange(taken_, std::nullopt);
    ReturnElement(taken.first, taken.second);
  }
  switch (request.op) {
    case Op::kSet:
      Change(SetOf(KeyOf(key), std::move(request.values[0])));
      return Done();
    case Op::kAppend: {
      StoreOperation append;
      append.mutable_append()->set_key(KeyOf(key));
      append.mutable_append()->set_value(std::move(request.values[0]));
      Change(std::move(append));
      return Done();
    }
    case Op::kQueuePush:
      Change(PushOf(KeyOf(key), std::move(request.values[0])));
      return Done();
    case Op::kMultiSet:
      return MultiSet(std::move(request));
    case Op::kCompareSet:
      return CompareSet(request, /*empty_exists=*/false);
    case Op::kGet:
      return found && found->first == key ? Reply(BlobReply(found->second)) : Get(key);
    case Op::kMultiGet:
      return MultiGet(request);
    case Op::kAdd:
      return Add(request);
    case Op::kCheck:
      return Check(request);
    case Op::kWait:
      return Wait(request);
    case Op::kGetNumKeys:
      return CountKeys();
    case Op::kListKeys:
      return ListKeys(std::make_shared<std::vector<std::string>>());
    case Op::kDeleteKey:
      return Delete(key);
    case Op::kQueuePop:
      return Pop(key);
    case Op::kQueueLen:
      return QueueLength(key);
    case Op::kBarrier:
      return Barrier(request);
    case Op::kCancelWait:
      return Reply(ReplyOf(WaitReply::kCancelled));
    case Op::kPing: {
      std::string bytes;
      AppendU32(static_cast<uint32_t>(request.number), &bytes);
      return Reply(std::move(bytes));
    }
    case Op::kValidate:
      break;
  }
  Fail("it sent VALIDATE twice");
}

// ---- Parts of requests ----

uint64_t Session::Begin(StoreOperation operation, Then then, Then abandoned) {
  const uint64_t id = (*next_id_)++;
  pending_.emplace(id, Pending{request_, std::move(then), std::move(abandoned)});
  effects_.push_back(BeginOperation{id, std::move(operation)});
  return id;
}

void Session::BeginWait(StoreOperation operation, Then then, Then abandoned) {
  waits_.push_back(Begin(std::move(operation), std::move(then), std::move(abandoned)));
}

void Session::BeginInBackground(StoreOperation operation, Then then) {
  const uint64_t id = (*next_id_)++;
  pending_.emplace(id, Pending{/*request=*/UINT64_MAX, nullptr, std::move(then)});
  effects_.push_back(BeginOperation{id, std::move(operation)});
}

void Session::RunBatch(const std::shared_ptr<Batch>& batch) {
  if (batch->ended == batch->operations.size()) return batch->all();
  while (batch->begun < batch->operations.size() && batch->begun < batch->ended + kWindow) {
    const size_t index = batch->begun++;
    Begin(std::move(batch->operations[index]), [this, batch, index](Answer answer) {
      batch->each(index, std::move(answer));
      ++batch->ended;
      if (failed_) return;
      const bool last = batch->ended == batch->operations.size();
      if (last || batch->begun < batch->operations.size()) RunBatch(batch);
    });
  }
}

void Session::Reply(std::string bytes) {
  if (!disconnected_) effects_.push_back(SendBytes{std::move(bytes)});
  Done();
}

void Session::Done() {
  busy_ = waiting_ = false;
  waits_.clear();
  ++request_;
}

void Session::Fail(const absl::Status& why) { Fail(std::string(why.message())); }

void Session::Fail(const std::string& why) {
  if (std::exchange(failed_, true)) return;
  GiveUpWaits();
  Done();
  held_.reset();
  if (!disconnected_) effects_.push_back(CloseConnection{why});
}

void Session::CancelWait(std::string reply) {
  GiveUpWaits();
  Reply(std::move(reply));
}

void Session::GiveUpWaits() {
  for (const uint64_t id : waits_) {
    if (pending_.count(id) > 0) effects_.push_back(CancelOperation{id});
  }
}

// ---- Values ----

void Session::Change(StoreOperation operation) {
  const size_t bytes = internal::ValueOf(operation)->size();
  ++changes_;
  change_bytes_ += bytes;
  BeginInBackground(std::move(operation), [this, bytes](const Answer& answer) {
    --changes_;
    change_bytes_ -= bytes;
    if (!answer.ok()) Fail(answer.status());
  });
}

void Session::MultiSet(Request request) {
  if (request.keys.size() <= kWindow) {
    for (size_t i = 0; i < request.keys.size(); ++i) {
      Change(SetOf(KeyOf(request.keys[i]), std::move(request.values[i])));
    }
    return Done();
  }
  const auto batch = std::make_shared<Batch>();
  for (size_t i = 0; i < request.keys.size(); ++i) {
    batch->operations.push_back(SetOf(KeyOf(request.keys[i]), std::move(request.values[i])));
  }
  batch->each = [this](size_t /*index*/, const Answer& answer) {
    if (!answer.ok()) Fail(answer.status());
  };
  batch->all = [this] { Done(); };
  RunBatch(batch);
}

// For PyTorch, an empty expected value means a key that does not exist, or one that is empty.
void Session::CompareSet(const Request& request, bool empty_exists) {
  StoreOperation operation;
  v1::StoreCompareAndSet* const change = operation.mutable_compare_and_set();
  change->set_key(KeyOf(request.keys[0]));
  change->set_value(request.values[1]);
  const std::string& expected = request.values[0];
  if (!expected.empty() || empty_exists) change->set_expected(expected);
  Begin(std::move(operation), [this, request](const Answer& answer) {
    if (!answer.ok()) return Fail(answer.status());
    const std::string& wanted = request.values[0];
    if (answer->changed()) return Reply(BlobReply(request.values[1]));
    if (!answer->has_value()) return Reply(BlobReply(wanted));  // as PyTorch does
    if (wanted.empty() && answer->value().empty()) return CompareSet(request, true);
    Reply(BlobReply(answer->value()));
  });
}

StoreOperation Session::ReadNow(const std::string& key) const { return Now(GetOf(KeyOf(key))); }

void Session::Get(const std::string& key) {
  Begin(ReadNow(key), [this](const Answer& answer) {
    if (answer.ok()) return Reply(BlobReply(answer->value()));
    if (IsMissing(answer.status()) || IsOtherKind(answer.status())) return Reply(BlobReply(""));
    Fail(answer.status());
  });
}

void Session::MultiGet(const Request& request) {
  const auto batch = std::make_shared<Batch>();
  const auto values = std::make_shared<std::vector<std::string>>(request.keys.size());
  for (const std::string& key : request.keys) batch->operations.push_back(ReadNow(key));
  batch->each = [this, values](size_t index, Answer answer) {
    if (answer.ok()) {
      (*values)[index] = std::move(*answer->mutable_value());
    } else if (!IsMissing(answer.status()) && !IsOtherKind(answer.status())) {
      Fail(answer.status());
    }
  };
  batch->all = [this, values] {
    std::string bytes;
    for (const std::string& value : *values) AppendBlob(value, &bytes);
    Reply(std::move(bytes));
  };
  RunBatch(batch);
}

void Session::Add(const Request& request) {
  Begin(AddOf(KeyOf(request.keys[0]), request.number), [this](const Answer& answer) {
    answer.ok() ? Reply(NumberReply(answer->number())) : Fail(answer.status());
  });
}

// ---- Waits ----

std::vector<StoreOperation> Session::WaitsFor(const std::vector<std::string>& keys) const {
  std::vector<StoreOperation> waits;
  size_t bytes = kMaxStoreWaitBytes;
  for (const std::string& key : keys) {
    std::string name = KeyOf(key);
    bytes += name.size();
    if (bytes > kMaxStoreWaitBytes ||
        static_cast<size_t>(waits.back().wait().keys_size()) >= kMaxStoreWaitKeys) {
      waits.emplace_back();
      bytes = name.size();
    }
    *waits.back().mutable_wait()->add_keys() = std::move(name);
  }
  return waits;
}

// An empty queue does not count as a key, but only a CHECK for one key finds that out.
void Session::Check(const Request& request) {
  if (taken_) return Reply(ReplyOf(CheckReply::kReady));
  if (request.keys.size() == 1) {
    const std::string key = request.keys[0];
    Begin(ReadNow(key), [this, key](const Answer& answer) {
      if (answer.ok()) return Reply(ReplyOf(CheckReply::kReady));
      if (IsMissing(answer.status())) return Reply(ReplyOf(CheckReply::kNotReady));
      if (!IsOtherKind(answer.status())) return Fail(answer.status());
      Begin(QueueLengthOf(KeyOf(key)), [this](const Answer& length) {
        if (!length.ok() && !IsOtherKind(length.status())) return Fail(length.status());
        const bool empty = length.ok() && length->number() == 0;
        Reply(ReplyOf(empty ? CheckReply::kNotReady : CheckReply::kReady));
      });
    });
    return;
  }
  const auto batch = std::make_shared<Batch>();
  const auto ready = std::make_shared<bool>(true);
  for (StoreOperation& wait : WaitsFor(request.keys)) {
    batch->operations.push_back(Now(std::move(wait)));
  }
  batch->each = [this, ready](size_t /*index*/, const Answer& answer) {
    if (answer.ok()) return;
    *ready = false;
    if (!IsMissing(answer.status())) Fail(answer.status());
  };
  batch->all = [this, ready] {
    Reply(ReplyOf(*ready ? CheckReply::kReady : CheckReply::kNotReady));
  };
  RunBatch(batch);
}

void Session::Wait(const Request& request) {
  if (taken_) return Reply(ReplyOf(WaitReply::kStopWaiting));
  waiting_ = true;
  if (disconnected_) return CancelWait("");
  if (request.keys.size() != 1) return WaitForAll(request);
  const std::string key = request.keys[0];
  BeginWait(GetOf(KeyOf(key)), [this, key](Answer answer) {
    if (answer.ok()) {
      found_.emplace(key, std::move(*answer->mutable_value()));
      return Reply(ReplyOf(WaitReply::kStopWaiting));
    }
    IsOtherKind(answer.status()) ? WaitForElement(key) : Fail(answer.status());
  });
}

void Session::WaitForAll(const Request& request) {
  const auto left = std::make_shared<size_t>(0);
  for (StoreOperation& wait : WaitsFor(request.keys)) {
    ++*left;
    BeginWait(std::move(wait), [this, left](const Answer& answer) {
      if (!answer.ok()) return Fail(answer.status());
      if (--*left == 0) Reply(ReplyOf(WaitReply::kStopWaiting));
    });
  }
  if (*left == 0) Reply(ReplyOf(WaitReply::kStopWaiting));
}

void Session::WaitForElement(const std::string& key) {
  const auto give_back = [this, key](const Answer& answer) {
    if (answer.ok()) ReturnElement(key, answer->value());
  };
  BeginWait(
      PopOf(KeyOf(key)),
      [this, key](Answer answer) {
        if (answer.ok()) {
          taken_.emplace(key, std::move(*answer->mutable_value()));
        } else if (!IsOtherKind(answer.status())) {
          return Fail(answer.status());
        }
        Reply(ReplyOf(WaitReply::kStopWaiting));
      },
      give_back);
}

// PyTorch counts arrivals in the key itself, and an arrival after the last one passes at once. A
// second key marks that all have come.
void Session::Barrier(const Request& request) {
  waiting_ = true;
  const std::string key = request.keys[0];
  const int64_t world = request.number;
  const auto mark = [this, key, world](const Answer& answer) {
    if (answer.ok() && answer->number() >= world) BeginInBackground(SetOf(MarkOf(key), "1"));
  };
  Begin(
      AddOf(KeyOf(key), 1),
      [this, key, world](const Answer& answer) {
        if (!answer.ok()) return Fail(answer.status());
        const auto pass = [this](const Answer& end) {
          end.ok() ? Reply(ReplyOf(WaitReply::kStopWaiting)) : Fail(end.status());
        };
        if (answer->number() >= world) {
          Begin(SetOf(MarkOf(key), "1"), pass);
        } else if (disconnected_) {
          CancelWait("");
        } else {
          BeginWait(GetOf(MarkOf(key)), pass);
        }
      },
      mark);
}

// ---- Keys ----

void Session::CountKeys() {
  StoreOperation operation;
  operation.mutable_count()->set_prefix(KeyOf(""));
  Begin(std::move(operation), [this](const Answer& answer) {
    answer.ok() ? Reply(NumberReply(answer->number())) : Fail(answer.status());
  });
}

void Session::ListKeys(std::shared_ptr<std::vector<std::string>> keys) {
  StoreOperation operation;
  operation.mutable_list()->set_prefix(KeyOf(""));
  if (!keys->empty()) operation.mutable_list()->set_after(KeyOf(keys->back()));
  Begin(std::move(operation), [this, keys](const Answer& answer) {
    if (!answer.ok()) return Fail(answer.status());
    for (const std::string& name : answer->keys()) keys->push_back(name.substr(KeyOf("").size()));
    if (answer->more() && answer->keys_size() > 0) return ListKeys(keys);
    std::string bytes = NumberReply(static_cast<int64_t>(keys->size()));
    for (const std::string& key : *keys) AppendBlob(key, &bytes);
    Reply(std::move(bytes));
  });
}

void Session::Delete(const std::string& key) {
  const auto batch = std::make_shared<Batch>();
  const auto deleted = std::make_shared<bool>(false);
  batch->operations = {DeleteOf(KeyOf(key)), DeleteOf(MarkOf(key))};
  batch->each = [this, deleted](size_t index, const Answer& answer) {
    if (!answer.ok()) return Fail(answer.status());
    if (index == 0) *deleted = answer->changed();
  };
  batch->all = [this, deleted] { Reply(NumberReply(*deleted ? 1 : 0)); };
  RunBatch(batch);
}

// ---- Queues ----

void Session::Pop(const std::string& key) {
  if (taken_) {
    const auto taken = *std::exchange(taken_, std::nullopt);
    return Reply(NumberReply(1) + BlobReply(taken.second));
  }
  Begin(Now(PopOf(KeyOf(key))), [this](const Answer& answer) {
    if (answer.ok()) return Reply(NumberReply(1) + BlobReply(answer->value()));
    const bool empty = IsMissing(answer.status()) || IsOtherKind(answer.status());
    empty ? Reply(NumberReply(0)) : Fail(answer.status());
  });
}

void Session::QueueLength(const std::string& key) {
  Begin(QueueLengthOf(KeyOf(key)), [this](const Answer& answer) {
    if (!answer.ok() && !IsOtherKind(answer.status())) return Fail(answer.status());
    Reply(NumberReply((answer.ok() ? answer->number() : 0) + (taken_ ? 1 : 0)));
  });
}

bool Session::ConcernsTaken(const Request& request) const {
  switch (request.op) {
    case Op::kQueuePop:
    case Op::kQueueLen:
    case Op::kWait:
    case Op::kCheck:
      return request.keys.size() == 1 && request.keys[0] == taken_->first;
    default:
      return false;
  }
}

void Session::ReturnElement(const std::string& key, const std::string& element) {
  BeginInBackground(PushOf(KeyOf(key), element));
}

}  // namespace muster::launcher::torch
