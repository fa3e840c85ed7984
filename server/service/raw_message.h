#ifndef MUSTER_SERVER_SERVICE_RAW_MESSAGE_H_
#define MUSTER_SERVER_SERVICE_RAW_MESSAGE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/journal/records/kept_request.h"
#include "server/service/conversion/request_conversion.h"
#include "server/service/conversion/store_request_conversion.h"

// Messages as bytes: the form in which the service's methods take requests and return answers. gRPC
// would keep a parsed request as long as its call. A call may be parked for hours, and an Attach
// lasts as long as its member.
namespace muster::service {

// The most bytes of a request that are kept for the journal as they are. A larger request may have
// a payload, which the journal leaves out.
inline constexpr size_t kMaxRawBytes = 4096;

// Parses `bytes`, in place if they are one slice, as nearly all requests are. gRPC limits requests
// to INT_MAX bytes. If `raw` is not null and the slice is small, copies the slice there.
template <typename Request>
bool Parse(grpc::ByteBuffer* bytes, Request* request, std::string* raw) {
  grpc::Slice whole;
  if (bytes->TrySingleSlice(&whole).ok()) {
    if (raw != nullptr && whole.size() <= kMaxRawBytes) {
      raw->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
    }
    return request->ParseFromArray(whole.begin(), static_cast<int>(whole.size()));
  }
  return grpc::SerializationTraits<Request>::Deserialize(bytes, request).ok();
}

// Parses a request, and frees gRPC's copy of its bytes.
template <typename Request>
absl::Status ParseInto(const grpc::ByteBuffer& bytes, Request* request,
                       std::string* raw = nullptr) {
  // The buffer belongs to gRPC, and is const only in the signature of the methods. The buffer lives
  // as long as the call, but its content need not.
  auto& request_bytes = const_cast<grpc::ByteBuffer&>(bytes);
  const bool parsed = Parse(&request_bytes, request, raw);
  request_bytes.Clear();
  if (parsed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the request's bytes are not a valid ", Request::descriptor()->full_name()));
}

// Returns use(request), or why the bytes are not a request. The message lives on an arena whose
// first block is on the stack: it consists of many small objects, and allocating them would cost
// more than parsing them.
template <typename Request, typename Use>
auto WithRequest(const grpc::ByteBuffer& bytes, std::string* raw, Use use)
    -> decltype(use(std::declval<Request*>())) {
  char block[4096];
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = sizeof(block);
  google::protobuf::Arena arena(options);
  auto* const request = google::protobuf::Arena::CreateMessage<Request>(&arena);
  if (absl::Status s = ParseInto(bytes, request, raw); !s.ok()) return s;
  return use(request);
}

// Reads a request into the core's type. `inspect` is called with the parsed message before it is
// converted.
template <typename Request, typename Inspect>
auto ReadRequest(const grpc::ByteBuffer& bytes, std::string* raw, Inspect inspect)
    -> decltype(FromProto(std::declval<Request>())) {
  return WithRequest<Request>(bytes, raw, [&](Request* request) {
    inspect(request);
    return FromProto(std::move(*request));
  });
}

template <typename Request>
auto ReadRequest(const grpc::ByteBuffer& bytes) -> decltype(FromProto(std::declval<Request>())) {
  return ReadRequest<Request>(bytes, nullptr, [](Request*) {});
}

// Same, and sets `kept` to what the journal records of the request. If `hasher` is null, there is
// no journal, and `kept` stays as it is.
template <typename Request>
auto ReadRequest(const grpc::ByteBuffer& bytes, const journal::PayloadHasher* hasher,
                 journal::KeptRequest* kept) -> decltype(FromProto(std::declval<Request>())) {
  if (hasher == nullptr) return ReadRequest<Request>(bytes);
  std::string raw;
  return ReadRequest<Request>(bytes, &raw, [&](Request* request) {
    *kept = journal::Keep(request, std::move(raw), *hasher);
  });
}

template <typename Message>
grpc::ByteBuffer ToBytes(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  return bytes;
}

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_RAW_MESSAGE_H_
