#include "server/core/store/evaluator.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/rpc/overloaded.h"
#include "server/core/store/content.h"

namespace muster::core::store {

namespace {

// The bytes of keys in one answer to a list.
constexpr uint64_t kMostListed = 1 << 20;

Bytes ToBytes(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

// Returns the name of a kind, for errors.
template <class Kind>
const char* NameOf() {
  return KindOf(Kind());
}

// Applies a change to an entry, as its holders do.
void Apply(const StoreChange& change, StoreEntry* entry) {
  std::visit(Overloaded{
                 [&](const StoreChange::Appended& appended) {
                   Bytes& value = std::get<Bytes>(entry->content);
                   value = ToBytes(absl::StrCat(*value, *appended.bytes));
                 },
                 [&](const StoreChange::Pushed& pushed) {
                   std::get<StoreQueue>(entry->content).elements.push_back(pushed.element);
                 },
                 [&](const StoreChange::Popped&) {
                   std::get<StoreQueue>(entry->content).elements.pop_front();
                 },
                 [&](const StoreArrivals& arrivals) { entry->content = arrivals; },
             },
             change.what);
  entry->results[change.operation] = change.result;
}

}  // namespace

Outcome Evaluator::Refuse(absl::Status why) {
  Outcome outcome;
  outcome.answer.error = std::move(why);
  return outcome;
}

Outcome Evaluator::Evaluate(const ParkedOperation& operation) {
  return std::visit([&](const auto& what) { return Run(operation, what); }, operation.request.what);
}

Outcome Evaluator::Repeat(const ParkedOperation& operation, Slot* slot) const {
  const StoreResult& result = slot->entry->results.at({operation.client->id, operation.request.id});
  Outcome outcome;
  if (result.complete_at == StoreResult::kNever) {
    outcome = Refuse(absl::FailedPreconditionError(
        absl::StrCat("barrier ", Quote(slot->key), " was deleted before all had arrived")));
  } else if (!IsComplete(slot->entry->content, result)) {
    outcome.waits_for = slot;
    return outcome;
  } else {
    outcome.answer.revision = result.revision;
    outcome.answer.changed = true;
    outcome.answer.number = result.number;
    outcome.answer.value = result.value;
  }
  // A barrier depends on all arrivals, and a failure on the deletion.
  const bool arrives = std::holds_alternative<StoreBarrier>(operation.request.what);
  outcome.depends_on.emplace_back(slot, arrives ? slot->version.revision : result.revision);
  return outcome;
}

// ---- Checks ----

absl::Status Evaluator::CheckKey(const std::string& key) const {
  if (key.empty()) return absl::InvalidArgumentError("a key is empty");
  if (key.size() <= context_.options.max_key_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("key ", Quote(key), " has ", key.size(), " bytes; the limit is ",
                   context_.options.max_key_bytes, " (musterd --max-store-key-bytes raises it)"));
}

absl::Status Evaluator::CheckSize(const std::string& key, uint64_t bytes) const {
  if (bytes <= context_.options.max_value_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the value of key ", Quote(key), " would have ", bytes, " bytes; the limit is ",
      context_.options.max_value_bytes, " (musterd --max-store-value-bytes raises it)"));
}

absl::Status Evaluator::CheckQueue(const Slot& slot, uint64_t bytes) const {
  const uint64_t all = slot.charge.bytes() + bytes;
  if (all <= context_.options.max_entry_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("queue ", Quote(slot.key), " would have ", all, " bytes; the limit is ",
                   context_.options.max_entry_bytes,
                   ", 8 elements of the largest size: pop elements first "
                   "(musterd --max-store-value-bytes raises the limit)"));
}

absl::Status Evaluator::CheckRoom(const std::string& key, uint64_t bytes) const {
  const Slot* const slot = slots_.Find(key);
  if ((slot == nullptr || !slot->entry) && slots_.entries() >= context_.options.max_keys) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "key ", Quote(key), " is one too many: the store has ", slots_.entries(),
        " keys, those just deleted included (musterd --max-store-keys raises the limit)"));
  }
  const absl::Status room = context_.budget->Check(bytes + 2 * key.size());
  if (room.ok()) return room;
  return absl::Status(room.code(), absl::StrCat("key ", Quote(key), ": ", room.message()));
}

void Evaluator::Depend(Slot* slot, Outcome* outcome) const {
  if (slot == nullptr || !slot->entry || placement_.IsSafe(*slot, slot->version.revision)) return;
  outcome->depends_on.emplace_back(slot, slot->version.revision);
}

template <class Kind>
absl::StatusOr<Slot*> Evaluator::FindKind(const std::string& key, Outcome* outcome) const {
  if (absl::Status s = CheckKey(key); !s.ok()) return s;
  Slot* const slot = slots_.Find(key);
  Depend(slot, outcome);
  if (slot == nullptr || !slot->exists()) return nullptr;
  if (std::holds_alternative<Kind>(slot->entry->content)) return slot;
  return absl::FailedPreconditionError(absl::StrCat("key ", Quote(key), " has ",
                                                    KindOf(slot->entry->content), ", not ",
                                                    NameOf<Kind>(), ": delete it first"));
}

Outcome Evaluator::Wait(const std::string& key) {
  Outcome outcome;
  outcome.waits_for = slots_.FindOrAdd(key);
  return outcome;
}

// ---- Changes ----

void Evaluator::Record(const ParkedOperation& by, Slot* slot, StoreResult* result) {
  result->revision = ++context_.latest;
  by.client->recorded[by.request.id] = slot;
}

Outcome Evaluator::NoteChange(const ParkedOperation& by, Slot* slot, const StoreResult& result,
                              bool leaves_keeper) {
  placement_.NoteChange(slot, by.client, leaves_keeper);
  watches_.NoteChange(*slot);
  Outcome outcome;
  outcome.answer.revision = result.revision;
  outcome.answer.changed = true;
  outcome.answer.number = result.number;
  outcome.answer.value = result.value;
  outcome.changed = slot;
  outcome.depends_on.emplace_back(slot, result.revision);
  return outcome;
}

Outcome Evaluator::Replace(const ParkedOperation& by, const std::string& key, StoreContent content,
                           StoreResult result, bool leaves_keeper) {
  Slot* const slot = slots_.FindOrAdd(key);
  Record(by, slot, &result);
  StoreEntry entry;
  if (slot->entry) entry.results = std::move(slot->entry->results);
  entry.content = std::move(content);
  entry.results[{by.client->id, by.request.id}] = result;
  slots_.SetEntry(slot, std::move(entry), {result.revision, context_.options.daemon_instance});
  slot->wakes = true;
  return NoteChange(by, slot, result, leaves_keeper);
}

Outcome Evaluator::Amend(const ParkedOperation& by, Slot* slot, decltype(StoreChange::what) what,
                         int64_t grows_by, StoreResult result) {
  const uint64_t base = slot->version.revision;
  Record(by, slot, &result);
  auto change =
      std::make_shared<const StoreChange>(StoreChange{base,
                                                      std::move(what),
                                                      {by.client->id, by.request.id},
                                                      result,
                                                      std::exchange(slot->acknowledged, {})});
  Apply(*change, &*slot->entry);
  slot->version = {result.revision, context_.options.daemon_instance};
  slot->snapshot.reset();
  slot->changes.push_back(std::move(change));
  slots_.Grow(slot, grows_by + static_cast<int64_t>(SizeOf(result)));
  slot->wakes = slot->wakes || IsComplete(slot->entry->content, result);
  return NoteChange(by, slot, result, /*leaves_keeper=*/true);
}

Outcome Evaluator::Run(const ParkedOperation& by, const StoreSet& set) {
  Outcome refused;
  const absl::StatusOr<Slot*> slot = FindKind<Bytes>(set.key, &refused);
  refused.answer.error = slot.status();
  if (slot.ok()) refused.answer.error = CheckSize(set.key, set.value->size());
  if (refused.answer.error.ok()) refused.answer.error = CheckRoom(set.key, set.value->size());
  if (!refused.answer.error.ok()) return refused;
  Outcome outcome = Replace(by, set.key, set.value, {});
  outcome.sets_value = true;
  return outcome;
}

Outcome Evaluator::Run(const ParkedOperation& by, const StoreAdd& add) {
  Outcome refused;
  const absl::StatusOr<Slot*> slot = FindKind<Bytes>(add.key, &refused);
  refused.answer.error = slot.ok() ? CheckRoom(add.key, 32) : slot.status();
  if (!refused.answer.error.ok()) return refused;
  const std::string before = *slot == nullptr ? "0" : *std::get<Bytes>((*slot)->entry->content);
  const absl::StatusOr<int64_t> sum = Add(add.key, before, add.amount);
  refused.answer.error = sum.status();
  if (!sum.ok()) return refused;
  return Replace(by, add.key, ToBytes(absl::StrCat(*sum)), {0, *sum});
}

Outcome Evaluator::Run(const ParkedOperation& by, const StoreCompareAndSet& change) {
  Outcome outcome;
  const absl::StatusOr<Slot*> slot = FindKind<Bytes>(change.key, &outcome);
  outcome.answer.error = slot.ok() ? CheckSize(change.key, change.value->size()) : slot.status();
  if (!outcome.answer.error.ok()) return outcome;
  const Bytes value = *slot == nullptr ? nullptr : std::get<Bytes>((*slot)->entry->content);
  const bool matches =
      change.expected ? value != nullptr && *value == *change.expected : value == nullptr;
  if (!matches) {
    outcome.answer.value = value;
    if (*slot != nullptr) outcome.answer.revision = (*slot)->version.revision;
    return outcome;
  }
  outcome.answer.error = CheckRoom(change.key, change.value->size());
  if (!outcome.answer.error.ok()) return outcome;
  outcome = Replace(by, change.key, change.value, {});
  outcome.sets_value = true;
  return outcome;
}

Outcome Evaluator::Run(const ParkedOperation& by, const StoreAppend& append) {
  Outcome refused;
  const absl::StatusOr<Slot*> slot = FindKind<Bytes>(append.key, &refused);
  const uint64_t before =
      slot.ok() && *slot != nullptr ? std::get<Bytes>((*slot)->entry->content)->size() : 0;
  const uint64_t after = before + append.value->size();
  refused.answer.error = slot.ok() ? CheckSize(append.key, after) : slot.status();
  if (refused.answer.error.ok()) {
    refused.answer.error = CheckRoom(append.key, append.value->size());
  }
  if (!refused.answer.error.ok()) return refused;
  const StoreResult result{0, static_cast<int64_t>(after)};
  if (*slot == nullptr) return Replace(by, append.key, append.value, result, true);
  return Amend(by, *slot, StoreChange::Appended{append.value},
               static_cast<int64_t>(append.value->size()), result);
}

Outcome Evaluator::Run(const ParkedOperation& by, const StoreDelete& deletion) {
  Outcome outcome = Refuse(CheckKey(deletion.key));
  if (!outcome.answer.error.ok()) return outcome;
  Slot* const slot = slots_.Find(deletion.key);
  if (slot == nullptr || !slot->exists()) {
    Depend(slot, &outcome);
    return outcome;
  }
  EndRounds(&*slot->entry);
  return Replace(by, deletion.key, StoreTombstone(), {});
}

Outcome Evaluator::Run(const ParkedOperation& by, const StorePush& push) {
  Outcome refused;
  const absl::StatusOr<Slot*> slot = FindKind<StoreQueue>(push.key, &refused);
  refused.answer.error = slot.ok() ? CheckSize(push.key, push.value->size()) : slot.status();
  if (refused.answer.error.ok() && *slot != nullptr) {
    refused.answer.error = CheckQueue(**slot, push.value->size());
  }
  if (refused.answer.error.ok()) refused.answer.error = CheckRoom(push.key, push.value->size());
  if (!refused.answer.error.ok()) return refused;
  if (*slot == nullptr) return Replace(by, push.key, StoreQueue{{push.value}}, {0, 1}, true);
  const auto length = std::get<StoreQueue>((*slot)->entry->content).elements.size() + 1;
  return Amend(by, *slot, StoreChange::Pushed{push.value},
               static_cast<int64_t>(SizeOf(StoreResult{0, {}, push.value})),
               {0, static_cast<int64_t>(length)});
}

Outcome Evaluator::Run(const ParkedOperation& by, const StorePop& pop) {
  Outcome refused;
  const absl::StatusOr<Slot*> slot = FindKind<StoreQueue>(pop.key, &refused);
  refused.answer.error = slot.status();
  if (!slot.ok()) return refused;
  if (*slot == nullptr) return Wait(pop.key);
  const auto& elements = std::get<StoreQueue>((*slot)->entry->content).elements;
  if (elements.empty()) return Wait(pop.key);
  const StoreResult result{0, {}, elements.front()};
  return Amend(by, *slot, StoreChange::Popped(), -static_cast<int64_t>(SizeOf(result)), result);
}

Outcome Evaluator::Run(const ParkedOperation& by, const StoreBarrier& barrier) {
  Outcome refused;
  const absl::StatusOr<Slot*> slot = FindKind<StoreArrivals>(barrier.key, &refused);
  refused.answer.error = slot.ok() ? CheckRoom(barrier.key, 0) : slot.status();
  if (barrier.count == 0) {
    refused.answer.error = absl::InvalidArgumentError(
        absl::StrCat("barrier ", Quote(barrier.key), " waits for 0 arrivals"));
  }
  if (!refused.answer.error.ok()) return refused;
  StoreArrivals now;
  if (*slot != nullptr) now = std::get<StoreArrivals>((*slot)->entry->content);
  if (now.arrived == now.complete_at) {
    now.count = barrier.count;
    now.complete_at += barrier.count;
  } else if (now.count != barrier.count) {
    refused.answer.error = absl::FailedPreconditionError(
        absl::StrCat("barrier ", Quote(barrier.key), " waits for ", now.count,
                     " arrivals, not for ", barrier.count));
    return refused;
  }
  ++now.arrived;
  const auto place = static_cast<int64_t>(now.arrived + now.count - now.complete_at);
  const StoreResult result{0, place, nullptr, now.complete_at};
  Outcome outcome = *slot == nullptr ? Replace(by, barrier.key, now, result, true)
                                     : Amend(by, *slot, now, 0, result);
  if (now.arrived < now.complete_at) outcome.waits_for = outcome.changed;
  return outcome;
}

// ---- Reads ----

Outcome Evaluator::Run(const ParkedOperation&, const StoreGet& get) {
  Outcome outcome;
  const absl::StatusOr<Slot*> slot = FindKind<Bytes>(get.key, &outcome);
  outcome.answer.error = slot.status();
  if (!slot.ok()) return outcome;
  if (*slot == nullptr) return Wait(get.key);
  outcome.answer.value = std::get<Bytes>((*slot)->entry->content);
  outcome.answer.revision = (*slot)->version.revision;
  return outcome;
}

Outcome Evaluator::Run(const ParkedOperation&, const StoreWait& wait) {
  Outcome outcome;
  for (const std::string& key : wait.keys) {
    outcome.answer.error = CheckKey(key);
    if (!outcome.answer.error.ok()) return outcome;
  }
  for (const std::string& key : wait.keys) {
    Slot* const slot = slots_.Find(key);
    if (slot == nullptr || !slot->exists()) return Wait(key);
    Depend(slot, &outcome);
  }
  return outcome;
}

Outcome Evaluator::Run(const ParkedOperation&, const StoreList& list) {
  Outcome outcome;
  uint64_t bytes = 0;
  slots_.ForEach(list.prefix, list.after, [&](Slot* slot) {
    Depend(slot, &outcome);
    if (!slot->exists()) return true;
    outcome.answer.more = bytes > kMostListed;
    if (outcome.answer.more) return false;
    bytes += slot->key.size() + 8;
    outcome.answer.keys.push_back(slot->key);
    return true;
  });
  return outcome;
}

Outcome Evaluator::Run(const ParkedOperation&, const StoreCount& count) {
  Outcome outcome;
  int64_t number = 0;
  slots_.ForEach(count.prefix, "", [&](Slot* slot) {
    Depend(slot, &outcome);
    number += slot->exists();
    return true;
  });
  outcome.answer.number = number;
  return outcome;
}

Outcome Evaluator::Run(const ParkedOperation&, const StoreQueueLength& length) {
  Outcome outcome;
  const absl::StatusOr<Slot*> slot = FindKind<StoreQueue>(length.key, &outcome);
  outcome.answer.error = slot.status();
  if (!slot.ok()) return outcome;
  outcome.answer.number = 0;
  if (*slot == nullptr) return outcome;
  outcome.answer.number =
      static_cast<int64_t>(std::get<StoreQueue>((*slot)->entry->content).elements.size());
  outcome.answer.revision = (*slot)->version.revision;
  return outcome;
}

// Watches are begun elsewhere.
Outcome Evaluator::Run(const ParkedOperation&, const StoreWatch&) { return {}; }

// ---- Texts ----

std::string Evaluator::DescribeMissing(const ParkedOperation& operation) const {
  return std::visit(
      Overloaded{
          [&](const StoreGet& get) {
            return absl::StrCat("key ", Quote(get.key), " has not been set");
          },
          [&](const StoreWait& wait) {
            constexpr size_t kMost = 8;
            std::vector<std::string> missing;
            size_t number = 0;
            for (const std::string& key : wait.keys) {
              const Slot* const slot = slots_.Find(key);
              if (slot != nullptr && slot->exists()) continue;
              if (++number <= kMost) missing.push_back(Quote(key));
            }
            return absl::StrCat(number, " of ", wait.keys.size(),
                                " keys have not been set: ", absl::StrJoin(missing, ", "),
                                number > kMost ? ", ..." : "");
          },
          [&](const StorePop& pop) {
            return absl::StrCat("queue ", Quote(pop.key), " has had no element to pop");
          },
          [&](const StoreBarrier& barrier) {
            const Slot* const slot = slots_.Find(barrier.key);
            StoreArrivals now;
            if (slot != nullptr && slot->exists()) {
              const auto* arrivals = std::get_if<StoreArrivals>(&slot->entry->content);
              if (arrivals != nullptr) now = *arrivals;
            }
            return absl::StrCat(now.arrived + now.count - now.complete_at, " of ", barrier.count,
                                " have arrived at barrier ", Quote(barrier.key));
          },
          [&](const auto&) { return std::string("the operation has not been done"); },
      },
      operation.request.what);
}

}  // namespace muster::core::store
