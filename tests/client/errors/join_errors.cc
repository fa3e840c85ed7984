#include "tests/client/errors/join_errors.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/credentials/token.h"
#include "muster/job.h"
#include "server/service/server.h"
#include "tests/server/core/harness.h"
#include "tests/util/network/certificates.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

using core::Harness;

std::string TextOf(const absl::Status& status) {
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}
std::string AnswerTo(core::WaiterId call, const Harness& harness) {
  return TextOf(harness.StatusOf(call));
}

core::JoinRequest RequestOf(const Wish& wish) {
  core::JoinRequest request;
  request.world_size = wish.world_size;
  request.rank = wish.rank;
  return request;
}

std::string Write(const std::string& content) {
  const std::string path = absl::StrCat(MakeTempDir(), "/file");
  ReplaceFile(path, content);
  return path;
}

// A coordinator in this process.
class Served {
 public:
  explicit Served(service::ServerOptions options = {}) {
    options.listen_address = "127.0.0.1:0";
    absl::StatusOr<std::unique_ptr<service::Server>> server =
        service::Server::Start(std::move(options));
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  JobOptions options() const {
    JobOptions options;
    options.coordinator = server_->address();
    options.world_size = 1;
    options.timeout = absl::Seconds(3);
    return options;
  }

 private:
  std::unique_ptr<service::Server> server_;
};

// A coordinator with a certificate of `authority`.
service::ServerOptions WithTls(const CertificateAuthority& authority) {
  const Certificate certificate = authority.Issue();
  service::ServerOptions options;
  options.credentials.tls_cert = Write(certificate.pem);
  options.credentials.tls_key = Write(certificate.key);
  return options;
}

std::string JoinSays(const JobOptions& options) { return TextOf(Job::Join(options).status()); }

}  // namespace

// ---- From a coordinator without gRPC ----

std::string JoiningSays(uint32_t size, const std::optional<Wish>& earlier, const Wish& wish) {
  Harness h(size);
  core::Process first = h.Attached(), second = h.Attached("n1");
  if (earlier) h.Join(first, RequestOf(*earlier));
  const core::WaiterId join = h.Join(second, RequestOf(wish));
  h.Advance(absl::Seconds(2));  // a newer process may still take the place of the older one
  return AnswerTo(join, h);
}

std::string AttachingWithANewerProtocolSays() {
  Harness h(1);
  core::AttachRequest request = h.AttachOf(h.New());
  request.sdk_version = "9.0.0";
  request.protocol_version = 9;
  return TextOf(*h.EndOf(h.Attach(request)));
}

std::string MissingRanksSay() {
  Harness h(3);
  core::Process process = h.Attached("n1");
  const core::WaiterId join = h.Join(process, RequestOf({3, 1}));
  h.Advance(absl::Minutes(1));
  return AnswerTo(join, h);
}

std::string MissingWorldSizeSays() {
  Harness h(0u);
  core::Process process = h.Attached("n1");
  const core::WaiterId join = h.Join(process);
  h.Advance(absl::Minutes(1));
  return AnswerTo(join, h);
}

std::string JoiningAFullJobSays() {
  Harness h(2);
  h.Formed(2);
  core::Process late = h.Attached();
  return AnswerTo(h.Join(late), h);
}

std::string JoiningAFinishedJobSays() {
  Harness h(1);
  std::vector<core::Process> p = h.Formed(1);
  h.Leave(p[0]);
  core::Process late = h.Attached();
  return AnswerTo(h.Join(late), h);
}

std::string JoiningAFailedJobSays() {
  Harness h(2);
  const std::vector<core::Process> p = h.Formed(2);
  h.ReportExit(p[1], /*signaled=*/true, 9);
  core::Process late = h.Attached();
  return AnswerTo(h.Join(late), h);
}

std::string AnOldSessionSays() {
  Harness h(2);
  std::vector<core::Process> p = h.Formed(2);
  core::Process old = p[0];
  h.Attach(p[0]);
  return AnswerTo(h.Barrier(old), h);
}

std::string ALostProcessSays() {
  Harness h(2);
  std::vector<core::Process> p = h.Formed(2);
  h.CloseStream(p[1]);
  h.Advance(absl::Seconds(2));
  return TextOf(*h.EndOf(h.Attach(p[1])));
}

std::string AnOldTokenSays() {
  Harness h(core::Harness::ElasticOptions(1, 2));
  std::vector<core::Process> p = h.Formed(2);
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "unpack", 1));
  h.Abandon(p[0], "unpack", 1);
  h.Acquire(p[1], "unpack", 1);
  return AnswerTo(h.Complete(p[0], "unpack", token, "done"), h);
}

// ---- From a real coordinator ----

std::string JoiningNobodySays() {
  const JobOptions options = Served().options();  // the coordinator is gone by now
  return JoinSays(options);
}

std::string JoiningAnotherJobSays() {
  service::ServerOptions server;
  server.core.job_id = "training";
  const Served served(server);
  JobOptions options = served.options();
  options.job = "evaluation";
  return JoinSays(options);
}

std::string JoiningWithTokenSays(const std::optional<std::string>& token) {
  service::ServerOptions server;
  server.credentials.token_file = Write(NewToken());
  const Served served(server);
  JobOptions options = served.options();
  if (token) options.token_file = Write(*token);
  return JoinSays(options);
}

std::string JoiningWithTlsSays(bool coordinator_has_tls) {
  const CertificateAuthority authority, other;
  const Served served(coordinator_has_tls ? WithTls(authority) : service::ServerOptions());
  JobOptions options = served.options();
  options.tls_ca = Write(other.pem());
  return JoinSays(options);
}

std::string JoiningWithoutTlsSays() {
  const CertificateAuthority authority;
  const Served served(WithTls(authority));
  return JoinSays(served.options());
}

std::string JoiningTwiceSays() {
  const Served served;
  const absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(served.options());
  EXPECT_TRUE(job.ok()) << job.status();
  return JoinSays(served.options());
}

}  // namespace muster::testing
