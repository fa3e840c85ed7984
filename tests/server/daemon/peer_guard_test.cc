// The limits on connections before their peers are admitted: headers, calls, and the bytes that
// they hold.

#include "server/daemon/guards/peer_guard.h"

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "server/daemon/guards/client_hello.h"

namespace muster::daemon {
namespace {

using Result = PeerGuard::Result;

// Returns the header of an HTTP/2 frame.
std::string FrameHeader(uint8_t type, uint32_t size, uint8_t flags, uint32_t stream) {
  const char header[] = {static_cast<char>(size >> 16),   static_cast<char>(size >> 8),
                         static_cast<char>(size),         static_cast<char>(type),
                         static_cast<char>(flags),        static_cast<char>(stream >> 24),
                         static_cast<char>(stream >> 16), static_cast<char>(stream >> 8),
                         static_cast<char>(stream)};
  return std::string(header, sizeof(header));
}

std::string FrameOf(uint8_t type, uint32_t size, uint8_t flags = 0, uint32_t stream = 1) {
  return FrameHeader(type, size, flags, stream) + std::string(size, '\x01');
}

std::string Opening() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + FrameOf(kSettings, 6); }
std::string Acknowledged() { return Opening() + FrameOf(kSettings, 0, kAcknowledges); }

bool Admits(const std::string& bytes) {
  PeerGuard guard(nullptr);
  return guard.Received(bytes) == Result::kOk;
}

// Checks that the guard's answer does not depend on how the bytes are split.
bool AdmitsOneByOne(const std::string& bytes) {
  PeerGuard guard(nullptr);
  for (const char& byte : bytes) {
    if (guard.Received(absl::string_view(&byte, 1)) != Result::kOk) return false;
  }
  return true;
}

TEST(HeaderGuardTest, RequestsOfAnySizeAndNumberAreAdmitted) {
  std::string bytes = Acknowledged();
  for (int i = 0; i < 1000; ++i) bytes += FrameOf(kHeaders, 200) + FrameOf(kData, 16384);
  EXPECT_TRUE(Admits(bytes));
  EXPECT_TRUE(AdmitsOneByOne(bytes));
}

TEST(HeaderGuardTest, AHeaderOfAWholeFrameIsAdmittedSoThatGrpcCanAnswer) {
  EXPECT_TRUE(Admits(Acknowledged() + FrameOf(kHeaders, HeaderGuard::kMaxBytes)));
}

TEST(HeaderGuardTest, AHeaderInManyFramesIsCountedAsOne) {
  std::string bytes = Acknowledged() + FrameOf(kHeaders, 1000);
  for (int i = 0; i < 10; ++i) bytes += FrameOf(kContinuation, 1000);
  EXPECT_TRUE(Admits(bytes));
  for (int i = 0; i < 10; ++i) bytes += FrameOf(kContinuation, 1000);
  EXPECT_FALSE(Admits(bytes));
  EXPECT_FALSE(AdmitsOneByOne(bytes));
}

TEST(HeaderGuardTest, EmptyFramesCountToo) {
  std::string bytes = Acknowledged() + FrameOf(kHeaders, 0);
  for (int i = 0; i < 2000; ++i) bytes += FrameOf(kContinuation, 0);
  EXPECT_FALSE(Admits(bytes));
}

TEST(HeaderGuardTest, BeforeTheSettingsAreAcknowledgedAllHeadersTogetherAreBounded) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += FrameOf(kHeaders, 1000);
  EXPECT_FALSE(Admits(Opening() + bytes));
  EXPECT_TRUE(Admits(Acknowledged() + bytes));
}

TEST(HeaderGuardTest, MessagesDoNotCountAsHeaders) {
  const std::string inner = FrameOf(kContinuation, HeaderGuard::kMaxBytes);
  std::string data = FrameOf(kData, static_cast<uint32_t>(4 * inner.size()));
  data.resize(9);
  EXPECT_TRUE(Admits(Acknowledged() + data + inner + inner + inner + inner));
}

TEST(HeaderGuardTest, NothingIsAdmittedAfterAViolation) {
  PeerGuard guard(nullptr);
  EXPECT_EQ(guard.Received(Acknowledged() + FrameOf(kHeaders, 2 * HeaderGuard::kMaxBytes)),
            Result::kHeadersTooLong);
  EXPECT_EQ(guard.Received(FrameOf(kData, 1)), Result::kHeadersTooLong);
}

constexpr uint32_t kEmptyFrame = OpenCalls::kFrameBytes;
constexpr uint32_t kOwn = OpenCalls::kOwnBytes - OpenCalls::kCallBytes;  // of a single call

// A connection whose peer has not been admitted yet.
struct Peer {
  explicit Peer(BytePool* pool) : guard(pool) {
    EXPECT_EQ(guard.Received(Acknowledged()), Result::kOk);
    guard.Sent(FrameOf(kSettings, 6));
  }

  bool Opens(uint32_t stream) { return Fine(FrameOf(kHeaders, 0, 0, stream)); }
  // Sends this many bytes, including the frame's header.
  bool Sends(uint32_t stream, uint32_t bytes) {
    return Fine(FrameOf(kData, bytes - kEmptyFrame, 0, stream));
  }
  bool Resets(uint32_t stream) { return Fine(FrameOf(kResetStream, 4, 0, stream)); }
  void IsAnswered(uint32_t stream) {
    guard.Sent(FrameOf(kHeaders, 10, 0, stream) + FrameOf(kData, 10, 0, stream) +
               FrameOf(kHeaders, 10, kEndsStream, stream));
  }
  bool Fine(const std::string& bytes) { return guard.Received(bytes) == Result::kOk; }

  PeerGuard guard;
};

TEST(OpenCallsTest, WithinItsOwnRoomAConnectionTakesNothingFromOthers) {
  BytePool pool(0);
  Peer peer(&pool);
  EXPECT_TRUE(peer.Opens(1));
  EXPECT_TRUE(peer.Sends(1, kOwn));
  EXPECT_EQ(peer.guard.Received(FrameOf(kData, 0)), Result::kTooMuchMemory);
}

TEST(OpenCallsTest, AllConnectionsShareThePool) {
  BytePool pool(1000);
  Peer first(&pool);
  Peer second(&pool);
  EXPECT_TRUE(first.Opens(1) && first.Sends(1, kOwn + 600));
  EXPECT_TRUE(second.Opens(1) && second.Sends(1, kOwn + 400));
  EXPECT_FALSE(first.Sends(1, kEmptyFrame));
  EXPECT_FALSE(second.Sends(1, kEmptyFrame));
}

TEST(OpenCallsTest, TheCallsOfAConnectionAreCountedTogether) {
  BytePool pool(0);
  Peer peer(&pool);
  for (uint32_t i = 0; i < OpenCalls::kOwnBytes / OpenCalls::kCallBytes; ++i) {
    EXPECT_TRUE(peer.Opens(2 * i + 1));
  }
  EXPECT_FALSE(peer.Opens(101)) << "a call is not free, though it sends nothing";
}

TEST(OpenCallsTest, HeadersAreHeldToo) {
  BytePool pool(0);
  Peer peer(&pool);
  EXPECT_TRUE(peer.Opens(1) && peer.Sends(1, kOwn - 1000));
  EXPECT_TRUE(peer.Fine(FrameOf(kContinuation, 1000 - kEmptyFrame)));
  EXPECT_FALSE(peer.Fine(FrameOf(kContinuation, 0)));
}

TEST(OpenCallsTest, AnsweredAndCancelledCallsAreReleased) {
  BytePool pool(1000);
  Peer peer(&pool);
  for (uint32_t stream = 1; stream < 1000; stream += 4) {
    ASSERT_TRUE(peer.Opens(stream) && peer.Sends(stream, kOwn + 1000)) << stream;
    peer.IsAnswered(stream);
    ASSERT_TRUE(peer.Opens(stream + 2) && peer.Sends(stream + 2, kOwn + 1000)) << stream;
    ASSERT_TRUE(peer.Resets(stream + 2)) << stream;
  }
}

TEST(OpenCallsTest, AnUnfinishedAnswerReleasesNothing) {
  BytePool pool(0);
  Peer peer(&pool);
  EXPECT_TRUE(peer.Opens(1) && peer.Sends(1, kOwn));
  peer.guard.Sent(FrameOf(kHeaders, 10, 0, 1) + FrameOf(kData, 10, 0, 1));
  EXPECT_FALSE(peer.Sends(1, kEmptyFrame));
}

TEST(OpenCallsTest, FramesOfCallsThatHaveEndedAreDropped) {
  BytePool pool(0);
  Peer peer(&pool);
  EXPECT_TRUE(peer.Opens(7) && peer.Resets(7));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(peer.Sends(7, 10000) && peer.Opens(7) && peer.Opens(5));
}

TEST(OpenCallsTest, AConnectionThatEndsGivesBackWhatItTook) {
  BytePool pool(1000);
  for (int i = 0; i < 3; ++i) {
    Peer peer(&pool);
    EXPECT_TRUE(peer.Opens(1) && peer.Sends(1, kOwn + 1000));
  }
}

TEST(OpenCallsTest, AdmittedPeersAreUnboundedAndTakeNothing) {
  BytePool pool(1000);
  Peer member(&pool);
  EXPECT_TRUE(member.Opens(1) && member.Sends(1, kOwn + 1000));
  member.guard.Admit();
  EXPECT_TRUE(member.Opens(3) && member.Sends(3, 1 << 20));
  Peer stranger(&pool);
  EXPECT_TRUE(stranger.Opens(1) && stranger.Sends(1, kOwn + 1000));
}

std::string Hello(char drawn) {
  return std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(32, drawn) +
         "session, ciphers and so on";
}

TEST(ClientHelloTest, ReturnsTheClientRandom) {
  ClientHello hello;
  EXPECT_TRUE(hello.Read(Hello('r')));
  EXPECT_TRUE(hello.encrypted());
  EXPECT_EQ(hello.random(), std::string(32, 'r'));
  EXPECT_FALSE(hello.Read(Hello('x'))) << "that is told once";
  EXPECT_EQ(hello.random(), std::string(32, 'r'));
}

TEST(ClientHelloTest, MayComeInPieces) {
  ClientHello hello;
  int complete = 0;
  for (const char byte : Hello('r')) complete += hello.Read(absl::string_view(&byte, 1));
  EXPECT_EQ(complete, 1);
  EXPECT_EQ(hello.random(), std::string(32, 'r'));
}

TEST(ClientHelloTest, PlaintextHasNoClientRandom) {
  ClientHello hello;
  EXPECT_FALSE(hello.Read(Acknowledged() + FrameOf(kData, 100)));
  EXPECT_FALSE(hello.encrypted());
  EXPECT_EQ(hello.random(), "");
}

}  // namespace
}  // namespace muster::daemon
