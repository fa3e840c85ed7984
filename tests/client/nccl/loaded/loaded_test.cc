// Tests of the tarball's libmuster.so on machines with other libraries of CUDA and NCCL. Ranks run
// tests/client/c/device_rank.c. The machine's libraries are a folder of links in LD_LIBRARY_PATH.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "muster/exit_code.h"
#include "tests/nccl/libraries.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr char kCuda12[] = "tests/nccl/cuda/lib12/libcudart.so.12";
constexpr char kCuda12_0[] = "tests/nccl/cuda/lib12_0/libcudart.so.12";
constexpr char kCuda13[] = "tests/nccl/cuda/lib/libcudart.so.13";
constexpr char kDriver[] = "tests/nccl/cuda/libcuda/libcuda.so.1";
constexpr char kFakeNccl[] = "tests/nccl/fake/libnccl.so.2";

// Returns the file itself, since links of links may be relative to another folder.
std::string File(const std::string& runfile) {
  char* const path = realpath(Runfile(runfile).c_str(), nullptr);
  const std::string file = path == nullptr ? "" : path;
  std::free(path);
  return file;
}

// Returns the NCCL under test: the fake, or NCCL's own host code.
std::string Nccl() {
  if (NcclUnderTest().empty()) return kFakeNccl;
  return absl::StrCat("../nccl_", absl::StrReplaceAll(NcclUnderTest(), {{".", "_"}}),
                      "/libnccl.so.2");
}

// The folder of a machine's libraries, with libmuster.so.0.
class Machine {
 public:
  Machine() {
    Link("libmuster.so.0", "client/shared/portable/libmuster.so");
    Link("libnvidia-ml.so.1", "tests/nccl/cuda/lib/libnvidia-ml.so.1");
  }

  // Installs a library under a name.
  Machine& Link(const std::string& name, const std::string& library) {
    EXPECT_EQ(symlink(File(library).c_str(), PathOf(name).c_str()), 0) << name;
    return *this;
  }

  // Installs a CUDA runtime. The test's NCCL asks for libcudart.so.13. Since the loader knows one
  // file by one name, both names mean the same runtime.
  Machine& LinkCuda(const std::string& runtime) {
    Link("libcudart.so.13", runtime);
    return runtime == kCuda13 ? *this : Link("libcudart.so.12", runtime);
  }

  // Installs a file that is no library, as after a copy that has failed.
  Machine& Break(const std::string& name) {
    std::ofstream(PathOf(name)).flush();
    return *this;
  }

  std::string PathOf(const std::string& name) const { return absl::StrCat(folder_, "/", name); }

  // Runs a job of two ranks.
  Ranks Run(const Args& arguments, Variables env = {}) const {
    env.merge(NcclVariables());
    env["LD_LIBRARY_PATH"] = folder_;
    Args command = {"tests/client/nccl/loaded/device_rank"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return Ranks(2, 2, command, env);
  }

 private:
  const std::string folder_ = MakeTempDir();
};

void ExpectSuccess(const Ranks& ranks) {
  EXPECT_THAT(ranks.exits(), Each(kSuccess)) << ranks.output(0) << ranks.output(1);
}

// Expects that both ranks refuse the machine, and returns what the first one says.
std::string Refusal(const Machine& machine) {
  const Ranks ranks = machine.Run({"libcudart.so.13"});
  EXPECT_THAT(ranks.exits(), Each(Exit{false, kExitUnhealthyNode})) << ranks.output(0);
  EXPECT_THAT(ranks.output(0), HasSubstr("the backend 'nccl', which cannot be used here: "));
  return ranks.output(0);
}

TEST(LoadedTest, Cuda13) {
  Machine machine;
  machine.LinkCuda(kCuda13).Link("libnccl.so.2", Nccl());
  ExpectSuccess(machine.Run({"libcudart.so.13"}));
}

TEST(LoadedTest, Cuda12) {
  Machine machine;
  machine.LinkCuda(kCuda12).Link("libnccl.so.2", Nccl());
  ExpectSuccess(machine.Run({"libcudart.so.12"}));
}

TEST(LoadedTest, ALossEndsAnOperation) {
  Machine machine;
  machine.LinkCuda(kCuda12).Link("libnccl.so.2", Nccl());
  const Ranks ranks = machine.Run({"libcudart.so.12", "die"});
  EXPECT_EQ(ranks.exit(0), (Exit{false, kExitPeerLost})) << ranks.output(0);
  EXPECT_THAT(ranks.output(0), HasSubstr("rank 1 (node 'node-0', host "));
}

// The runtime of CUDA 12.0 cannot tell where the driver's functions are.
TEST(LoadedFakeTest, Cuda12_0FindsTheDriverByItsLibrary) {
  Machine machine;
  machine.LinkCuda(kCuda12_0).Link("libnccl.so.2", Nccl()).Link("libcuda.so.1", kDriver);
  ExpectSuccess(machine.Run({"libcudart.so.12"}));
}

// The rank has loaded CUDA 13 before it makes its communicator. CUDA 12 is there, too, and would
// know nothing of the rank's memory.
TEST(LoadedFakeTest, TheRuntimeOfTheProgramIsUsed) {
  Machine machine;
  machine.LinkCuda(kCuda13).Link("libcudart.so.12", kCuda12).Link("libnccl.so.2", Nccl());
  ExpectSuccess(machine.Run({"libcudart.so.13", "early"}));
}

TEST(LoadedFakeTest, AMissingRuntimeIsNamed) {
  Machine machine;
  machine.Break("libcudart.so.12").Break("libcudart.so.13").Link("libnccl.so.2", Nccl());
  EXPECT_THAT(Refusal(machine),
              AllOf(HasSubstr(absl::StrCat("the CUDA runtime cannot be loaded: ",
                                           machine.PathOf("libcudart.so.12"), ": file too short; ",
                                           machine.PathOf("libcudart.so.13"), ": file too short")),
                    HasSubstr("install CUDA 12 or 13"), HasSubstr("LD_LIBRARY_PATH")));
}

TEST(LoadedFakeTest, AMissingNcclIsNamed) {
  Machine machine;
  machine.LinkCuda(kCuda12).Break("libnccl.so.2");
  EXPECT_THAT(Refusal(machine),
              AllOf(HasSubstr("NCCL cannot be loaded: "), HasSubstr("libnccl.so.2: file too short"),
                    HasSubstr("install NCCL 2.22 or newer"), HasSubstr("LD_LIBRARY_PATH")));
}

TEST(LoadedFakeTest, AnOldNcclIsNamed) {
  Machine machine;
  machine.LinkCuda(kCuda12).Link("libnccl.so.2", "tests/client/nccl/loaded/old/libnccl.so.2");
  EXPECT_THAT(Refusal(machine),
              HasSubstr(absl::StrCat("NCCL 2.18.5 (", machine.PathOf("libnccl.so.2"),
                                     ") is too old: Muster needs 2.22.0")));
}

TEST(LoadedFakeTest, MissingFunctionsAreNamed) {
  Machine nccl;
  nccl.LinkCuda(kCuda12).Link("libnccl.so.2", "tests/client/nccl/loaded/part/libnccl.so.2");
  EXPECT_THAT(Refusal(nccl),
              AllOf(HasSubstr("NCCL 2.28.9 ("), HasSubstr(" lacks ncclAllGather and 18 others")));
  Machine cuda;
  cuda.LinkCuda("tests/client/nccl/loaded/part/libnccl.so.2").Link("libnccl.so.2", Nccl());
  EXPECT_THAT(Refusal(cuda),
              HasSubstr(absl::StrCat("the CUDA runtime ", cuda.PathOf("libcudart.so.12"),
                                     " lacks cudaEventCreateWithFlags and ")));
}

TEST(LoadedFakeTest, AMachineWithoutADriverIsNamed) {
  Machine machine;
  machine.LinkCuda(kCuda12).Link("libnccl.so.2", Nccl());
  const Ranks ranks = machine.Run({"libcudart.so.12"}, {{"FAKE_CUDA_DRIVER", "old"}});
  EXPECT_THAT(ranks.output(0), HasSubstr("no usable GPU: the NVIDIA driver is missing, or older"));
}

}  // namespace
}  // namespace muster::testing
