#ifndef MUSTER_SERVER_SERVICE_ANSWERS_ANSWER_BYTES_H_
#define MUSTER_SERVER_SERVICE_ANSWERS_ANSWER_BYTES_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/api/types.h"
#include "server/service/conversion/message_chunks.h"

namespace muster::service {

// Encodes one answer for gRPC: the part that `shared` makes, followed by `own`. Answers with the
// same slot refer to the same memory, and `shared` is called once for all of them. If several
// threads make the first answers at the same time, each of them may call it. A null slot means that
// no other answer has this part. MessageChunks are not copied.
//
// Returns RESOURCE_EXHAUSTED if the answer does not fit into one message; `out` is then unchanged.
absl::Status MakeAnswer(core::EncodingSlot* slot, absl::FunctionRef<MessageChunks()> shared,
                        const std::string& own, grpc::ByteBuffer* out);

// Same, as the field `response` of a v1::CallResponse.
absl::Status MakeCallResponse(int response, core::EncodingSlot* slot,
                              absl::FunctionRef<MessageChunks()> shared, const std::string& own,
                              grpc::ByteBuffer* out);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_ANSWERS_ANSWER_BYTES_H_
