#include "client/src/protocol/store/held_entries.h"

#include <algorithm>
#include <set>
#include <utility>

namespace muster::internal {
namespace {

constexpr size_t kClaimBytes = 256 << 10;
constexpr size_t kEntriesBytes = 1 << 20;

// Applies a change to the value, queue or barrier. Returns false if the entry is of another kind.
bool ChangeContent(v1::StoreChange* change, v1::StoreEntry* entry) {
  switch (change->change_case()) {
    case v1::StoreChange::kAppended:
      if (!entry->has_value()) return false;
      entry->mutable_value()->append(change->appended());
      return true;
    case v1::StoreChange::kPushed:
      if (!entry->has_queue()) return false;
      entry->mutable_queue()->add_elements(std::move(*change->mutable_pushed()));
      return true;
    case v1::StoreChange::kPopped:
      if (entry->queue().elements().empty()) return false;
      entry->mutable_queue()->mutable_elements()->DeleteSubrange(0, 1);
      return true;
    case v1::StoreChange::kArrivals:
      if (!entry->has_arrivals()) return false;
      *entry->mutable_arrivals() = change->arrivals();
      return true;
    case v1::StoreChange::CHANGE_NOT_SET:
      break;
  }
  return false;
}

void ChangeResults(v1::StoreChange* change, v1::StoreEntry* entry) {
  std::set<std::pair<std::string, uint64_t>> acknowledged;
  for (const v1::StoreResult& result : change->acknowledged()) {
    acknowledged.emplace(result.client(), result.operation());
  }
  auto& results = *entry->mutable_results();
  const auto kept = std::remove_if(results.begin(), results.end(), [&](const auto& result) {
    return acknowledged.count({result.client(), result.operation()}) > 0;
  });
  results.erase(kept, results.end());
  if (change->has_result()) *results.Add() = std::move(*change->mutable_result());
}

}  // namespace

bool HeldEntries::Take(v1::StoreHold hold) {
  NoteRevision(hold.revision());
  const auto held = entries_.find(hold.key());
  const uint64_t revision = held == entries_.end() ? 0 : held->second.revision;
  if (revision >= hold.revision()) return true;
  if (hold.has_change()) {
    v1::StoreChange& change = *hold.mutable_change();
    if (revision == 0 || revision != change.base_revision()) return false;
    if (!ChangeContent(&change, &held->second.entry)) return false;
    ChangeResults(&change, &held->second.entry);
  } else {
    entries_[hold.key()].entry = std::move(*hold.mutable_entry());
  }
  HeldEntry& entry = entries_[hold.key()];
  entry.revision = hold.revision();
  entry.daemon_instance = hold.daemon_instance();
  return true;
}

void HeldEntries::Take(const v1::StoreDrop& drop) {
  NoteRevision(drop.revision());
  const auto held = entries_.find(drop.key());
  if (held != entries_.end() && held->second.revision <= drop.revision()) entries_.erase(held);
}

void HeldEntries::NoteRevision(uint64_t revision) {
  highest_revision_ = std::max(highest_revision_, revision);
}

std::vector<v1::StoreClaim> HeldEntries::Claim() const {
  constexpr size_t kFields = 32;
  std::vector<v1::StoreClaim> parts(1);
  size_t size = 0;
  for (const auto& [key, held] : entries_) {
    if (size >= kClaimBytes) {
      parts.emplace_back();
      size = 0;
    }
    v1::ClaimedStoreEntry& claimed = *parts.back().add_entries();
    claimed.set_key(key);
    claimed.set_revision(held.revision);
    claimed.set_daemon_instance(held.daemon_instance);
    size += key.size() + kFields;
  }
  parts.back().set_last(true);
  return parts;
}

std::vector<v1::StoreEntries> HeldEntries::Fetch(const v1::StoreFetch& fetch) const {
  std::vector<v1::StoreEntries> messages(1);
  size_t size = 0;
  for (const std::string& key : fetch.keys()) {
    v1::FetchedStoreEntry fetched;
    fetched.set_key(key);
    const auto held = entries_.find(key);
    if (held != entries_.end()) {
      fetched.set_revision(held->second.revision);
      fetched.set_daemon_instance(held->second.daemon_instance);
      *fetched.mutable_entry() = held->second.entry;
    }
    const size_t next = fetched.ByteSizeLong();
    if (size > 0 && size + next > kEntriesBytes) {
      messages.emplace_back();
      size = 0;
    }
    *messages.back().add_entries() = std::move(fetched);
    size += next;
  }
  return messages;
}

}  // namespace muster::internal
