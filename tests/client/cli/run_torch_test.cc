// Tests of `muster run --torch-store` with the real PyTorch: Debian's, and that of tools/peers, if
// they are installed.

#include <limits.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"
#include "tests/util/job/daemon.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using muster::testing::Process;
using muster::testing::Runfile;
using muster::testing::TestDaemon;
using ::testing::HasSubstr;

constexpr Exit kSuccess = {false, 0};
constexpr char kPython[] = "/usr/bin/python3";
// Newer versions of PyTorch have neither a server nor a client without libuv.
constexpr char kMakeStore[] =
    "import torch.distributed as dist\n"
    "dist.TCPStore('127.0.0.1', 0, is_master=True, wait_for_workers=False)";
// Loading PyTorch takes seconds of CPU time, in each of several ranks.
constexpr absl::Duration kPatience = absl::Minutes(4);

using Environment = std::map<std::string, std::string>;

// Returns the variables with which Python finds the PyTorch of tools/peers; empty if it is not
// installed.
Environment PeersEnvironment() {
  char path[PATH_MAX];
  if (realpath(Runfile("../torch_peer/installed").c_str(), path) == nullptr) return {};
  const std::string marker = path;
  return {{"PYTHONPATH", marker.substr(0, marker.rfind('/')) + "/python"}};
}

// One PyTorch.
struct Torch {
  const char* name;
  bool from_peers;
};

class TorchTest : public ::testing::TestWithParam<Torch> {
 protected:
  void SetUp() override {
    if (GetParam().from_peers) env_ = PeersEnvironment();
    env_.insert({{"PYTHONDONTWRITEBYTECODE", "1"}, {"OMP_NUM_THREADS", "1"}, {"GATES", gates_}});
    if (!CanRun("import torch.distributed")) {
      GTEST_SKIP() << "tools/install-deps --torch brings Debian's PyTorch";
    }
    if (!CanRun(kMakeStore)) GTEST_SKIP() << "PyTorch was built without libuv, as Debian 13's is";
  }

  bool CanRun(const std::string& code) const {
    return Process::Start({kPython, "-c", code}, env_)->Wait(kPatience) == kSuccess;
  }

  // Runs "muster run" with the flags and a script, and its arguments.
  std::unique_ptr<MusterCommand> Run(std::vector<std::string> words,
                                     const std::vector<std::string>& script) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--", kPython});
    words.insert(words.end(), script.begin(), script.end());
    return std::make_unique<MusterCommand>(words, env_);
  }

  // Lets torch_rank.py pass await_gate(name).
  void OpenGate(const std::string& name) const { std::ofstream(gates_ + "/" + name) << "open"; }

  const std::string gates_ = MakeTempDir();
  Environment env_;
};

std::vector<Torch> Versions() {
  std::vector<Torch> versions = {{"OfDebian", false}};
  if (!PeersEnvironment().empty()) versions.push_back({"OfPeers", true});
  return versions;
}

INSTANTIATE_TEST_SUITE_P(Versions, TorchTest, ::testing::ValuesIn(Versions()),
                         [](const auto& info) { return std::string(info.param.name); });

std::string Rank() { return Runfile("tests/client/launcher/torch/torch_rank.py"); }

// Returns the results that store_operations.py has printed, without PyTorch's log.
std::string Results(const std::string& output) {
  std::vector<std::string> lines;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(output, '\n'))) {
    if (absl::StartsWith(line, "result: ")) lines.push_back(line);
  }
  return absl::StrJoin(lines, "\n");
}

TEST_P(TorchTest, EveryOperationReturnsWhatPyTorchsOwnServerReturns) {
  const std::string script = Runfile("tests/client/launcher/torch/store_operations.py");
  const auto own = Process::Start({kPython, script, "--own"}, env_);
  const auto muster =
      Run({"--nproc-per-node=1", "--no-prefix", "--torch-store=loopback"}, {script});
  EXPECT_EQ(muster->process().Wait(kPatience), kSuccess);
  EXPECT_EQ(own->Wait(kPatience), kSuccess);
  EXPECT_EQ(Results(muster->process().Output()), Results(own->Output()));
  EXPECT_THAT(own->Output(), HasSubstr("prefixed (None, b'1')"));
}

TEST_P(TorchTest, DistributedDataParallelTrainsOnFourRanks) {
  for (const char* where : {"loopback", "node0"}) {
    const auto muster = Run({"--nproc-per-node=4", absl::StrCat("--torch-store=", where)},
                            {Runfile("examples/torch/ddp.py")});
    EXPECT_EQ(muster->process().Wait(kPatience), kSuccess);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_THAT(muster->process().Output(),
                  HasSubstr(absl::StrCat("rank ", rank, " of 4 has learned 3.0 x + 1.0")));
    }
  }
}

// With the store in rank 0, as without --torch-store, the others fail.
TEST_P(TorchTest, TheOthersGoOnWhenRank0IsKilled) {
  const auto muster = Run({"--nproc-per-node=4", "--min-world-size=3", "--torch-store=loopback"},
                          {Rank(), "survive"});
  ASSERT_TRUE(muster->process().WaitForOutput("rank 0 (pid", kPatience));
  OpenGate("killed");
  for (int rank = 1; rank < 4; ++rank) {
    EXPECT_TRUE(muster->process().WaitForOutput(absl::StrCat("rank ", rank, " survives with 1 2 3"),
                                                kPatience));
  }
  muster->process().Wait(kPatience);
}

TEST_P(TorchTest, ARestartOfAllRanksBeginsWithAnEmptyStore) {
  const auto muster =
      Run({"--nproc-per-node=2", "--max-restarts=1", "--restart=group", "--torch-store=loopback"},
          {Rank(), "attempts"});
  EXPECT_EQ(muster->process().Wait(kPatience), kSuccess);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(muster->process().Output(),
                HasSubstr(absl::StrCat("rank ", rank, " is number True in attempt 1")));
  }
}

// Two launchers on one machine, each with an endpoint of its own. musterd is killed while ranks
// begin, while they wait for a key, and between their steps.
TEST_P(TorchTest, TwoNodesShareAStoreThatSurvivesMusterd) {
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  ASSERT_NE(daemon, nullptr);
  std::vector<std::unique_ptr<MusterCommand>> nodes;
  for (int node = 0; node < 2; ++node) {
    nodes.push_back(
        Run({"--nnodes=2", absl::StrCat("--node-rank=", node), "--nproc-per-node=2",
             absl::StrCat("--node-id=node", node),
             absl::StrCat("--coordinator=", daemon->address()), "--torch-store=loopback"},
            {Rank(), "restarts"}));
  }
  const auto await_all = [&nodes](const std::string& text, int first = 0) {
    for (int rank = first; rank < 4; ++rank) {
      EXPECT_TRUE(nodes[rank / 2]->process().WaitForOutput(absl::StrCat("rank ", rank, " ", text),
                                                           kPatience));
    }
  };
  await_all("starts");
  for (int rank = 0; rank < 3; ++rank) {
    nodes[rank / 2]->process().WaitForOutput(absl::StrCat("rank ", rank, " joins"), kPatience);
  }
  daemon->Kill();
  OpenGate("init");
  await_all("joins", 3);
  daemon->Restart();
  await_all("sums 10");
  await_all("waits", 1);
  daemon->Kill();
  daemon->Restart();
  OpenGate("wait");
  await_all("saw went", 1);
  daemon->Kill();
  OpenGate("step");
  await_all("sums again 10");  // does not need the store
  daemon->Restart();
  await_all("ends with 4");
  for (const auto& node : nodes) EXPECT_EQ(node->process().Wait(kPatience), kSuccess);
}

// ---- Without PyTorch ----

TEST(TorchStoreTest, TheEnvironmentNamesTheLaunchersEndpoint) {
  MusterCommand muster(
      RunShell({"--nproc-per-node=1", "--torch-store=loopback"},
               "echo $MASTER_ADDR $TORCHELASTIC_USE_AGENT_STORE $TORCHELASTIC_RESTART_COUNT"));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr("[0] 127.0.0.1 True 0\n"));
}

TEST(TorchStoreTest, WithoutTheFlagRank0ServesTheStore) {
  MusterCommand muster({"run", "--nproc-per-node=1", "--", "sh", "-c",
                        "echo agent ${TORCHELASTIC_USE_AGENT_STORE-unset}"},
                       {{"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr("[0] agent unset\n"));
}

TEST(TorchStoreTest, OtherProtocolsAreRefused) {
  MusterCommand muster({"run", "--nproc-per-node=1", "--torch-store=loopback", "--", "bash", "-c",
                        R"(exec 3<>/dev/tcp/127.0.0.1/$MASTER_PORT
          printf 'GET / HTTP/1.1\r\n' >&3
          cat <&3; echo closed)"});
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(),
              HasSubstr("muster: --torch-store: closed a connection of a PyTorch program: it sent "
                        "request code 71, which is not offered\n"));
  EXPECT_THAT(muster.process().Output(), HasSubstr("[0] closed\n"));
}

}  // namespace
}  // namespace muster::cli
