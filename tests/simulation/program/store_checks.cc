#include "tests/simulation/program/store_checks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/src/protocol/store/messages/store_calls.h"

namespace muster::simulation {
namespace {

using internal::KeyOf;

// The text of the daemon about a key that does not exist.
constexpr char kMissing[] = "has not been set";
// The expected value of a compare-and-set that creates the key. No token is empty.
constexpr char kAbsent[] = "";

std::string ExpectedBy(const v1::StoreCompareAndSet& swap) {
  return swap.has_expected() ? swap.expected() : kAbsent;
}

}  // namespace

// An operation that has changed something ends well. One that is given up has changed nothing, but
// an arrival at a barrier counts all the same.
bool StoreChecks::Record::has_no_effect() const {
  return ended && !operation.has_barrier() &&
         (absl::IsCancelled(answer.status()) || absl::IsDeadlineExceeded(answer.status()));
}

bool StoreChecks::Record::has_changed() const {
  if (!is_ok() || !internal::MayChange(operation)) return false;
  return (!operation.has_delete_() && !operation.has_compare_and_set()) || answer->changed();
}

template <typename... Text>
void StoreChecks::Wrong(const Record& record, const Text&... text) {
  simulation_.Violation("process ", record.process, ": ",
                        internal::DescribeStoreCall(record.operation), " (", record.token, ") ",
                        text...);
}

size_t StoreChecks::Began(ProcessId process, const v1::StoreOperation& operation,
                          std::string token) {
  Record record;
  record.process = process;
  record.operation = operation;
  record.token = std::move(token);
  const std::string& key = KeyOf(operation);
  record.floor = answered_[key];
  record.must_exist = set_.count(key) > 0 && deleted_.count(key) == 0;
  record.least = static_cast<int64_t>(sums_.size());
  if (key == store_keys::kLog) record.log = appended_;
  if (operation.has_delete_()) deleted_.insert(key);
  records_.push_back(std::move(record));
  return records_.size() - 1;
}

void StoreChecks::Ended(size_t number, const absl::StatusOr<v1::StoreAnswer>& answer) {
  Record& record = records_[number];
  record.ended = true;
  record.answer = answer;
  CheckOutcome(record);
  if (LosesNothing()) CheckExistence(record);
  if (!answer.ok()) return;
  ++successes_;
  const v1::StoreOperation& operation = record.operation;
  CheckRevision(record);
  if (operation.has_add()) CheckAdd(record);
  if (operation.has_get() && operation.get().key() == store_keys::kCounter) CheckCounter(record);
  if (operation.has_get() && operation.get().key() == store_keys::kLog) CheckLog(record);
  if (operation.has_pop()) CheckPop(record);
  if (operation.has_compare_and_set()) CheckSwap(record);
  if (operation.has_barrier()) CheckBarrier(record);
  if (operation.has_append()) appended_.insert(record.token);
  const bool gives_value = operation.has_set() || operation.has_add() || operation.has_append() ||
                           operation.has_compare_and_set();
  if (gives_value && record.has_changed()) set_.insert(KeyOf(operation));
}

// A client ends its operations only with an error that it may have. If clients cannot be lost, none
// is.
void StoreChecks::CheckOutcome(const Record& record) {
  const absl::Status& status = record.answer.status();
  if (status.ok() || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status)) return;
  const bool has_lost = absl::IsAborted(status) || absl::IsUnavailable(status);
  if (has_lost && !setting_.harmless()) return;
  Wrong(record, "must not end like this: ", status.ToString());
}

// No operation sees an older state than one that was answered before it began. So no answered
// change is lost, no change happens again, and no deleted value comes back.
void StoreChecks::CheckRevision(const Record& record) {
  const uint64_t revision = record.answer->revision();
  if (revision == 0) return;
  const uint64_t least = record.floor + (record.has_changed() ? 1 : 0);
  if (LosesNothing() && revision < least) {
    Wrong(record, "has revision ", revision, ", but revision ", record.floor,
          " of its key was answered before");
  }
  uint64_t& answered = answered_[KeyOf(record.operation)];
  answered = std::max(answered, revision);
}

void StoreChecks::CheckExistence(const Record& record) {
  if (!record.operation.has_get() || !record.must_exist) return;
  if (deleted_.count(record.operation.get().key()) > 0) return;  // meanwhile
  if (!absl::StrContains(record.answer.status().message(), kMissing)) return;
  Wrong(record, "does not find a value that was set and never deleted: ",
        record.answer.status().ToString());
}

// Each addition counts once.
void StoreChecks::CheckAdd(const Record& record) {
  const int64_t sum = record.answer->number();
  if (!sums_.insert(sum).second && LosesNothing()) {
    Wrong(record, "returns ", sum, ", which another addition has returned");
  }
  CheckCounter(record);
}

void StoreChecks::CheckCounter(const Record& record) {
  int64_t number = record.answer->number();
  if (record.operation.has_get() && !absl::SimpleAtoi(record.answer->value(), &number)) {
    return Wrong(record, "returns no number: ", record.answer->value());
  }
  const auto may_count = [](const Record& other) {
    return other.operation.has_add() && !other.has_no_effect();
  };
  const int64_t most = std::count_if(records_.begin(), records_.end(), may_count);
  if (LosesNothing() && (number < record.least || number > most)) {
    Wrong(record, "returns ", number, " after ", record.least, " additions, of at most ", most);
  }
}

// Each token is in the log once. It is there from its answer on.
void StoreChecks::CheckLog(const Record& record) {
  std::set<std::string> tokens;
  for (const absl::string_view text : absl::StrSplit(record.answer->value(), ';')) {
    if (text.empty()) continue;
    const std::string token(text);
    if (!tokens.insert(token).second) Wrong(record, "finds ", token, " twice");
    const auto appends = [&](const Record& other) {
      return other.operation.has_append() && other.token == token && !other.has_no_effect();
    };
    if (LosesNothing() && std::none_of(records_.begin(), records_.end(), appends)) {
      Wrong(record, "finds ", token, ", which nobody has appended");
    }
  }
  if (!LosesNothing()) return;
  for (const std::string& token : record.log) {
    if (tokens.count(token) == 0) Wrong(record, "does not find ", token);
  }
}

// Each element is popped once.
void StoreChecks::CheckPop(const Record& record) {
  const std::string& element = record.answer->value();
  if (!popped_.insert(element).second && LosesNothing()) {
    Wrong(record, "returns ", element, ", which was popped before");
  }
  const auto pushes = [&](const Record& other) {
    return other.operation.has_push() && other.token == element;
  };
  if (std::none_of(records_.begin(), records_.end(), pushes)) {
    Wrong(record, "returns ", element, ", which nobody has pushed");
  }
}

// Of all that expect one value, one succeeds. No value comes back, because each is a token.
void StoreChecks::CheckSwap(const Record& record) {
  if (!record.answer->changed()) return;
  const v1::StoreCompareAndSet& swap = record.operation.compare_and_set();
  const bool is_first = swapped_.emplace(swap.key(), ExpectedBy(swap)).second;
  if (!is_first && LosesNothing()) {
    Wrong(record, "succeeds, as another one has that expected the same value");
  }
}

// A barrier is complete when as many have arrived as it is for.
void StoreChecks::CheckBarrier(const Record& record) {
  const v1::StoreBarrier& barrier = record.operation.barrier();
  const auto arrives = [&](const Record& other) {
    return other.operation.has_barrier() && other.operation.barrier().key() == barrier.key();
  };
  const auto arrived =
      static_cast<uint64_t>(std::count_if(records_.begin(), records_.end(), arrives));
  if (arrived < barrier.count()) {
    Wrong(record, "is complete, and only ", arrived, " of ", barrier.count(), " have arrived");
  }
  const int64_t place = record.answer->number();
  if (place < 1 || static_cast<uint64_t>(place) > barrier.count()) {
    Wrong(record, "has place ", place, " of ", barrier.count());
  }
}

void StoreChecks::CheckEnd() {
  if (setting_.harmless()) {
    for (const Record& record : records_) {
      const bool is_for_all =
          record.operation.has_barrier() && record.operation.barrier().key() == store_keys::kAll;
      if (!record.ended) Wrong(record, "has not ended");
      if (is_for_all && record.ended && !record.answer.ok()) {
        Wrong(record, "is not complete: ", record.answer.status().ToString());
      }
    }
  }
  if (!LosesNothing()) return;
  CheckQueueAtEnd();
  CheckReadsAtEnd();
}

// A program that has finished has popped until the queue was empty. So its own elements were popped
// by somebody, perhaps by a process that has died since.
void StoreChecks::CheckQueueAtEnd() {
  uint64_t uncertain = 0;
  uint64_t vanished = 0;
  const Record* lost = nullptr;
  for (const Record& record : records_) {
    if (record.operation.has_pop() && !record.is_ok() && !record.has_no_effect()) ++uncertain;
    if (!record.operation.has_push() || !record.is_ok()) continue;
    if (finished_.count(record.process) == 0 || popped_.count(record.token) > 0) continue;
    ++vanished;
    lost = &record;
  }
  if (vanished > uncertain) Wrong(*lost, "was answered, and nobody gets the element");
}

// No two changes have one revision, and a read returns what was written at its revision.
void StoreChecks::CheckReadsAtEnd() {
  std::map<uint64_t, const Record*> changes;
  for (const Record& record : records_) {
    if (!record.has_changed()) continue;
    const Record*& change = changes[record.answer->revision()];
    if (change != nullptr) {
      Wrong(record, "has revision ", record.answer->revision(), ", as ", change->token, " has");
    }
    change = &record;
  }
  for (const Record& record : records_) {
    if (!record.is_ok() || !record.operation.has_get()) continue;
    const auto change = changes.find(record.answer->revision());
    if (change == changes.end()) continue;
    const v1::StoreOperation& by = change->second->operation;
    if (!by.has_set() && !by.has_compare_and_set()) continue;
    if (record.answer->value() != change->second->token) {
      Wrong(record, "returns ", record.answer->value(), ", which is not what was written");
    }
  }
}

}  // namespace muster::simulation
