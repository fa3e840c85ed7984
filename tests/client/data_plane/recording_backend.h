#ifndef MUSTER_TESTS_CLIENT_DATA_PLANE_RECORDING_BACKEND_H_
#define MUSTER_TESTS_CLIENT_DATA_PLANE_RECORDING_BACKEND_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/src/data_plane/backend.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/util/fakes/fake_job.h"

namespace muster::testing {

// The record of a RecordingBackend, by which a test sees and steers it after Communicator owns it.
struct Record {
  std::atomic<int> calls{0};
  absl::Duration timeout;       // of the last call
  absl::Status result;          // of the next call
  absl::Status aborted;         // OK until the backend is aborted
  std::function<void()> body;   // runs in each call
  std::vector<void*> followed;  // followed streams
};

class RecordingBackend final : public internal::Backend {
 public:
  explicit RecordingBackend(Record* record) : record_(record) {}
  absl::Status AllReduce(const void*, void*, size_t, DataType, ReduceOp,
                         const CallOptions& options) override {
    return Note(options);
  }
  absl::Status Broadcast(void*, size_t, DataType, int, const CallOptions& options) override {
    return Note(options);
  }
  absl::Status Reduce(const void*, void*, size_t, DataType, ReduceOp, int,
                      const CallOptions& options) override {
    return Note(options);
  }
  absl::Status AllGather(const void*, void*, size_t, DataType,
                         const CallOptions& options) override {
    return Note(options);
  }
  absl::Status ReduceScatter(const void*, void*, size_t, DataType, ReduceOp,
                             const CallOptions& options) override {
    return Note(options);
  }
  absl::Status Exchange(absl::Span<const internal::Message>, absl::Span<const internal::Message>,
                        const CallOptions& options) override {
    return Note(options);
  }
  absl::Status AllToAll(const void*, void*, size_t, DataType, const CallOptions& options) override {
    return Note(options);
  }
  absl::Status AllGatherUneven(const void*, absl::Span<const size_t>, void*, DataType,
                               const CallOptions& options) override {
    return Note(options);
  }
  absl::Status Barrier(const CallOptions& options) override { return Note(options); }
  absl::Status Follow(void* stream) override {
    record_->followed.push_back(stream);
    return absl::OkStatus();
  }
  absl::Status CheckSupport(DataType type, std::optional<ReduceOp> op) const override {
    return type == DataType::kUint64 ? absl::UnimplementedError("no uint64") : absl::OkStatus();
  }
  std::string device() const override { return "GPU 5"; }
  void Abort(const absl::Status& why) override { record_->aborted = why; }

 private:
  absl::Status Note(const CallOptions& options) {
    ++record_->calls;
    record_->timeout = *options.timeout;
    if (record_->body) record_->body();
    return record_->result;
  }

  Record* const record_;
};

// A communicator of four ranks over a RecordingBackend.
class CommunicatorTest : public ::testing::Test {
 protected:
  CommunicatorTest() : comm_(job_.world(1), Options(), "recording", MakeBackend()) {}

  static CommunicatorOptions Options() {
    CommunicatorOptions options;
    options.timeout = absl::Seconds(7);
    return options;
  }
  std::unique_ptr<internal::Backend> MakeBackend() {
    return std::make_unique<RecordingBackend>(&record_);
  }

  // Expects that the call was rejected with this text, and that it did not reach the backend.
  void ExpectRefused(const absl::Status& status, const std::string& text) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), text);
    EXPECT_EQ(record_.calls, 0);
  }

  Record record_;
  FakeJob job_{4};
  Communicator comm_;  // of rank 1
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_DATA_PLANE_RECORDING_BACKEND_H_
