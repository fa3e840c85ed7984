#ifndef MUSTER_CLIENT_SRC_PROTOCOL_STORE_MESSAGES_STORE_CALLS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_STORE_MESSAGES_STORE_CALLS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/v1/store.pb.h"

// Facts about the operations of the job's store.
namespace muster::internal {

// The id of an operation or a watch. Its caller gives ids in ascending order, from 1, and never
// reuses one.
using StoreCallId = uint64_t;

// Returns whether the operation may change an entry. A client does not give such an operation up
// before the daemon has answered it (K16).
bool MayChange(const v1::StoreOperation& operation);

// Returns the key or prefix of the operation, and of StoreWait the first key.
const std::string& KeyOf(const v1::StoreOperation& operation);

// Returns the value or element that the operation carries; null if it carries none.
const std::string* ValueOf(const v1::StoreOperation& operation);

// Returns the key for messages: printable, in quotes, and cut if it is long.
std::string QuoteKey(absl::string_view key);

// Returns the program's call, for messages: "Store::Get('weights/0')". Shortens long keys.
std::string DescribeStoreCall(const v1::StoreOperation& operation);

// Returns the error of an answer, or OK.
absl::Status AnswerStatus(const v1::StoreAnswer& answer);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_STORE_MESSAGES_STORE_CALLS_H_
