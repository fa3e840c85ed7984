#include "client/src/control_plane/local_entries.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/protocol/store/messages/store_calls.h"

namespace muster::internal {
namespace {

// Returns the name of a kind of content, by its index.
const char* KindOf(size_t index) {
  static constexpr const char* kKinds[] = {"a value", "a queue", "a barrier"};
  return kKinds[index];
}

template <class Kind>
const char* NameOf();
template <>
const char* NameOf<std::string>() {
  return KindOf(0);
}
template <>
const char* NameOf<std::deque<std::string>>() {
  return KindOf(1);
}
template <>
const char* NameOf<std::shared_ptr<LocalEntries::Arrivals>>() {
  return KindOf(2);
}

v1::StoreAnswer AnswerOf(int64_t number) {
  v1::StoreAnswer answer;
  answer.set_number(number);
  return answer;
}

absl::StatusOr<int64_t> Sum(const std::string& key, const std::string& text, int64_t amount) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) {
    return absl::InvalidArgumentError(absl::StrCat("the value of key ", QuoteKey(key), " is ",
                                                   QuoteKey(text),
                                                   ", which is no 64-bit decimal number: use set"));
  }
  int64_t sum = 0;
  if (__builtin_add_overflow(number, amount, &sum)) {
    return absl::OutOfRangeError(absl::StrCat("key ", QuoteKey(key), " is ", number, "; adding ",
                                              amount, " does not fit into 64 bits"));
  }
  return sum;
}

bool HasPrefix(const std::string& key, const std::string& prefix) {
  return key.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

template <class Kind>
absl::StatusOr<Kind*> LocalEntries::Find(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  Content& content = found->second.content;
  if (auto* const kind = std::get_if<Kind>(&content)) return kind;
  return absl::FailedPreconditionError(absl::StrCat("key ", QuoteKey(key), " has ",
                                                    KindOf(content.index()), ", not ",
                                                    NameOf<Kind>(), ": delete it first"));
}

v1::StoreAnswer LocalEntries::Change(const std::string& key, Content content) {
  entries_[key].content = std::move(content);
  return NoteChange(key);
}

v1::StoreAnswer LocalEntries::NoteChange(const std::string& key) {
  changed_ = key;
  ++revision_;
  const auto entry = entries_.find(key);
  if (entry != entries_.end()) entry->second.revision = revision_;
  v1::StoreAnswer answer;
  answer.set_revision(revision_);
  answer.set_changed(true);
  return answer;
}

std::optional<LocalEntries::Result> LocalEntries::Run(Call* call) {
  using v1::StoreOperation;
  changed_.reset();
  const StoreOperation& operation = call->operation;
  switch (operation.operation_case()) {
    case StoreOperation::kList:
      return List(operation.list());
    case StoreOperation::kCount:
      return AnswerOf(static_cast<int64_t>(List(operation.count().prefix()).size()));
    case StoreOperation::kWait:
      return Wait(operation.wait());
    default:
      break;
  }
  if (KeyOf(operation).empty()) return absl::InvalidArgumentError("a key is empty");
  switch (operation.operation_case()) {
    case StoreOperation::kSet:
      return Set(operation.set());
    case StoreOperation::kGet:
      return Get(operation.get());
    case StoreOperation::kAdd:
      return Add(operation.add());
    case StoreOperation::kCompareAndSet:
      return CompareAndSet(operation.compare_and_set());
    case StoreOperation::kAppend:
      return Append(operation.append());
    case StoreOperation::kDelete:
      return Delete(operation.delete_());
    case StoreOperation::kPush:
      return Push(operation.push());
    case StoreOperation::kPop:
      return Pop(*call);
    case StoreOperation::kQueueLength:
      return QueueLength(operation.queue_length());
    case StoreOperation::kBarrier:
      return Barrier(call);
    default:
      return absl::InvalidArgumentError("the operation is none of the store");
  }
}

LocalEntries::Result LocalEntries::Set(const v1::StoreSet& set) {
  const absl::StatusOr<std::string*> value = Find<std::string>(set.key());
  if (!value.ok()) return value.status();
  return Change(set.key(), set.value());
}

std::optional<LocalEntries::Result> LocalEntries::Get(const v1::StoreGet& get) {
  const absl::StatusOr<std::string*> value = Find<std::string>(get.key());
  if (!value.ok()) return value.status();
  if (*value == nullptr) return std::nullopt;
  v1::StoreAnswer answer;
  answer.set_value(**value);
  answer.set_revision(entries_[get.key()].revision);
  return answer;
}

std::optional<LocalEntries::Result> LocalEntries::Wait(const v1::StoreWait& wait) const {
  bool all_exist = true;
  for (const std::string& key : wait.keys()) {
    if (key.empty()) return absl::InvalidArgumentError("a key is empty");
    all_exist = all_exist && entries_.count(key) > 0;
  }
  if (!all_exist) return std::nullopt;
  return v1::StoreAnswer();
}

LocalEntries::Result LocalEntries::Add(const v1::StoreAdd& add) {
  const absl::StatusOr<std::string*> value = Find<std::string>(add.key());
  if (!value.ok()) return value.status();
  const absl::StatusOr<int64_t> sum =
      Sum(add.key(), *value == nullptr ? "0" : **value, add.amount());
  if (!sum.ok()) return sum.status();
  v1::StoreAnswer answer = Change(add.key(), absl::StrCat(*sum));
  answer.set_number(*sum);
  return answer;
}

LocalEntries::Result LocalEntries::CompareAndSet(const v1::StoreCompareAndSet& change) {
  const absl::StatusOr<std::string*> value = Find<std::string>(change.key());
  if (!value.ok()) return value.status();
  const bool exists = *value != nullptr;
  const bool matches = change.has_expected() ? exists && **value == change.expected() : !exists;
  if (matches) return Change(change.key(), change.value());
  v1::StoreAnswer answer;
  if (exists) answer.set_value(**value);
  return answer;
}

LocalEntries::Result LocalEntries::Append(const v1::StoreAppend& append) {
  const absl::StatusOr<std::string*> value = Find<std::string>(append.key());
  if (!value.ok()) return value.status();
  std::string longer = absl::StrCat(*value == nullptr ? "" : **value, append.value());
  const auto size = static_cast<int64_t>(longer.size());
  v1::StoreAnswer answer = Change(append.key(), std::move(longer));
  answer.set_number(size);
  return answer;
}

LocalEntries::Result LocalEntries::Delete(const v1::StoreDelete& deletion) {
  const auto entry = entries_.find(deletion.key());
  if (entry == entries_.end()) return v1::StoreAnswer();
  if (auto* const arrivals = std::get_if<std::shared_ptr<Arrivals>>(&entry->second.content)) {
    (*arrivals)->deleted = true;
  }
  entries_.erase(entry);
  return NoteChange(deletion.key());
}

LocalEntries::Result LocalEntries::List(const v1::StoreList& list) const {
  v1::StoreAnswer answer;
  for (const std::string& key : List(list.prefix())) {
    if (list.after().empty() || key > list.after()) answer.add_keys(key);
  }
  return answer;
}

std::vector<std::string> LocalEntries::List(const std::string& prefix) const {
  std::vector<std::string> keys;
  for (auto entry = entries_.lower_bound(prefix); entry != entries_.end(); ++entry) {
    if (!HasPrefix(entry->first, prefix)) break;
    keys.push_back(entry->first);
  }
  return keys;
}

LocalEntries::Result LocalEntries::Push(const v1::StorePush& push) {
  const absl::StatusOr<Queue*> queue = Find<Queue>(push.key());
  if (!queue.ok()) return queue.status();
  if (*queue == nullptr) entries_[push.key()].content = Queue();
  Queue& elements = std::get<Queue>(entries_[push.key()].content);
  elements.push_back(push.value());
  v1::StoreAnswer answer = NoteChange(push.key());
  answer.set_number(static_cast<int64_t>(elements.size()));
  return answer;
}

// Pops that wait get their elements in the order in which they came.
std::optional<LocalEntries::Result> LocalEntries::Pop(const Call& call) {
  const std::string& key = call.operation.pop().key();
  const absl::StatusOr<Queue*> queue = Find<Queue>(key);
  if (!queue.ok()) {
    Forget(call);
    return queue.status();
  }
  std::deque<uint64_t>& waiting = pops_[key];
  const bool waits = std::find(waiting.begin(), waiting.end(), call.number) != waiting.end();
  if (!waits) waiting.push_back(call.number);
  if (*queue == nullptr || (*queue)->empty() || waiting.front() != call.number) {
    return std::nullopt;
  }
  waiting.pop_front();
  std::string element = std::move((*queue)->front());
  (*queue)->pop_front();
  v1::StoreAnswer answer = NoteChange(key);
  answer.set_value(std::move(element));
  return answer;
}

void LocalEntries::Forget(const Call& call) {
  changed_.reset();
  const auto waiting = pops_.find(call.operation.pop().key());
  if (waiting == pops_.end()) return;
  std::deque<uint64_t>& numbers = waiting->second;
  numbers.erase(std::remove(numbers.begin(), numbers.end(), call.number), numbers.end());
  if (numbers.empty()) pops_.erase(waiting);
}

LocalEntries::Result LocalEntries::QueueLength(const v1::StoreQueueLength& length) {
  const absl::StatusOr<Queue*> queue = Find<Queue>(length.key());
  if (!queue.ok()) return queue.status();
  return AnswerOf(*queue == nullptr ? 0 : static_cast<int64_t>((*queue)->size()));
}

std::optional<LocalEntries::Result> LocalEntries::Barrier(Call* call) {
  if (call->arrivals == nullptr) {
    if (absl::Status status = Arrive(call); !status.ok()) return status;
  }
  if (call->arrivals->arrived >= call->complete_at) return AnswerOf(call->place);
  if (!call->arrivals->deleted) return std::nullopt;
  return absl::FailedPreconditionError(absl::StrCat("barrier ",
                                                    QuoteKey(call->operation.barrier().key()),
                                                    " was deleted before all had arrived"));
}

absl::Status LocalEntries::Arrive(Call* call) {
  const v1::StoreBarrier& barrier = call->operation.barrier();
  const auto found = Find<std::shared_ptr<Arrivals>>(barrier.key());
  if (!found.ok()) return found.status();
  if (barrier.count() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("barrier ", QuoteKey(barrier.key()), " waits for 0 arrivals"));
  }
  const auto now = *found == nullptr ? std::make_shared<Arrivals>() : **found;
  if (now->arrived == now->complete_at) {
    now->count = barrier.count();
    now->complete_at += barrier.count();
  } else if (now->count != barrier.count()) {
    return absl::FailedPreconditionError(absl::StrCat("barrier ", QuoteKey(barrier.key()),
                                                      " waits for ", now->count,
                                                      " arrivals, not for ", barrier.count()));
  }
  ++now->arrived;
  call->arrivals = now;
  call->complete_at = now->complete_at;
  call->place = static_cast<int64_t>(now->arrived + now->count - now->complete_at);
  Change(barrier.key(), now);
  return absl::OkStatus();
}

std::string LocalEntries::DescribeMissing(const Call& call) const {
  const std::string key = QuoteKey(KeyOf(call.operation));
  switch (call.operation.operation_case()) {
    case v1::StoreOperation::kGet:
      return absl::StrCat("key ", key, " has not been set");
    case v1::StoreOperation::kPop:
      return absl::StrCat("queue ", key, " has had no element to pop");
    case v1::StoreOperation::kBarrier:
      return absl::StrCat(
          call.arrivals->arrived + call.arrivals->count - call.arrivals->complete_at, " of ",
          call.arrivals->count, " have arrived at barrier ", key);
    default:
      break;
  }
  std::vector<std::string> missing;
  for (const std::string& awaited : call.operation.wait().keys()) {
    if (entries_.count(awaited) == 0) missing.push_back(QuoteKey(awaited));
  }
  constexpr size_t kMost = 8;
  const size_t number = missing.size();
  if (number > kMost) missing.resize(kMost);
  return absl::StrCat(number, " of ", call.operation.wait().keys_size(),
                      " keys have not been set: ", absl::StrJoin(missing, ", "),
                      number > kMost ? ", ..." : "");
}

v1::StoreWatchEvent LocalEntries::EventOf(const std::string& key) const {
  v1::StoreWatchEvent event;
  event.set_key(key);
  event.set_revision(revision_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    event.set_deleted(true);
    return event;
  }
  event.set_revision(found->second.revision);
  const Content& content = found->second.content;
  if (const auto* const value = std::get_if<std::string>(&content)) {
    event.set_value(*value);
  } else if (const auto* const queue = std::get_if<Queue>(&content)) {
    event.set_elements(queue->size());
  } else {
    const Arrivals& arrivals = *std::get<std::shared_ptr<Arrivals>>(content);
    event.set_arrivals(arrivals.arrived + arrivals.count - arrivals.complete_at);
  }
  return event;
}

}  // namespace muster::internal
