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
#include "server/journal/kept_request.h"
#include "server/service/request_conversion.h"

// The service's methods take and give messages as bytes. gRPC would keep a parsed request for as
// long as its call, which may be parked for hours and which for Attach is the life of the member.
namespace muster::service {

// What is larger may be so by its payload: a journal would not take it as it is.
inline constexpr size_t kMostRawBytes = 4096;

// Nearly all requests come in one piece, and are parsed where that is. gRPC takes none of more
// bytes than an int can count. `raw`, where it is not null, gets the bytes of such a one that is
// small.
template <typename Request>
bool Parse(grpc::ByteBuffer* bytes, Request* request, std::string* raw) {
  grpc::Slice whole;
  if (bytes->TrySingleSlice(&whole).ok()) {
    if (raw != nullptr && whole.size() <= kMostRawBytes) {
      raw->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
    }
    return request->ParseFromArray(whole.begin(), static_cast<int>(whole.size()));
  }
  return grpc::SerializationTraits<Request>::Deserialize(bytes, request).ok();
}

// Parses a request, and lets go of gRPC's copy of it.
template <typename Request>
absl::Status ParseInto(const grpc::ByteBuffer& bytes, Request* request,
                       std::string* raw = nullptr) {
  // gRPC's own buffer, which is const only by the signature of the methods. It lives as long as the
  // call; its contents need not.
  auto& request_bytes = const_cast<grpc::ByteBuffer&>(bytes);
  const bool parsed = Parse(&request_bytes, request, raw);
  request_bytes.Clear();
  if (parsed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the request's bytes are not a valid ", Request::descriptor()->full_name()));
}

// A request in the core's terms; the message is gone at return. It is made of many small ones, most
// of which have room in one block: taking them from the heap would cost more than parsing them.
// `look` sees the message, and its bytes if they are few, before that.
template <typename Request, typename Look>
auto ReadRequest(const grpc::ByteBuffer& bytes, std::string* raw, Look look)
    -> decltype(FromProto(std::declval<Request>())) {
  char block[4096];
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = sizeof(block);
  google::protobuf::Arena arena(options);
  auto* const request = google::protobuf::Arena::CreateMessage<Request>(&arena);
  if (absl::Status s = ParseInto(bytes, request, raw); !s.ok()) return s;
  look(request);
  return FromProto(std::move(*request));
}

template <typename Request>
auto ReadRequest(const grpc::ByteBuffer& bytes) -> decltype(FromProto(std::declval<Request>())) {
  return ReadRequest<Request>(bytes, nullptr, [](Request*) {});
}

// `kept` gets what a journal may keep of it, where there is one, whose `keeps` are.
template <typename Request>
auto ReadRequest(const grpc::ByteBuffer& bytes, const journal::Fingerprints* keeps,
                 journal::KeptRequest* kept) -> decltype(FromProto(std::declval<Request>())) {
  if (keeps == nullptr) return ReadRequest<Request>(bytes);
  std::string raw;
  return ReadRequest<Request>(bytes, &raw, [&](Request* request) {
    *kept = journal::Keep(request, std::move(raw), *keeps);
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
