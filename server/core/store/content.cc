#include "server/core/store/content.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"
#include "common/text/utf8.h"

namespace muster::core::store {

namespace {

// The memory that an element, a result or an entry takes beside its bytes, roughly.
constexpr uint64_t kOverhead = 64;

}  // namespace

const char* KindOf(const StoreContent& content) {
  static constexpr const char* kKinds[] = {"nothing", "a value", "a queue", "a barrier"};
  return kKinds[content.index()];
}

uint64_t SizeOf(const StoreResult& result) {
  return kOverhead + (result.value == nullptr ? 0 : result.value->size());
}

uint64_t SizeOf(absl::string_view key, const StoreEntry& entry) {
  uint64_t bytes = kOverhead + 2 * key.size();
  if (const auto* value = std::get_if<Bytes>(&entry.content)) bytes += (*value)->size();
  if (const auto* queue = std::get_if<StoreQueue>(&entry.content)) {
    for (const Bytes& element : queue->elements) bytes += kOverhead + element->size();
  }
  for (const auto& [operation, result] : entry.results) bytes += SizeOf(result);
  return bytes;
}

std::string Quote(absl::string_view key) {
  constexpr size_t kMost = 128;
  const std::string text = ReplaceUnprintable(TruncateUtf8(key, kMost));
  return absl::StrCat("'", text, key.size() > kMost ? "..." : "", "'");
}

absl::StatusOr<int64_t> Add(absl::string_view key, absl::string_view text, int64_t amount) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) {
    return absl::InvalidArgumentError(absl::StrCat("the value of key ", Quote(key), " is ",
                                                   Quote(text),
                                                   ", which is no 64-bit decimal number: use set"));
  }
  int64_t sum = 0;
  if (__builtin_add_overflow(number, amount, &sum)) {
    return absl::OutOfRangeError(absl::StrCat("key ", Quote(key), " is ", number, "; adding ",
                                              amount, " does not fit into 64 bits"));
  }
  return sum;
}

void EndRounds(StoreEntry* entry) {
  for (auto& [operation, result] : entry->results) {
    if (result.complete_at == 0 || result.complete_at == StoreResult::kNever) continue;
    result.complete_at = IsComplete(entry->content, result) ? 0 : StoreResult::kNever;
  }
}

bool IsComplete(const StoreContent& content, const StoreResult& result) {
  const auto* arrivals = std::get_if<StoreArrivals>(&content);
  return result.complete_at == 0 ||
         (arrivals != nullptr && arrivals->arrived >= result.complete_at);
}

}  // namespace muster::core::store
