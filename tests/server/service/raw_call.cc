#include "tests/server/service/raw_call.h"

#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "tests/server/service/test_member.h"

namespace muster::testing {
namespace {

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

// Waits for the only pending operation.
bool Next(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok;
}

}  // namespace

absl::StatusOr<std::string> RawCall(const std::string& address, const std::string& method,
                                    const std::string& message) {
  return RawCall(Connect(address), method, message, {});
}

absl::StatusOr<std::string> RawCall(const std::shared_ptr<grpc::Channel>& channel,
                                    const std::string& method, const std::string& message,
                                    const std::vector<Header>& headers) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  for (const Header& header : headers) context.AddMetadata(header.name, header.value);
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  Next(queue);
  const grpc::Slice slice(message);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  Next(queue);
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  const bool answered = Next(queue);
  grpc::Status status;
  call->Finish(&status, nullptr);
  Next(queue);
  if (!answered) return FromGrpc(status);
  return ToString(response);
}

}  // namespace muster::testing
