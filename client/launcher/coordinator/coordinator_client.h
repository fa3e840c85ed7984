#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_COORDINATOR_CLIENT_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_COORDINATOR_CLIENT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/coordinator/client_group.h"
#include "client/launcher/outcome/process_end.h"
#include "common/credentials/credential_files.h"
#include "common/rpc/rpcs.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::launcher {

// The timeout of calls that a launcher makes in the background. A coordinator that does not answer
// for so long is not reachable.
inline constexpr absl::Duration kCallTimeout = absl::Seconds(10);

// The blocking calls of launchers and the command line to the coordinator. Each call blocks until
// the answer comes or `timeout` has passed. It returns the coordinator's status, or UNAVAILABLE or
// DEADLINE_EXCEEDED if the coordinator cannot be reached. A failed call is not retried, except with
// another token if the credentials have one. Thread-safe.
class CoordinatorClient {
 public:
  // Reads the credential files. If one cannot be used, every call returns INVALID_ARGUMENT with the
  // reason. `group` may be null.
  CoordinatorClient(const std::string& address, const CredentialFiles& credentials,
                    std::shared_ptr<ClientGroup> group = nullptr);
  ~CoordinatorClient();

  // If `wait_for_connection` is true, also waits for a coordinator that is not up yet. Returns
  // NOT_FOUND if the coordinator serves another job than `job`; an empty `job` matches any. The
  // answer has the timeline only if `with_timeline` is true.
  absl::StatusOr<muster::v1::GetStatusResponse> GetStatus(absl::Duration timeout,
                                                          bool wait_for_connection = false,
                                                          const std::string& job = "",
                                                          bool with_timeline = false);

  // Returns the job's progress, and which of these processes are its members
  // (GetStatusRequest.brief). An older coordinator sends the whole status. Waits for a coordinator
  // that is not up yet.
  absl::StatusOr<muster::v1::GetStatusResponse> GetBriefStatus(
      const std::vector<std::string>& incarnations, absl::Duration timeout);

  // Returns OK if the coordinator's grpc.health.v1 service answers SERVING for the whole server.
  absl::Status CheckHealth(absl::Duration timeout);

  // Starts to connect, so that the first call is fast. Does not block.
  void Connect();

  // Reports the end of a process to the coordinator. `secret` is the process secret. Without `end`,
  // the process was never started. `given_up` says why no process will replace it; empty if one
  // may. `prints_loss` means that this launcher prints the loss to the same place as the
  // coordinator's log.
  absl::StatusOr<muster::v1::ReportExitResponse> ReportExit(
      const std::string& job, const std::string& secret, const std::optional<ProcessEnd>& end,
      const std::string& given_up, bool prints_loss, absl::Duration timeout);
  absl::Status ReportProcessState(const std::string& job, const std::string& secret, bool stopped,
                                  absl::Duration timeout);

  // The calls of an inquiry. CoordinatorService documents each one.
  absl::StatusOr<muster::v1::RequestInquiryResponse> RequestInquiry(
      const muster::v1::RequestInquiryRequest& request, absl::Duration timeout);
  absl::Status ReportInquiry(const muster::v1::ReportInquiryRequest& request,
                             absl::Duration timeout);
  // `timeout` must be longer than the request's `wait_timeout`.
  absl::StatusOr<muster::v1::GetInquiryResponse> GetInquiry(
      const muster::v1::GetInquiryRequest& request, absl::Duration timeout);

 private:
  struct Stub;
  // Sends the RPC that has this request type.
  template <typename Request>
  absl::StatusOr<ResponseOf<Request>> Call(const Request& request, absl::Duration timeout,
                                           bool wait_for_connection = false);

  std::shared_ptr<ClientGroup> group_;
  std::unique_ptr<Stub> stub_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_COORDINATOR_CLIENT_H_
