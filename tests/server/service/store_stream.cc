#include "tests/server/service/store_stream.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/credentials/process_secret.h"
#include "tests/server/service/test_member.h"

namespace muster::testing {
namespace {

constexpr uint32_t kProtocolVersion = 1;
// A broken daemon fails a test instead of blocking it.
constexpr absl::Duration kPatience = absl::Seconds(60);

}  // namespace

TestStoreClient::TestStoreClient(const std::string& address)
    : secret_(NewProcessSecret()),
      channel_(Connect(address)),
      stub_(v1::StoreService::NewStub(channel_)) {}

TestStoreClient::~TestStoreClient() { Disconnect(); }

v1::StoreOpen TestStoreClient::OpenMessage() {
  v1::StoreOpen open;
  open.set_job_id("default");
  open.set_incarnation(IncarnationOf(secret_));
  open.set_secret(secret_);
  open.set_protocol_version(kProtocolVersion);
  open.set_node("node-a");
  open.set_attempt(++attempts_);
  open.set_was_served(was_served_);
  open.set_next_operation(next_operation_);
  return open;
}

void TestStoreClient::Begin() {
  context_ = std::make_unique<grpc::ClientContext>();
  context_->set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  stream_ = stub_->Store(context_.get());
  read_ = 0;
}

absl::Status TestStoreClient::Open() { return Open(OpenMessage()); }

absl::Status TestStoreClient::Open(const v1::StoreOpen& open) {
  Begin();
  v1::StoreRequest request;
  *request.mutable_open() = open;
  Send(request);
  request.mutable_claim()->add_joined(open.incarnation());
  request.mutable_claim()->set_last(true);
  Send(request);
  return Read().status();
}

bool TestStoreClient::Send(const v1::StoreRequest& request) { return stream_->Write(request); }

uint64_t TestStoreClient::Send(const std::function<void(v1::StoreOperation*)>& fill) {
  v1::StoreRequest request;
  request.mutable_operation()->set_id(next_operation_);
  fill(request.mutable_operation());
  Send(request);
  return next_operation_++;
}

void TestStoreClient::Confirm() {
  v1::StoreRequest request;
  request.mutable_confirm()->set_processed(read_);
  Send(request);
}

absl::StatusOr<v1::StoreResponse> TestStoreClient::Read() {
  v1::StoreResponse response;
  if (!stream_->Read(&response)) return Finish();
  ++read_;
  return response;
}

absl::StatusOr<v1::StoreAnswer> TestStoreClient::Answer(uint64_t operation) {
  while (true) {
    const absl::StatusOr<v1::StoreResponse> response = Read();
    if (!response.ok()) return response.status();
    Confirm();
    if (response->has_answer() && response->answer().operation() == operation) {
      return response->answer();
    }
  }
}

absl::Status TestStoreClient::Leave() {
  stream_->WritesDone();
  v1::StoreResponse response;
  while (stream_->Read(&response)) {
  }
  return Finish();
}

// A stream that has ended well is an error for callers that expect a message.
absl::Status TestStoreClient::Finish() {
  const absl::Status status = FromGrpc(stream_->Finish());
  stream_.reset();
  return status.ok() ? absl::OutOfRangeError("the stream has ended with OK") : status;
}

void TestStoreClient::Disconnect() {
  if (stream_ == nullptr) return;
  context_->TryCancel();
  stream_->Finish().ok();
  stream_.reset();
}

}  // namespace muster::testing
