// Peers without credentials. They must not take more memory of a musterd that requires a token than
// one large message of a member does.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/credentials/token.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "tests/server/service/raw_call.h"
#include "tests/server/service/test_job.h"
#include "tests/util/job/daemon.h"
#include "tests/util/network/certificates.h"
#include "tests/util/process/process_usage.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Lt;

constexpr char kToken[] = "the-token-of-this-job-4711";
constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
constexpr char kGetStatus[] = "/muster.v1.CoordinatorService/GetStatus";
constexpr char kCutOff[] = "without credentials, and the memory";

constexpr size_t kLargest = 8 << 20;  // with --max-payload-bytes=4MiB
constexpr int kMany = 40;
constexpr int64_t kMuch = 150 << 20;  // kMany of kLargest are 320 MiB

// Returns a health check with a field that no version of the service has.
std::string LargeMessage() {
  std::string message("\x12\xff\xff\xff\x03", 5);
  return message + std::string((8 << 20) - 1, 'x');
}

// A call that stays open after its message was received. It needs no credentials.
class HealthWatch {
 public:
  HealthWatch(const std::shared_ptr<grpc::Channel>& channel, const std::string& message)
      : call_(grpc::GenericStub(channel).PrepareCall(&context_, kWatch, &queue_)) {
    call_->StartCall(nullptr);
    Next();
    const grpc::Slice slice(message);
    call_->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
    Next();
    call_->Read(&answer_, nullptr);
    answered_ = Next();
  }
  ~HealthWatch() {
    context_.TryCancel();
    grpc::Status status;
    call_->Finish(&status, nullptr);
    Next();
  }

  // Returns whether the daemon has received the whole message, which it then holds.
  bool answered() const { return answered_; }

 private:
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer answer_;
  bool answered_ = false;
};

// With TLS (true) and without.
class UnadmittedPeerTest : public ::testing::TestWithParam<bool> {
 protected:
  UnadmittedPeerTest() {
    const Certificate own = authority_.Issue();
    ReplaceFile(directory_ + "/cert", own.pem);
    ReplaceFile(directory_ + "/key", own.key);
    ReplaceFile(directory_ + "/token", kToken);
    std::vector<std::string> flags = {"--token-file=" + directory_ + "/token",
                                      "--keepalive-timeout=0s", "--max-payload-bytes=4MiB",
                                      "--max-members=64"};
    if (GetParam()) {
      flags.push_back("--tls-cert=" + directory_ + "/cert");
      flags.push_back("--tls-key=" + directory_ + "/key");
    }
    daemon_ = TestDaemon::Start(flags);
  }

  // Returns a channel with its own connection.
  std::shared_ptr<grpc::Channel> Dial() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto credentials = GetParam() ? grpc::SslCredentials({authority_.pem(), "", ""})
                                        : grpc::InsecureChannelCredentials();
    return grpc::CreateCustomChannel(daemon_->address(), credentials, arguments);
  }

  static absl::Status Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                           const std::string& message = "") {
    return RawCall(channel, method, message, {{kAuthorization, FormatAuthorization(kToken)}})
        .status();
  }

  // Opens one call on each channel. Returns how many calls hold their messages.
  int CountHeldMessages(const std::vector<std::shared_ptr<grpc::Channel>>& channels) {
    const std::string message = LargeMessage();
    int held = 0;
    for (const auto& channel : channels) {
      watches_.push_back(std::make_unique<HealthWatch>(channel, message));
      held += watches_.back()->answered();
    }
    return held;
  }

  void ExpectLittleMemory() const {
    EXPECT_THAT(MemoryOf(daemon_->process().pid()).peak, Lt(kMuch));
    EXPECT_TRUE(daemon_->process().WaitForOutput(kCutOff));
  }

  const std::string directory_ = MakeTempDir();
  const CertificateAuthority authority_;
  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<HealthWatch>> watches_;
};

INSTANTIATE_TEST_SUITE_P(All, UnadmittedPeerTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Tls" : "Plain"; });

TEST_P(UnadmittedPeerTest, OneConnectionHoldsNoMoreThanOneLargeMessage) {
  // After a connection is cut off, the following calls use a new one.
  EXPECT_THAT(CountHeldMessages(std::vector(kMany, Dial())), Lt(kMany));
  ExpectLittleMemory();
}

TEST_P(UnadmittedPeerTest, ManyConnectionsHoldNoMoreThanOneLargeMessageTogether) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < kMany; ++i) channels.push_back(Dial());
  EXPECT_EQ(CountHeldMessages(channels), 1);
  ExpectLittleMemory();
  EXPECT_THAT(Call(Dial(), kGetStatus), IsOk());  // others are not delayed
}

TEST_P(UnadmittedPeerTest, AnEndedConnectionFreesItsRoom) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(WaitUntil([this] { return CountHeldMessages({Dial()}) == 1; }));
    watches_.clear();
  }
}

TEST_P(UnadmittedPeerTest, AdmittedPeersAreNotBounded) {
  const auto channel = Dial();
  EXPECT_THAT(Call(channel, kGetStatus), IsOk());
  EXPECT_EQ(CountHeldMessages(std::vector(3, channel)), 3);
}

TEST_P(UnadmittedPeerTest, TheFirstCallMayBeAsLargeAsAny) {
  EXPECT_THAT(Call(Dial(), kGetStatus, "\n\xff\xff\xff\x03" + std::string((8 << 20) - 1, 'x')),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("xxx")));
}

TEST_P(UnadmittedPeerTest, HealthMayBeCheckedForEver) {
  const auto channel = Dial();
  for (int i = 0; i < 3000; ++i) {
    ASSERT_THAT(RawCall(channel, kCheck, "", {}), IsOk()) << i;
  }
}

}  // namespace
}  // namespace muster::testing
