#ifndef MUSTER_SERVER_SERVICE_ATTACH_STREAM_H_
#define MUSTER_SERVER_SERVICE_ATTACH_STREAM_H_

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "grpcpp/support/server_callback.h"
#include "muster/v1/coordinator.pb.h"
#include "server/service/driver.h"

namespace muster::service {

// The reactor of an Attach stream: sends what is pushed, in order, one write at a time. Holds
// itself alive until gRPC is done with it; the driver holds it longer where it has still to flush.
class AttachStream final : public grpc::ServerWriteReactor<v1::AttachResponse>, public EventStream {
 public:
  static grpc::ServerWriteReactor<v1::AttachResponse>* Start(Driver* driver,
                                                             const v1::AttachRequest& request);

  void Push(core::Time now, StreamItem item) override;
  void Flush() override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit AttachStream(Driver* driver);

  // The next item, if it may be sent now; sets busy_.
  std::optional<std::pair<core::Time, StreamItem>> Next();
  void Send(core::Time now, const core::Event& event);
  void Send(core::Time now, const absl::Status& end);

  Driver* const driver_;
  const core::WaiterId id_;
  std::shared_ptr<AttachStream> self_;
  v1::AttachResponse writing_;  // belongs to gRPC while busy_

  std::mutex mutex_;  // guards the two below
  std::deque<std::pair<core::Time, StreamItem>> queue_;
  bool busy_ = false;  // a write is under way, or the stream has been finished
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_ATTACH_STREAM_H_
