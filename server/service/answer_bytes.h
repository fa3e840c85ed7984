#ifndef MUSTER_SERVER_SERVICE_ANSWER_BYTES_H_
#define MUSTER_SERVER_SERVICE_ANSWER_BYTES_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/types.h"
#include "server/service/pieces.h"

namespace muster::service {

// Makes one answer as gRPC sends it: what `shared` makes, followed by `own`. Answers with the same
// slot refer to the same memory, for which `shared` is called once (or, when the first are made at
// the same time, a few times); null: for this answer alone. Pieces are not copied.
//
// RESOURCE_EXHAUSTED if it is more than one message can carry; `out` is then as it was.
absl::Status MakeAnswer(core::EncodingSlot* slot, absl::FunctionRef<Pieces()> shared,
                        const std::string& own, grpc::ByteBuffer* out);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_ANSWER_BYTES_H_
