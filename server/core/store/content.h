#ifndef MUSTER_SERVER_CORE_STORE_CONTENT_H_
#define MUSTER_SERVER_CORE_STORE_CONTENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/core/api/store_messages.h"

// Pure functions on what a key has.
namespace muster::core::store {

inline bool IsTombstone(const StoreContent& content) {
  return std::holds_alternative<StoreTombstone>(content);
}

// Returns "a value", "a queue", "a barrier", or "nothing" for a tombstone.
const char* KindOf(const StoreContent& content);

// Returns the bytes that count against --max-held-bytes, with an allowance for the structures.
uint64_t SizeOf(absl::string_view key, const StoreEntry& entry);
uint64_t SizeOf(const StoreResult& result);

// Returns the key for messages: printable, in quotes, and cut if it is long.
std::string Quote(absl::string_view key);

// Returns the sum of a decimal number and an amount. INVALID_ARGUMENT: the text is no number.
// OUT_OF_RANGE: the sum does not fit.
absl::StatusOr<int64_t> Add(absl::string_view key, absl::string_view text, int64_t amount);

// Marks the results of a barrier that is deleted as complete, or as never complete.
void EndRounds(StoreEntry* entry);

// Returns whether the arrivals that the result waits for have come.
bool IsComplete(const StoreContent& content, const StoreResult& result);

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_CONTENT_H_
