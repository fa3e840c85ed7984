#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_CLIENT_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_CLIENT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/client_group.h"
#include "client/launcher/process_end.h"
#include "common/credential_files.h"
#include "common/rpcs.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::launcher {

// The calls that the command line makes. Each blocks until it is answered or `timeout` has
// passed, is not repeated (but with another token, where there is one), and ends with the
// coordinator's status, or UNAVAILABLE or DEADLINE_EXCEEDED where it cannot be reached.
// Thread-safe.
class CoordinatorClient {
 public:
  // Reads the files; where one cannot be used every call ends with INVALID_ARGUMENT, which says so.
  // `group` may be null.
  CoordinatorClient(const std::string& address, const CredentialFiles& credentials,
                    std::shared_ptr<ClientGroup> group = nullptr);
  ~CoordinatorClient();

  // With `wait_for_connection`, a coordinator that is not there yet is waited for too. NOT_FOUND:
  // it serves another job than `job`, which may be empty. The timeline is there where it is asked
  // for.
  absl::StatusOr<muster::v1::GetStatusResponse> GetStatus(absl::Duration timeout,
                                                          bool wait_for_connection = false,
                                                          const std::string& job = "",
                                                          bool with_timeline = false);

  // How far the job is, and which of these processes are members of it (GetStatusRequest.brief);
  // all of the status where the coordinator is an older one. A coordinator that is not there yet is
  // waited for.
  absl::StatusOr<muster::v1::GetStatusResponse> GetBriefStatus(
      const std::vector<std::string>& incarnations, absl::Duration timeout);

  // OK if grpc.health.v1 says SERVING of all that is served there.
  absl::Status CheckHealth(absl::Duration timeout);

  // Begins to connect, so that the first call need not wait for that. Does not block.
  void Connect();

  // `secret` is that of the process. Without an `end` it was never started. `given_up`: why nobody
  // is started in its place; empty: somebody may be. `told`: this launcher tells of it where the
  // coordinator's log goes.
  absl::StatusOr<muster::v1::ReportExitResponse> ReportExit(const std::string& job,
                                                            const std::string& secret,
                                                            const std::optional<ProcessEnd>& end,
                                                            const std::string& given_up, bool told,
                                                            absl::Duration timeout);
  absl::Status ReportProcessState(const std::string& job, const std::string& secret, bool stopped,
                                  absl::Duration timeout);

  // One look of all launchers at their ranks: CoordinatorService says what each call does.
  absl::StatusOr<muster::v1::RequestInquiryResponse> RequestInquiry(
      const muster::v1::RequestInquiryRequest& request, absl::Duration timeout);
  absl::Status ReportInquiry(const muster::v1::ReportInquiryRequest& request,
                             absl::Duration timeout);
  // `timeout` must leave time for the request's `wait_timeout`.
  absl::StatusOr<muster::v1::GetInquiryResponse> GetInquiry(
      const muster::v1::GetInquiryRequest& request, absl::Duration timeout);

 private:
  struct Stub;
  // Makes the call of this request.
  template <typename Request>
  absl::StatusOr<ResponseOf<Request>> Call(const Request& request, absl::Duration timeout,
                                           bool wait_for_connection = false);

  std::shared_ptr<ClientGroup> group_;
  std::unique_ptr<Stub> stub_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_CLIENT_H_
