// Tests what Muster reads from NCCL's RAS subsystem during a hang. The ranks run NCCL's own code.
// One of them does not call the all-reduce that the other ranks wait in.
//
//   ras_test RANK_PROGRAM

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/observe/bundle/ras_client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/conformance/rank_process.h"
#include "tests/nccl/libraries.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kRanks = 3;
constexpr int kFirstWithJson = 22800;
constexpr size_t kMaxBytes = 1 << 20;
constexpr auto kPatience = std::chrono::seconds(60);

std::string program;

uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

class RasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RankProcess::Env env = NcclVariables();
    env["CONFORMANCE_DIRECTORY"] = directory_;
    env["CONFORMANCE_RANKS"] = std::to_string(kRanks);
    env["NCCL_RAS_ADDR"] = absl::StrCat("127.0.0.1:", port_);
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks_.push_back(
          std::make_unique<RankProcess>(program, rank, env, absl::StrCat(directory_, "/", rank)));
    }
    ranks_[0]->Send("id");
    ASSERT_EQ(ranks_[0]->Await(kPatience), "Success");
    All("init", kRanks);
    All("settle", kRanks);
  }

  // Makes the first `count` ranks take the step at the same time.
  void All(const std::string& command, int count) {
    for (int rank = 0; rank < count; ++rank) ranks_[rank]->Send(command);
    for (int rank = 0; rank < count; ++rank) {
      ASSERT_NE(ranks_[rank]->Await(kPatience), "blocks") << command << ranks_[rank]->Log();
    }
  }

  void AllReduce(int count) {
    All("allreduce", count);
    All("settle", count);
  }

  std::string Report() {
    const absl::StatusOr<observe::RasReport> report =
        observe::QueryRas(observe::kRasHost, port_, absl::Seconds(30), kMaxBytes);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return "";
    EXPECT_EQ(report->json, NcclVersionCode() >= kFirstWithJson);
    return report->text;
  }

  const std::string directory_ = MakeTempDir();
  const uint16_t port_ = FreePort();
  std::vector<std::unique_ptr<RankProcess>> ranks_;
};

int Occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(RasTest, ShowsTheRankThatDoesNotCallAnOperation) {
  AllReduce(kRanks);
  All("stream", kRanks);
  EXPECT_THAT(Report(), Not(HasSubstr("MISMATCH")));
  AllReduce(kRanks - 1);
  const std::string report = Report();
  if (NcclVersionCode() >= kFirstWithJson) {
    EXPECT_EQ(Occurrences(report, "\"AllReduce\": 2"), kRanks - 1) << report;
    EXPECT_EQ(Occurrences(report, "\"AllReduce\": 1"), 1) << report;
  } else {
    EXPECT_THAT(report,
                AllOf(HasSubstr("MISMATCH"), HasSubstr("2 ranks have launched up to operation 2"),
                      HasSubstr("Rank 2 has launched up to operation 1")));
  }
}

TEST_F(RasTest, ShowsTheRankThatDied) {
  AllReduce(kRanks);
  All("stream", kRanks);
  ranks_[kRanks - 1]->Send("die");
  EXPECT_EQ(ranks_[kRanks - 1]->Await(kPatience), "signal 9");
  AllReduce(kRanks - 1);
  const std::string report = Report();
  if (NcclVersionCode() >= kFirstWithJson) {
    EXPECT_THAT(report, Not(ContainsRegex("[0-9]\n *\"status\""))) << "2.28.9 forgets a comma";
    EXPECT_THAT(report, AllOf(HasSubstr("\"missing_ranks_count\": 1"),
                              HasSubstr("\"unresponsive\": true")));
  } else {
    EXPECT_THAT(report, AllOf(HasSubstr("INCOMPLETE"), HasSubstr("Rank 2 -- GPU 2 managed by")));
  }
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc > 1) muster::testing::program = argv[1];
  return RUN_ALL_TESTS();
}
