// Tests of `muster run` with programs of the real MPICH, Intel MPI, Open MPI, mpi4py and NVSHMEM,
// which get their ranks by PMI-1 or PMIx: examples/mpi, mpi_rank.c, whose ranks fail, and two
// scripts of Python.

#include <sched.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/process/cpu_affinity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/mpi_programs.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using muster::testing::Runfile;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Exit kSuccess = {false, 0};

// Lets this thread, and what it starts, run on one CPU only.
class OnOneCpu {
 public:
  OnOneCpu() : before_(CpusOf(0)) { Bind({before_[0]}); }
  ~OnOneCpu() { Bind(before_); }
  OnOneCpu(const OnOneCpu&) = delete;
  OnOneCpu& operator=(const OnOneCpu&) = delete;

 private:
  static void Bind(const std::vector<int>& cpus) {
    const CpuMask mask(cpus);
    sched_setaffinity(0, mask.bytes(), mask.set());
  }

  const std::vector<int> before_;
};

class MpiTest : public ::testing::TestWithParam<Library> {
 protected:
  void SetUp() override {
    if (Programs(GetParam()).empty()) {
      GTEST_SKIP() << "tools/install-deps --mpi brings the MPI libraries";
    }
  }

  // Runs "muster run" with a compiled program, and its arguments.
  static MusterCommand Run(std::vector<std::string> flags, std::vector<std::string> program) {
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.push_back("--");
    program[0] = absl::StrCat(Programs(GetParam()), "/", program[0]);
    words.insert(words.end(), program.begin(), program.end());
    return MusterCommand(words, Environment(GetParam()));
  }
};

INSTANTIATE_TEST_SUITE_P(Libraries, MpiTest,
                         ::testing::Values(kDebian, kMpich, kIntel, kDebiansOpenMpi, kOpenMpi),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(MpiTest, ARingOfFourRanksMeets) {
  MusterCommand muster(Run({"--nproc-per-node=4"}, {"ring"}));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  const std::string output = muster.process().Output();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(output, HasSubstr(absl::StrCat("[", rank, "] rank ", rank,
                                               " of 4: the ring says 6, all-reduce says 6\n")));
  }
}

TEST_P(MpiTest, WithoutPmiEachRankRunsAlone) {
  MusterCommand muster(Run({"--nproc-per-node=2", "--pmi=off"}, {"ring"}));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), AllOf(HasSubstr("[0] rank 0 of 1: the ring says 0"),
                                               HasSubstr("[1] rank 0 of 1: the ring says 0")));
}

TEST_P(MpiTest, AnAbortEndsTheJobWithItsCode) {
  MusterCommand muster(Run({"--nproc-per-node=3"}, {"mpi_rank", "abort"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 23}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("job [^ ]* failed: rank 1 \\([^)]*\\) called MPI_Abort\\(23\\)"));
  EXPECT_THAT(muster.process().Output(), HasSubstr(GetParam().abort_text));
}

TEST_P(MpiTest, AKilledRankEndsTheJob) {
  MusterCommand muster(Run({"--nproc-per-node=3", "--failure-wait=0s"}, {"mpi_rank", "kill"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("failed: rank 1 \\([^)]*\\) was killed by signal 9 \\(SIGKILL\\) "
                            "before MPI_Finalize\\(\\)"));
}

TEST_P(MpiTest, AKilledRankIsNotRestartedAlone) {
  MusterCommand muster(
      Run({"--nproc-per-node=2", "--max-restarts=1", "--restart=rank", "--failure-wait=0s"},
          {"mpi_rank", "kill"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(muster.process().Output(), HasSubstr("rank 1 cannot be restarted alone"));
}

TEST_P(MpiTest, AllRanksAreRestartedTogether) {
  MusterCommand muster(Run({"--nproc-per-node=2", "--max-restarts=1", "--restart=group"},
                           {"mpi_rank", "kill-once"}));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), AllOf(HasSubstr("[0] rank 0 passed the barrier"),
                                               HasSubstr("[1] rank 1 passed the barrier")));
}

TEST_P(MpiTest, AnExitWithoutFinalizeEndsTheJob) {
  MusterCommand muster(Run({"--nproc-per-node=2", "--failure-wait=0s"}, {"mpi_rank", "exit"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("failed: rank 1 \\([^)]*\\) exited with status 0 before "
                            "MPI_Finalize\\(\\)"));
}

TEST_P(MpiTest, ARankThatNeverCallsInitEndsTheJob) {
  MusterCommand muster(Run({"--nproc-per-node=3", "--failure-wait=0s"}, {"mpi_rank", "absent"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("failed: rank 1 \\([^)]*\\) exited with status 0 (before MPI_Init|"
                            "without MPI_Init)"));
}

// Debian's MPICH 4.0 and Intel MPI refuse it themselves; MPICH 5 and Open MPI ask the launcher.
TEST_P(MpiTest, SpawnFails) {
  MusterCommand muster(Run({"--nproc-per-node=2"}, {"mpi_rank", "spawn"}));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(),
              AllOf(HasSubstr("[1] spawn: refused"), HasSubstr("[1] rank 1 passed the barrier")));
}

// MPICH 5 waits in the memory of the node, and the others in a barrier.
TEST_P(MpiTest, AStuckInitNamesTheMissingRank) {
  const std::string file = MakeTempDir() + "/go";
  MusterCommand muster(Run({"--nproc-per-node=3"}, {"mpi_rank", "late", file}));
  ASSERT_TRUE(muster.process().WaitForOutput(" for rank 1, which has not called "));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("muster: ranks 0,2 \\(node [^)]*\\) have waited 10s in (a barrier of "
                            "MPI|MPI_Init\\(\\)) for rank 1"));
  std::ofstream(file) << "";
  EXPECT_EQ(muster.process().Wait(), kSuccess);
}

using OpenMpiTest = MpiTest;
INSTANTIATE_TEST_SUITE_P(Libraries, OpenMpiTest, ::testing::Values(kDebiansOpenMpi, kOpenMpi),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(OpenMpiTest, RanksThatShareACpuLetEachOtherRun) {
  const OnOneCpu one_cpu;
  MusterCommand alone(Run({"--nproc-per-node=1"}, {"mpi_rank", "yields"}));
  EXPECT_EQ(alone.process().Wait(), kSuccess);
  EXPECT_THAT(alone.process().Output(), HasSubstr("yields: no\n"));
  MusterCommand two(Run({"--nproc-per-node=2"}, {"mpi_rank", "yields"}));
  EXPECT_EQ(two.process().Wait(), kSuccess);
  EXPECT_THAT(two.process().Output(),
              AllOf(HasSubstr("[0] yields: yes\n"), HasSubstr("[1] yields: yes\n")));
}

// ---- Programs of Python ----

// Runs a script of tests/client/launcher/pmi on four ranks. A script is not linked with an MPI.
MusterCommand RunPython(const std::string& script, const Library& library) {
  const bool pmix = std::string(library.name) == kOpenMpi.name;
  return MusterCommand({"run", "--nproc-per-node=4", pmix ? "--pmi=pmix" : "--pmi=on", "--",
                        "/usr/bin/python3", Runfile("tests/client/launcher/pmi/" + script)},
                       Environment(library));
}

class Mpi4pyTest : public ::testing::TestWithParam<Library> {};

INSTANTIATE_TEST_SUITE_P(Libraries, Mpi4pyTest, ::testing::Values(kMpich, kIntel, kOpenMpi),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Mpi4pyTest, ObjectsReachAllRanks) {
  if (Programs(GetParam()).empty()) GTEST_SKIP() << "tools/install-deps --mpi brings mpi4py";
  MusterCommand muster(RunPython("mpi4py_rank.py", GetParam()));
  EXPECT_EQ(muster.process().Wait(), kSuccess) << muster.process().Output();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(muster.process().Output(),
                HasSubstr(absl::StrCat("[", rank, "] rank ", rank, " of 4 has 0, 10, 20, 30\n")));
  }
}

TEST(NvshmemTest, TheBootstrapPluginMeets) {
  const std::string folder = InstalledFolder();
  if (folder.empty()) GTEST_SKIP() << "tools/install-deps --mpi brings NVSHMEM's plug-in";
  MusterCommand muster({"run", "--nproc-per-node=4", "--", "/usr/bin/python3",
                        Runfile("tests/client/launcher/pmi/nvshmem_rank.py"),
                        folder + "/nvshmem/nvshmem_bootstrap_pmi.so.3"});
  EXPECT_EQ(muster.process().Wait(), kSuccess) << muster.process().Output();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(muster.process().Output(),
                HasSubstr(absl::StrCat("[", rank, "] rank ", rank, " of 4 has 0, 10, 20, 30\n")));
  }
}

// ---- Without an MPI library ----

TEST(PmiTest, ARankHasNoDescriptorsOfOthers) {
  MusterCommand muster(
      RunShell({"--nproc-per-node=3"},
               "echo fd $PMI_FD of $PMI_RANK/$PMI_SIZE; for f in /proc/$$/fd/*; do "
               "readlink $f; done | grep -c ^socket:"));
  muster.process().Wait();
  const std::string output = muster.process().Output();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(output, HasSubstr(absl::StrCat("[", rank, "] 1\n")));
    EXPECT_THAT(output, ContainsRegex(absl::StrCat("\\[", rank, "\\] fd [0-9]+ of ", rank, "/3")));
  }
}

// Returns "muster run" with a script for bash. Its function `ask LINES` sends them to the PMI
// server and prints the first line of the answer.
std::vector<std::string> RunBash(std::vector<std::string> flags, const std::string& script) {
  flags.insert(flags.begin(), "run");
  for (const char* word : {"--", "bash", "-c"}) flags.push_back(word);
  flags.push_back(
      "ask() { printf \"$1\" >&$PMI_FD; read -r answer <&$PMI_FD; echo \"$answer\"; }; " + script);
  return flags;
}

TEST(PmiTest, SpawnIsRefused) {
  MusterCommand muster(
      RunBash({"--nproc-per-node=1"},
              "ask 'cmd=init pmi_version=1 pmi_subversion=1\\n'; "
              "ask 'mcmd=spawn\\nnprocs=1\\nexecname=a\\ntotspawns=1\\nspawnssofar=1\\nendcmd\\n'; "
              "ask 'cmd=finalize\\n'"));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(),
              AllOf(HasSubstr("[0] cmd=spawn_result rc=-1 msg=not_offered_by_muster_run\n"),
                    HasSubstr("asks for MPI_Comm_spawn(), which muster run does not offer: start "
                              "all ranks together, by --nproc-per-node")));
}

TEST(PmiTest, ARankThatSendsGarbageIsNamed) {
  MusterCommand muster(RunBash({"--nproc-per-node=2", "--failure-wait=0s"},
                               "[ $RANK = 1 ] || exec sleep 1003; ask 'hello\\n'; exit 0"));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("failed: rank 1 \\([^)]*\\) was killed by signal 9 \\(SIGKILL\\) after "
                            "it sent to PMI_FD what is not PMI-1: 'hello'"));
}

// ---- PMIx ----

class PmixTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Programs(kDebiansOpenMpi).empty()) {
      GTEST_SKIP() << "tools/install-deps brings Open MPI (libopenmpi-dev)";
    }
    setenv("HOME", MakeTempDir().c_str(), 1);  // Open MPI 5 does not start without
  }

  static std::string Program(const std::string& name) {
    return absl::StrCat(Programs(kDebiansOpenMpi), "/", name);
  }
};

// Returns a command of `muster` that has no libmuster_pmix.so.
std::unique_ptr<MusterCommand> WithoutLibrary(std::vector<std::string> arguments) {
  const std::string folder = MakeTempDir();
  std::filesystem::copy(Runfile("client/cli/muster"), folder + "/muster");
  arguments.insert(arguments.begin(), folder + "/muster");
  return MusterCommand::Wrapped(arguments, {});
}

TEST_F(PmixTest, WithoutTheLibraryAProgramOfOpenMpiIsAnnounced) {
  constexpr char kSaid[] =
      "/ring is linked with Open MPI (libmpi.so.40), which does not get its ranks from muster run "
      "here: each process is rank 0 of 1. libmuster_pmix.so is not ";
  const auto muster = WithoutLibrary({"run", "--nproc-per-node=2", "--", Program("ring")});
  EXPECT_EQ(muster->process().Wait(), kSuccess);
  EXPECT_THAT(muster->process().Output(),
              AllOf(HasSubstr(kSaid), HasSubstr("[1] rank 0 of 1: the ring says 0")));
  const auto alone = WithoutLibrary({"run", "--nproc-per-node=1", "--", Program("ring")});
  EXPECT_EQ(alone->process().Wait(), kSuccess);
  EXPECT_THAT(alone->process().Output(), Not(HasSubstr("Open MPI")));
}

TEST_F(PmixTest, WithoutTheLibraryPmixIsRefused) {
  const auto muster = WithoutLibrary({"run", "--nproc-per-node=2", "--pmi=pmix", "--", "true"});
  EXPECT_EQ(muster->process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(muster->process().Output(),
              HasSubstr("muster: --pmi=pmix: muster run cannot serve PMIx here: libmuster_pmix.so "
                        "is not "));
}

TEST_F(PmixTest, AScriptGetsPmixWithTheFlag) {
  MusterCommand muster(RunShell({"--nproc-per-node=2", "--pmi=pmix"}, "exec " + Program("ring")));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), AllOf(HasSubstr("[0] rank 0 of 2: the ring says 1"),
                                               HasSubstr("[1] rank 1 of 2: the ring says 1")));
}

// A rank's parent is the supervisor, which would load it.
TEST_F(PmixTest, TheLibraryIsLoadedOnlyForProgramsThatNeedIt) {
  for (const auto& [flag, loaded] : {std::pair("--pmi=on", "no"), std::pair("--pmi=pmix", "yes")}) {
    MusterCommand muster(RunShell(
        {"--nproc-per-node=1", flag},
        "if grep -q libpmix /proc/$PPID/maps; then echo loaded yes; else echo loaded no; fi"));
    EXPECT_EQ(muster.process().Wait(), kSuccess);
    EXPECT_THAT(muster.process().Output(), HasSubstr(absl::StrCat("loaded ", loaded)));
  }
}

TEST_F(PmixTest, OneWorldInsideAnother) {
  MusterCommand muster(RunShell({"--nproc-per-node=1", "--pmi=pmix"},
                                "exec $MUSTER run --nproc-per-node=2 -- " + Program("ring")));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr("[1] rank 1 of 2: the ring says 1"));
}

std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  return files;
}

TEST_F(PmixTest, NoFilesAreLeft) {
  const std::string folder = MakeTempDir();
  MusterCommand muster(
      {"run", "--nproc-per-node=2", "--failure-wait=0s", "--", Program("mpi_rank"), "kill"},
      {{"TMPDIR", folder}});
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(FilesBelow(folder), IsEmpty());
}

TEST_F(PmixTest, NoFilesAreLeftIfTheLauncherIsKilled) {
  const std::string folder = MakeTempDir();
  MusterCommand muster(
      {"run", "--nproc-per-node=2", "--", Program("mpi_rank"), "linger", MakeTempDir() + "/never"},
      {{"TMPDIR", folder}});
  ASSERT_TRUE(muster.process().WaitForOutput("[0] rank 0 passed the barrier"));
  EXPECT_THAT(FilesBelow(folder), Not(IsEmpty()));
  muster.process().Signal(SIGKILL);
  muster.process().Wait();
  EXPECT_TRUE(muster.WaitForNone());
  EXPECT_THAT(FilesBelow(folder), IsEmpty());
}

TEST_F(PmixTest, AStuckFenceNamesTheMissingRank) {
  if (!KnowsRanksInFences(kDebiansOpenMpi)) GTEST_SKIP() << "only Debian 12 has libpmix 4.2.2";
  const std::string file = MakeTempDir() + "/go";
  MusterCommand muster({"run", "--nproc-per-node=3", "--", Program("mpi_rank"), "linger", file});
  EXPECT_TRUE(muster.process().WaitForOutput(" in a barrier of MPI for rank 1, in MPI but not"));
  EXPECT_THAT(
      muster.process().Output(),
      ContainsRegex("muster: ranks 0,2 \\(node [^)]*\\) have waited 10s in a barrier of MPI "
                    "for rank 1, in MPI but not there"));
  std::ofstream(file) << "";
  EXPECT_EQ(muster.process().Wait(), kSuccess);
}

// Rank 1 is restarted while the server has a connection to rank 0.
TEST_F(PmixTest, ARankHasNoDescriptorsOfOthers) {
  const std::string file = MakeTempDir() + "/go";
  MusterCommand muster(RunShell(
      {"--nproc-per-node=2", "--pmi=pmix", "--max-restarts=1", "--restart=rank"},
      absl::StrCat("if [ $RANK = 1 ] && [ $MUSTER_RESTART_COUNT = 0 ]; then while [ ! -e ", file,
                   " ]; do sleep 0.01; done; exit 1; fi; for f in /proc/$$/fd/*; do readlink $f; "
                   "done | grep -c ^socket: ; exec ",
                   Program("mpi_rank"), " none")));
  ASSERT_TRUE(muster.process().WaitForOutput("rank 0 (node "));  // it waits in MPI_Init()
  std::ofstream(file) << "";
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(),
              AllOf(HasSubstr("[0] 0\n"), HasSubstr("[1] 0\n"), HasSubstr("restarted as pid")));
}

}  // namespace
}  // namespace muster::cli
