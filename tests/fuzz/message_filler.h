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

// What the coordinator has told its members: requests that repeat it get further than noise does.
struct Knowledge {
  std::vector<v1::SessionId> sessions;
  std::vector<v1::EpochId> epochs;
  std::vector<uint64_t> tokens;
  std::vector<v1::JoinResponse> places;
};

// Sets some of a request's fields, by its descriptor: mostly to values that a member might send,
// sometimes to what no member would. New fields of the protocol are filled without a change here.
void Fill(ByteSource* bytes, const Knowledge& known, google::protobuf::Message* message);

// Changes one field somewhere in the request.
void Mutate(ByteSource* bytes, const Knowledge& known, google::protobuf::Message* message);

// Makes one of the request's texts long, and unfit for people.
void Lengthen(ByteSource* bytes, const Knowledge& known, google::protobuf::Message* message);

// A request as somebody may have put it on the wire: the one that `write` makes, that with a field
// or a byte changed, or noise. False if it cannot be parsed there.
bool Compose(ByteSource* bytes, const Knowledge& known, absl::FunctionRef<void()> write,
             google::protobuf::Message* request);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MESSAGE_FILLER_H_
