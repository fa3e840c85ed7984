// Runs programs of MPICH's own test suite by `muster run`, on one node and on two. They are
// test/mpi of MPICH's release; tools/install-mpich-tests brings them, of the installed version.
// Each checks what it does itself. docs/doors.md says which others were tried.

#include <limits.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"
#include "tests/client/cli/two_nodes.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using muster::testing::Process;
using muster::testing::Runfile;
using ::testing::HasSubstr;

constexpr Exit kSuccess = {false, 0};
constexpr char kPassed[] = "[0]  No Errors\n";

// A program, and with how many ranks the suite runs it.
struct Program {
  const char* name;  // of its source, below test/mpi
  int ranks;
};

void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

constexpr Program kPrograms[] = {
    // The world as the launcher describes it, and its end.
    {"attr/attrt", 2},
    {"attr/attric", 4},
    {"attr/attrend", 4},
    {"errhan/commcall", 2},
    {"errhan/predef_eh", 2},

    // Communicators and groups: contexts that all ranks agree on, the ranks of a node.
    {"comm/cmsplit", 4},
    {"comm/cmsplit_type", 4},
    {"comm/comm_create_group", 4},
    {"comm/comm_group_half", 4},
    {"comm/comm_idup", 4},
    {"comm/commname", 4},
    {"comm/dup_with_info", 4},
    {"comm/ic1", 4},
    {"comm/probe_intercomm", 2},
    {"group/groupcreate", 4},
    {"group/groupnullincl", 4},
    {"topo/cartmap1", 4},
    {"topo/dgraph_unwgt", 4},
    {"topo/graphcr2", 4},

    // Messages between all pairs of ranks, small and large.
    {"pt2pt/anyall", 2},
    {"pt2pt/eagerdt", 2},
    {"pt2pt/icsend", 4},
    {"pt2pt/isendrecv", 4},
    {"pt2pt/manylmt", 2},
    {"pt2pt/mprobe", 2},
    {"pt2pt/probe_unexp", 4},
    {"pt2pt/rcancel", 2},
    {"pt2pt/sendall", 4},
    {"datatype/concurrent_irecv", 3},
    {"datatype/tresized2", 2},

    // Collectives.
    {"coll/bcastzerotype", 4},
    {"coll/coll4", 4},
    {"coll/coll13", 4},
    {"coll/gather2", 4},
    {"coll/iallred", 2},
    {"coll/ibarrier", 2},
    {"coll/icbcast", 4},
    {"coll/neighb_allgather", 4},
    {"coll/nonblocking2", 4},
    {"coll/opsum", 4},
    {"coll/p_barrier", 2},
    {"coll/red_scat_block2", 4},
    {"coll/scantst", 4},

    // Memory of other ranks, which ranks of a node share.
    {"rma/compare_and_swap", 4},
    {"rma/lockopts", 2},
    {"rma/putfidx", 4},
    {"rma/win_shared", 4},
    {"rma/winname", 2},

    // Calls that must fail without an end of the world.
    {"errors/coll/rerr", 2},
    {"errors/comm/cfree", 4},
    {"errors/pt2pt/truncmsg1", 2},
};

// ---- Compiling ----

// Returns the folder of test/mpi.
std::string Suite() {
  char path[PATH_MAX];
  if (realpath(Runfile("../mpich_tests/installed").c_str(), path) == nullptr) return "";
  const std::string versions = path;
  return versions.substr(0, versions.rfind('/'));
}

bool Compile(const std::string& command) {
  const auto compiler = Process::Start({"sh", "-c", command});
  const bool compiled = compiler->Wait() == kSuccess;
  EXPECT_TRUE(compiled) << command << "\n" << compiler->Output();
  return compiled;
}

std::string CompilerFlags() {
  const std::string conf = Runfile("tests/client/cli/mpich/mpitestconf.h");
  return absl::StrCat("-w -O0 -I", conf.substr(0, conf.rfind('/')), " -I", Suite(), "/include");
}

// Compiles what all programs share: idle.so, and objects.
bool CompileShared(const std::string& folder) {
  return Compile(absl::StrCat("gcc -shared -fPIC -O1 -o ", folder, "/idle.so ",
                              Runfile("tests/client/cli/mpich/idle.c"), " -ldl")) &&
         Compile(absl::StrCat("cd ", folder, " && mpicc.mpich ", CompilerFlags(), " -c ", Suite(),
                              "/util/mtest.c ", Suite(), "/util/mtest_common.c ", Suite(),
                              "/util/mtest_single.c"));
}

// Returns the folder of what is compiled, with what all programs share; "" if it cannot be.
const std::string& CompiledFolder() {
  static const std::string& folder = *new std::string([] {
    const std::string made = MakeTempDir();
    return CompileShared(made) ? made : "";
  }());
  return folder;
}

// Returns the compiled program, or "".
std::string Compiled(const Program& program) {
  const std::string& folder = CompiledFolder();
  if (folder.empty()) return "";
  const std::string file =
      absl::StrCat(folder, "/", absl::StrReplaceAll(program.name, {{"/", "_"}}));
  const bool is_there = access(file.c_str(), X_OK) == 0;
  return is_there || Compile(absl::StrCat("mpicc.mpich ", CompilerFlags(), " -o ", file, " ",
                                          Suite(), "/", program.name, ".c ", folder, "/*.o -lm"))
             ? file
             : "";
}

// ---- Running ----

class MpichSuiteTest : public ::testing::TestWithParam<Program> {
 protected:
  void SetUp() override {
    program_ = Compiled(GetParam());
    if (program_.empty()) GTEST_FAIL() << "the program cannot be compiled";
  }

  // Returns the program with idle.so. `muster` itself must not have that, because a sanitizer has
  // to be loaded first.
  std::vector<std::string> Command() const {
    return {"env", absl::StrCat("LD_PRELOAD=", CompiledFolder(), "/idle.so"), program_};
  }

 private:
  std::string program_;
};

INSTANTIATE_TEST_SUITE_P(Programs, MpichSuiteTest, ::testing::ValuesIn(kPrograms),
                         [](const auto& info) {
                           return absl::StrReplaceAll(info.param.name, {{"/", "_"}});
                         });

TEST_P(MpichSuiteTest, PassesOnOneNode) {
  std::vector<std::string> words = {"run", absl::StrCat("--nproc-per-node=", GetParam().ranks),
                                    "--"};
  for (const std::string& word : Command()) words.push_back(word);
  MusterCommand muster(words);
  EXPECT_EQ(muster.process().Wait(kPatience), kSuccess) << muster.process().Output();
  EXPECT_THAT(muster.process().Output(), HasSubstr(kPassed));
}

TEST_P(MpichSuiteTest, PassesOnTwoNodes) {
  const int on_first = (GetParam().ranks + 1) / 2;
  TwoNodes nodes(absl::StrCat(on_first, ",", GetParam().ranks - on_first), {}, Command());
  nodes.ExpectSuccess();
  EXPECT_THAT(nodes.At(0).Output(), HasSubstr(kPassed));
}

}  // namespace
}  // namespace muster::cli
