#ifndef MUSTER_TESTS_CLIENT_PROTOCOL_STORE_CORE_MESSAGES_H_
#define MUSTER_TESTS_CLIENT_PROTOCOL_STORE_CORE_MESSAGES_H_

#include "muster/v1/store.pb.h"
#include "server/core/api/store_messages.h"

// Converts the messages of store streams between the wire and the daemon's core, with the
// conversions of the daemon's service. A message that the service would refuse fails the test.
namespace muster {

core::StoreRequest CoreRequestOf(const v1::StoreRequest& request);
v1::StoreResponse WireResponseOf(const core::StoreResponse& response);
v1::StoreEntry WireEntryOf(const core::StoreEntry& entry);

}  // namespace muster

#endif  // MUSTER_TESTS_CLIENT_PROTOCOL_STORE_CORE_MESSAGES_H_
