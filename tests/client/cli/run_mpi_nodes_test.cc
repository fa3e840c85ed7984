// Tests of `muster run` with MPI programs on two nodes: two launchers on this machine, whose ranks
// meet by PMI-1 or PMIx through the job's store in a real musterd.

#include <signal.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/mpi_programs.h"
#include "tests/client/cli/two_nodes.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using muster::testing::Runfile;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr Exit kSuccess = {false, 0};

// ---- Programs of MPI libraries ----

// Returns the variables with which programs load the library. Open MPI's shared memory has a name
// that is different on each machine, but not on each node of this test.
std::map<std::string, std::string> EnvironmentOfNodes(const Library& library) {
  std::map<std::string, std::string> env = Environment(library);
  env["OMPI_MCA_btl"] = "self,tcp";
  return env;
}

class MpiNodesTest : public ::testing::TestWithParam<Library> {
 protected:
  void SetUp() override {
    if (Programs(GetParam()).empty()) {
      GTEST_SKIP() << "tools/install-deps --mpi brings the MPI libraries";
    }
  }

  static TwoNodes Run(const std::string& sizes, const std::vector<std::string>& flags,
                      std::vector<std::string> program,
                      std::map<std::string, std::string> env = {}) {
    program[0] = absl::StrCat(Programs(GetParam()), "/", program[0]);
    env.merge(EnvironmentOfNodes(GetParam()));
    return TwoNodes(sizes, flags, program, env);
  }
};

INSTANTIATE_TEST_SUITE_P(Libraries, MpiNodesTest,
                         ::testing::Values(kDebian, kMpich, kIntel, kDebiansOpenMpi, kOpenMpi),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(MpiNodesTest, ARingMeets) {
  TwoNodes nodes = Run("2", {}, {"ring"});
  nodes.ExpectSuccess();
  nodes.ExpectLines("of 4: the ring says 6, all-reduce says 6\n");
}

TEST_P(MpiNodesTest, NodesOfDifferentSizesMeet) {
  TwoNodes nodes = Run("1,3", {}, {"ring"});
  nodes.ExpectSuccess();
  nodes.ExpectLines("of 4: the ring says 6, all-reduce says 6\n", 1);
}

// musterd is away when the ranks come to MPI_Finalize().
TEST_P(MpiNodesTest, AKilledMusterdIsInvisible) {
  const std::string file = MakeTempDir() + "/go";
  TwoNodes nodes = Run("2", {}, {"mpi_rank", "linger", file});
  nodes.ExpectLines("passed the barrier");
  nodes.daemon().Kill();
  std::ofstream(file) << "";
  nodes.daemon().Restart();
  nodes.ExpectSuccess();
}

// musterd is killed while ranks wait in MPI_Init().
TEST_P(MpiNodesTest, AStuckInitNamesTheMissingRankOnBothNodes) {
  const std::string file = MakeTempDir() + "/go";
  TwoNodes nodes = Run("2", {}, {"mpi_rank", "late", file});
  EXPECT_TRUE(nodes.At(0).WaitForOutput(" for rank 1, which has not called ", kPatience));
  EXPECT_TRUE(nodes.At(1).WaitForOutput(
      KnowsRanksInFences(GetParam()) ? " for rank 1 (node nodeA), which has not called MPI_Init()"
                                     : " in a barrier of MPI for ranks 0-1 (node nodeA)",
      kPatience));
  nodes.daemon().Kill();
  nodes.daemon().Restart();
  std::ofstream(file) << "";
  nodes.ExpectSuccess();
  nodes.ExpectLines("passed the barrier");
}

TEST_P(MpiNodesTest, AKilledRankEndsTheWorldOnBothNodes) {
  TwoNodes nodes = Run("2", {"--failure-wait=0s"}, {"mpi_rank", "kill"});
  EXPECT_EQ(nodes.Wait(0), (Exit{false, 128 + SIGKILL}));
  EXPECT_EQ(nodes.Wait(1), (Exit{false, 75}));
  for (int node = 0; node < 2; ++node) {
    EXPECT_THAT(nodes.At(node).Output(),
                ContainsRegex("failed: rank 1 \\(pid [0-9]+, node nodeA\\) was killed by signal 9 "
                              "\\(SIGKILL\\) before MPI_Finalize\\(\\)"));
  }
}

TEST_P(MpiNodesTest, AnAbortEndsBothNodesWithItsCode) {
  TwoNodes nodes = Run("2", {}, {"mpi_rank", "abort"});
  for (int node = 0; node < 2; ++node) {
    EXPECT_EQ(nodes.Wait(node), (Exit{false, 23}));
    EXPECT_THAT(nodes.At(node).Output(),
                ContainsRegex("failed: rank 1 \\(pid [0-9]+, node nodeA\\) called "
                              "MPI_Abort\\(23\\)"));
  }
}

TEST_P(MpiNodesTest, AllRanksOfBothNodesAreRestartedTogether) {
  TwoNodes nodes = Run("2", {"--max-restarts=1", "--restart=group"}, {"mpi_rank", "kill-once"});
  nodes.ExpectSuccess();
  nodes.ExpectLines("passed the barrier");
  for (int node = 0; node < 2; ++node) {
    EXPECT_THAT(nodes.At(node).Output(),
                HasSubstr("all ranks of this node (2) were restarted (restart 1 of at most 1)"));
  }
}

using OpenMpiNodesTest = MpiNodesTest;

INSTANTIATE_TEST_SUITE_P(Libraries, OpenMpiNodesTest, ::testing::Values(kDebiansOpenMpi, kOpenMpi),
                         [](const auto& info) { return std::string(info.param.name); });

// Without data in the fence, each rank asks for those of another node when it first needs them.
TEST_P(OpenMpiNodesTest, RanksAskForDataOfOtherNodes) {
  TwoNodes nodes =
      Run("2", {}, {"ring"},
          {{"OMPI_MCA_pmix_base_async_modex", "1"}, {"OMPI_MCA_pmix_base_collect_data", "0"}});
  nodes.ExpectSuccess();
  nodes.ExpectLines("of 4: the ring says 6, all-reduce says 6\n");
}

// ---- Programs of Python ----

TwoNodes RunPython(const std::string& script, const std::string& argument, const Library& library) {
  const bool pmix = std::string(library.name) == kOpenMpi.name;
  return TwoNodes("2", {pmix ? "--pmi=pmix" : "--pmi=on"},
                  {"/usr/bin/python3", Runfile("tests/client/launcher/pmi/" + script), argument},
                  EnvironmentOfNodes(library));
}

class Mpi4pyNodesTest : public ::testing::TestWithParam<Library> {};

INSTANTIATE_TEST_SUITE_P(Libraries, Mpi4pyNodesTest, ::testing::Values(kMpich, kIntel, kOpenMpi),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Mpi4pyNodesTest, ObjectsReachAllRanks) {
  if (Programs(GetParam()).empty()) GTEST_SKIP() << "tools/install-deps --mpi brings mpi4py";
  TwoNodes nodes = RunPython("mpi4py_rank.py", "", GetParam());
  nodes.ExpectSuccess();
  nodes.ExpectLines("of 4 has 0, 10, 20, 30\n");
}

TEST(NvshmemNodesTest, TheBootstrapPluginMeets) {
  const std::string folder = InstalledFolder();
  if (folder.empty()) GTEST_SKIP() << "tools/install-deps --mpi brings NVSHMEM's plug-in";
  TwoNodes nodes("2", {},
                 {"/usr/bin/python3", Runfile("tests/client/launcher/pmi/nvshmem_rank.py"),
                  folder + "/nvshmem/nvshmem_bootstrap_pmi.so.3"});
  nodes.ExpectSuccess();
  nodes.ExpectLines("of 4 has 0, 10, 20, 30\n");
}

// ---- Without an MPI library ----

// Returns a program for bash. Its function `ask LINES` sends them to the PMI server and prints the
// first line of the answer.
std::vector<std::string> Bash(const std::string& script) {
  return {"bash", "-c",
          "ask() { printf \"$1\" >&$PMI_FD; read -r answer <&$PMI_FD; echo \"rank $RANK $answer\"; "
          "}; ask 'cmd=init pmi_version=1 pmi_subversion=1\\n'; " +
              script};
}

TEST(PmiNodesTest, ValuesReachAllNodesInEachRound) {
  TwoNodes nodes(
      "2", {},
      Bash("ask \"cmd=put key=$RANK value=of\\\\\\\\ $RANK\\n\"; ask 'cmd=barrier_in\\n'; "
           "for i in 0 1 2 3; do ask \"cmd=get key=$i\\n\"; done; "
           "ask \"cmd=put key=then$RANK value=then\\n\"; ask 'cmd=barrier_in\\n'; "
           "for i in 0 1 2 3; do ask \"cmd=get key=then$i\\n\"; done; "
           "ask 'cmd=finalize\\n'"));
  nodes.ExpectSuccess();
  for (int value = 0; value < 4; ++value) {
    nodes.ExpectLines(absl::StrCat("cmd=get_result rc=0 msg=success value=of\\ ", value, "\n"));
  }
  nodes.ExpectLines("cmd=get_result rc=0 msg=success value=then\n");
}

TEST(PmiNodesTest, AllNodesHaveTheSameWorld) {
  TwoNodes nodes("2", {}, Bash("ask 'cmd=get_my_kvsname\\n'; ask 'cmd=finalize\\n'"));
  nodes.ExpectSuccess();
  const auto name_at = [&nodes](int node, int rank) {
    const std::string output = nodes.At(node).Output();
    const std::string before = absl::StrCat("rank ", rank, " cmd=my_kvsname kvsname=");
    return output.substr(output.find(before) + before.size(), 20);
  };
  EXPECT_THAT(name_at(0, 0), ContainsRegex("^kvs_[0-9a-f]{16}$"));
  EXPECT_EQ(name_at(0, 0), name_at(1, 3));
}

TEST(PmiNodesTest, AStuckBarrierNamesTheMissingRanksOfOtherNodes) {
  const std::string file = MakeTempDir() + "/go";
  TwoNodes nodes("2", {},
                 Bash(absl::StrCat("if [ $RANK = 3 ]; then while [ ! -e ", file,
                                   " ]; do sleep 0.01; done; fi; ask 'cmd=barrier_in\\n'; "
                                   "ask 'cmd=finalize\\n'")));
  EXPECT_TRUE(nodes.At(0).WaitForOutput(
      "muster: ranks 0-1 (node nodeA) have waited 10s in a barrier of MPI for rank 3 (node nodeB), "
      "in MPI but not there\n",
      kPatience));
  EXPECT_TRUE(nodes.At(1).WaitForOutput(
      "muster: rank 2 (node nodeB) has waited 10s in a barrier of MPI for rank 3, in MPI but not "
      "there\n",
      kPatience));
  std::ofstream(file) << "";
  nodes.ExpectSuccess();
}

TEST(PmiNodesTest, ANodeWithoutMpiIsNamed) {
  const std::string file = MakeTempDir() + "/go";
  TwoNodes nodes(
      "2", {},
      {"bash", "-c",
       absl::StrCat("if [ $RANK -ge 2 ]; then while [ ! -e ", file, " ]; do sleep 0.01; done; fi; ",
                    Bash("ask 'cmd=get_my_kvsname\\n'; ask 'cmd=finalize\\n'")[2])});
  EXPECT_TRUE(nodes.At(0).WaitForOutput(
      "muster: ranks 0-1 (node nodeA) have waited 10s in MPI_Init() for ranks 2-3 (node number 1), "
      "none of which has called MPI_Init()\n",
      kPatience));
  std::ofstream(file) << "";
  nodes.ExpectSuccess();
}

TEST(PmiNodesTest, NodesWithDifferentFlagsAreTold) {
  TwoNodes nodes({{"--nproc-per-node=2"}, {"--nproc-per-node=1"}},
                 Bash("ask 'cmd=barrier_in\\n'; ask 'cmd=finalize\\n'"));
  EXPECT_EQ(nodes.Wait(0), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(nodes.At(0).Output(),
              HasSubstr("MPI cannot go on on node nodeA: the nodes have 1,1 ranks by the flags of "
                        "node nodeB, and 2,2 by those of this one; give --nnodes and "
                        "--nproc-per-node the same values on all nodes"));
  nodes.Wait(1);
}

// The second world has neither values nor barriers of the first.
TEST(PmiNodesTest, ARestartBeginsAnEmptyWorld) {
  TwoNodes nodes(
      "2", {"--max-restarts=1", "--restart=group"},
      Bash("ask \"cmd=put key=of$MUSTER_RESTART_COUNT value=$RANK\n\"; ask 'cmd=barrier_in\n'; "
           "if [ $MUSTER_RESTART_COUNT = 0 ]; then if [ $RANK = 3 ]; then exit 5; fi; "
           "exec sleep 1003; fi; "
           "ask 'cmd=get key=of0\n'; ask 'cmd=get key=of1\n'; ask 'cmd=finalize\n'"));
  nodes.ExpectSuccess();
  nodes.ExpectLines("cmd=get_result rc=-1 msg=key_of0_not_found value=unknown\n");
  nodes.ExpectLines("cmd=get_result rc=0 msg=success value=");
}

// A node that has not entered the world restarts its ranks alone. The others still wait for it
// there.
TEST(PmiNodesTest, ANodeThatIsRestartedBeforeItsRanksCallInitMeetsTheOther) {
  TwoNodes nodes("2", {"--max-restarts=1", "--restart=group"},
                 Bash("if [ $MUSTER_RESTART_COUNT = 0 ] && [ $RANK -ge 2 ]; then "
                      "if [ $RANK = 3 ]; then exit 5; fi; exec sleep 1003; fi; "
                      "ask 'cmd=barrier_in\n'; ask 'cmd=finalize\n'"));
  nodes.ExpectSuccess();
  nodes.ExpectLines("cmd=barrier_out\n");
  EXPECT_THAT(nodes.At(1).Output(),
              HasSubstr("all ranks of this node (2) were restarted (restart 1 of at most 1)"));
}

TEST(PmiNodesTest, ANodeThatDoesNotRestartEndsTheOther) {
  TwoNodes nodes(
      {{"--nproc-per-node=2", "--max-restarts=1", "--restart=group", "--failure-wait=0s"},
       {"--nproc-per-node=2", "--failure-wait=0s"}},
      Bash("ask 'cmd=barrier_in\n'; if [ $RANK = 1 ]; then exit 5; fi; "
           "if [ $MUSTER_RESTART_COUNT = 1 ]; then ask 'cmd=barrier_in\n'; fi; "
           "exec sleep 1003"));
  EXPECT_EQ(nodes.Wait(0), (Exit{false, 75}));
  EXPECT_EQ(nodes.Wait(1), (Exit{false, 75}));
  EXPECT_THAT(nodes.At(0).Output(),
              ContainsRegex("failed: muster run on node nodeB does not start its ranks again, "
                            "after rank 1 \\(pid [0-9]+, node nodeA\\) exited with status 5"));
  EXPECT_THAT(nodes.At(1).Output(),
              ContainsRegex("failed: rank 1 \\(pid [0-9]+, node nodeA\\) exited with status 5"));
}

// Nobody reports the end of a launcher, or of a machine, but musterd notices it.
TEST(PmiNodesTest, AKilledLauncherEndsTheOtherNode) {
  TwoNodes nodes("2", {"--failure-wait=0s"}, Bash("ask 'cmd=barrier_in\n'; exec sleep 1003"));
  nodes.ExpectLines("cmd=barrier_out\n");
  nodes.At(0).Signal(SIGKILL);
  EXPECT_EQ(nodes.Wait(1), (Exit{false, 75}));
  EXPECT_THAT(nodes.At(1).Output(),
              HasSubstr("failed: muster run on node nodeA is lost: the process or its machine has "
                        "ended, or cannot reach the coordinator"));
  nodes.Wait(0);
}

// A rank that ends in MPI while its launcher is ended by a signal takes the others with it.
TEST(PmiNodesTest, AnInterruptedNodeEndsTheOther) {
  TwoNodes nodes("2", {"--failure-wait=0s"}, Bash("ask 'cmd=barrier_in\\n'; exec sleep 1003"));
  nodes.ExpectLines("cmd=barrier_out\n");
  nodes.At(0).Signal(SIGTERM);
  EXPECT_EQ(nodes.Wait(1), (Exit{false, 75}));
  EXPECT_THAT(nodes.At(1).Output(),
              ContainsRegex("failed: rank [01] \\(pid [0-9]+, node nodeA\\) was killed by signal "
                            "15 \\(SIGTERM\\)"));
  nodes.Wait(0);
}

}  // namespace
}  // namespace muster::cli
