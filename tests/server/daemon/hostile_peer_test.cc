// Peers that do harm without a session or a membership. What one of them sends must not take much
// more of musterd's memory than its own size.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "tests/server/service/test_job.h"
#include "tests/util/job/daemon.h"
#include "tests/util/network/certificates.h"
#include "tests/util/process/process_usage.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Lt;

constexpr uint64_t kMuch = 200 << 20;  // an idle daemon takes about 20 MB
constexpr uint32_t kWholeFrame = 16384;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kContinuation = 9;

// An HTTP/2 connection that is written by hand, with or without TLS.
class RawPeer {
 public:
  RawPeer(int port, bool tls) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    if (tls) BeginTls();
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    SendFrame(kSettings, 0, "");
  }
  ~RawPeer() {
    SSL_free(ssl_);
    SSL_CTX_free(tls_);
    close(fd_);
  }

  // Returns false once the other side has closed the connection.
  bool Send(const std::string& bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t n = Write(bytes.data() + sent, bytes.size() - sent);
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
    return true;
  }

  bool SendFrame(uint8_t type, uint8_t stream, const std::string& payload) {
    const size_t size = payload.size();
    const char header[] = {static_cast<char>(size >> 16),
                           static_cast<char>(size >> 8),
                           static_cast<char>(size),
                           static_cast<char>(type),
                           /*flags=*/0,
                           0,
                           0,
                           0,
                           static_cast<char>(stream)};
    return Send(std::string(header, sizeof(header)) + payload);
  }

  // Reads until the other side has closed the connection.
  void AwaitClose() {
    char buffer[4096];
    while (recv(fd_, buffer, sizeof(buffer), 0) > 0) {
    }
  }

 private:
  void BeginTls() {
    signal(SIGPIPE, SIG_IGN);  // OpenSSL writes with write()
    tls_ = SSL_CTX_new(TLS_client_method());
    ssl_ = SSL_new(tls_);
    const unsigned char http2[] = {2, 'h', '2'};
    SSL_set_alpn_protos(ssl_, http2, sizeof(http2));
    SSL_set_fd(ssl_, fd_);
    EXPECT_EQ(SSL_connect(ssl_), 1);
  }

  ssize_t Write(const char* bytes, size_t size) {
    if (ssl_ != nullptr) return SSL_write(ssl_, bytes, static_cast<int>(size));
    return send(fd_, bytes, size, MSG_NOSIGNAL);
  }

  SSL_CTX* tls_ = nullptr;
  SSL* ssl_ = nullptr;  // null: without TLS
  const int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

class HostilePeerTest : public ::testing::Test {
 protected:
  void ExpectServesWithLittleMemory() {
    TestMember member(Dial(), TestMember::Options());
    EXPECT_THAT(member.Attach(), IsOk());
    EXPECT_THAT(member.Join(1), IsOk());
    EXPECT_THAT(member.Barrier(), IsOk());
    EXPECT_THAT(MemoryOf(daemon_->process().pid()).peak, Lt(kMuch));
  }

  // Sends a header block, and then continues it as often as the daemon accepts.
  void Flood(const std::string& first, const std::string& rest, int frames) {
    RawPeer peer(daemon_->port(), tls());
    bool open = peer.SendFrame(kHeaders, 1, first);
    for (int i = 0; i < frames && open; ++i) open = peer.SendFrame(kContinuation, 1, rest);
    peer.AwaitClose();
  }

  virtual bool tls() const { return false; }
  virtual std::shared_ptr<grpc::Channel> Dial() { return Connect(daemon_->address()); }

  // While a client compresses for a long time, it answers no pings.
  std::unique_ptr<TestDaemon> daemon_ = TestDaemon::Start({"--keepalive-timeout=0s"});
};

// The same tests with a daemon that requires TLS.
class HostileTlsPeerTest : public HostilePeerTest {
 protected:
  HostileTlsPeerTest() {
    const Certificate own = authority_.Issue();
    ReplaceFile(directory_ + "/cert", own.pem);
    ReplaceFile(directory_ + "/key", own.key);
    daemon_ = TestDaemon::Start({"--keepalive-timeout=0s", "--tls-cert=" + directory_ + "/cert",
                                 "--tls-key=" + directory_ + "/key"});
  }
  bool tls() const override { return true; }
  std::shared_ptr<grpc::Channel> Dial() override {
    return grpc::CreateChannel(daemon_->address(),
                               grpc::SslCredentials({authority_.pem(), "", ""}));
  }

  const std::string directory_ = MakeTempDir();
  const CertificateAuthority authority_;
};

TEST_F(HostilePeerTest, ACompressedMessageIsRefusedBeforeItIsInflated) {
  v1::GetStatusRequest request;
  request.set_job_id(std::string(300 << 20, '0'));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::GetStatusResponse response;
  const auto stub = v1::CoordinatorService::NewStub(Connect(daemon_->address()));
  const absl::Status status = FromGrpc(stub->GetStatus(&context, request, &response));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'gzip' is disabled")));
  ExpectServesWithLittleMemory();
}

TEST_F(HostileTlsPeerTest, HeadersWithoutEndAreCutOffToo) {
  std::string headers;
  while (headers.size() + 5 <= kWholeFrame) headers += std::string("\0\1a\1b", 5);
  Flood(headers, headers, 3000);
  ExpectServesWithLittleMemory();
  EXPECT_TRUE(daemon_->process().WaitForOutput("request headers of more than 16 KiB"));
}

TEST_F(HostilePeerTest, HeadersWithoutEndAreCutOff) {
  std::string headers;
  while (headers.size() + 5 <= kWholeFrame) headers += std::string("\0\1a\1b", 5);
  Flood(headers, headers, 3000);
  ExpectServesWithLittleMemory();
  EXPECT_TRUE(daemon_->process().WaitForOutput("request headers of more than 16 KiB"));
}

// Earlier, gRPC copied all that had come before for each frame of the header.
TEST_F(HostilePeerTest, AHeaderWithoutEndIsCutOff) {
  // The length of the name, the name, and the length of the value: 127 + 0x7fffffff.
  const std::string begin("\0\1a\x7f\xff\xff\xff\xff\x07", 9);
  Flood(begin, std::string(kWholeFrame, 'b'), 1000);
  ExpectServesWithLittleMemory();
  EXPECT_TRUE(daemon_->process().WaitForOutput("request headers of more than 16 KiB"));
}

TEST_F(HostilePeerTest, HeadersThatAreLongButWithinTheBoundAreAnswered) {
  const auto stub = v1::CoordinatorService::NewStub(Connect(daemon_->address()));
  for (const size_t size : {100, 4000, 7500}) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", std::string(size, 'x'));
    v1::GetStatusResponse response;
    EXPECT_THAT(FromGrpc(stub->GetStatus(&context, {}, &response)), IsOk()) << size;
  }
}

}  // namespace
}  // namespace muster::testing
