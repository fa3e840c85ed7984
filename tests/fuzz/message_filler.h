#ifndef MUSTER_TESTS_FUZZ_MESSAGE_FILLER_H_
#define MUSTER_TESTS_FUZZ_MESSAGE_FILLER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "google/protobuf/message.h"
#include "muster/v1/coordinator.pb.h"
#include "tests/fuzz/byte_source.h"

namespace muster::fuzz {

// The values that the coordinator has told its members. Requests that repeat them get further than
// noise.
struct Knowledge {
  std::vector<v1::SessionId> sessions;
  std::vector<v1::EpochId> epochs;
  std::vector<uint64_t> tokens;
  std::vector<v1::JoinResponse> places;
};

// Sets some fields of a request, by its descriptor: mostly to values that a member might send,
// sometimes to values that no member sends. New fields of the protocol need no change here.
void Fill(ByteSource* bytes, const Knowledge& known, google::protobuf::Message* message);

// Changes one field somewhere in the request.
void Mutate(ByteSource* bytes, const Knowledge& known, google::protobuf::Message* message);

// Makes one text of the request long and full of control characters.
void Lengthen(ByteSource* bytes, const Knowledge& known, google::protobuf::Message* message);

// Composes a request as it may arrive on the wire: the request that `write` makes, the same with a
// field or a byte changed, or noise. Returns false if it cannot be parsed.
bool Compose(ByteSource* bytes, const Knowledge& known, absl::FunctionRef<void()> write,
             google::protobuf::Message* request);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MESSAGE_FILLER_H_
