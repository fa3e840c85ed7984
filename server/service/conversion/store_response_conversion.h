#ifndef MUSTER_SERVER_SERVICE_CONVERSION_STORE_RESPONSE_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_CONVERSION_STORE_RESPONSE_CONVERSION_H_

#include <cstdint>
#include <optional>

#include "muster/v1/store.pb.h"
#include "server/core/api/options.h"
#include "server/core/api/store_messages.h"
#include "server/service/conversion/message_chunks.h"

// Converts the core's messages of a store stream to those of the wire. As with the answers of
// calls, a message has two parts: the values and elements, which refer to the core's memory, and
// all else. Protobuf reads the concatenation of their encodings as one message.
namespace muster::service {

// Returns the message without values and elements. The client is told some of the options.
v1::StoreResponse ToProto(const core::StoreResponse& message, const core::StoreOptions& options);
// Returns the encoding of the message's values and elements. Empty if there are none.
MessageChunks ValuesOf(const core::StoreResponse& message);

// Returns the whole message as the client reads it, or nullopt if it cannot be parsed. For tests.
std::optional<v1::StoreResponse> WholeResponse(const core::StoreResponse& message,
                                               const core::StoreOptions& options);

// Returns about how many bytes of memory the message refers to.
uint64_t SizeOf(const core::StoreResponse& message);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CONVERSION_STORE_RESPONSE_CONVERSION_H_
