// Tests of the muster command's help texts and of its usage errors.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string OutputOf(const std::vector<std::string>& arguments, int status,
                     const std::map<std::string, std::string>& env = {}) {
  MusterCommand muster(arguments, env);
  EXPECT_EQ(muster.process().Wait(), (Exit{false, status})) << muster.process().Output();
  return muster.process().Output();
}

TEST(HelpTest, NamesTheCommands) {
  EXPECT_THAT(OutputOf({"--help"}, 0), AllOf(HasSubstr("run "), HasSubstr("status ")));
  EXPECT_THAT(OutputOf({"--version"}, 0), StartsWith("muster 0."));
}

TEST(HelpTest, RunHelpNamesEveryFlagAndVariable) {
  const std::string help = OutputOf({"run", "--help"}, 0);
  for (const char* word : {"muster run [flags] [--] program",
                           "--nproc-per-node",
                           "--nnodes",
                           "--node-rank",
                           "--node-id",
                           "--bind-to",
                           "MUSTER_BIND_TO",
                           "--coordinator",
                           "--job",
                           "--master-port",
                           "--no-prefix",
                           "--log-dir",
                           "--debug-dir",
                           "--failure-wait",
                           "--grace",
                           "--musterd",
                           "--restart",
                           "MUSTER_RESTART",
                           "--pty",
                           "--no-pty",
                           "PYTHONUNBUFFERED",
                           "MUSTER_PROCESS_SECRET",
                           "MASTER_PORT",
                           "GROUP_RANK",
                           "127"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
}

TEST(HelpTest, StatusHelpNamesEveryFlag) {
  const std::string help = OutputOf({"status", "--help"}, 0);
  for (const char* word :
       {"--coordinator", "MUSTER_COORDINATOR", "--json", "--watch", "--token-file",
        "MUSTER_TOKEN_FILE", "--tls-ca", "--tls-cert", "--tls-key", "--tls-server-name"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
}

TEST(HelpTest, DebugHelpNamesEveryFlagAndTheRedaction) {
  const std::string help = OutputOf({"debug", "--help"}, 0);
  for (const char* word : {"--coordinator", "--job", "--output", "--wait", "--token-file",
                           "*SECRET*", "Exit status"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
}

TEST(HelpTest, NamesEveryCommand) {
  const std::string help = OutputOf({"--help"}, 0);
  for (const char* word : {"run", "status", "debug", "health", "token", "help", "version"})
    EXPECT_THAT(help, HasSubstr(word));
  EXPECT_THAT(OutputOf({"health", "--help"}, 0), HasSubstr("--timeout"));
}

TEST(HelpTest, FitsATerminal) {
  for (const char* command :
       {"", "run", "status", "debug", "health", "replay", "token", "completion", "help"}) {
    std::vector<std::string> arguments = {command, "--help"};
    if (arguments[0].empty()) arguments.erase(arguments.begin());
    const std::string help = OutputOf(arguments, 0);
    for (absl::string_view line : absl::StrSplit(help, '\n')) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(HelpTest, IsACommandToo) {
  EXPECT_EQ(OutputOf({"help"}, 0), OutputOf({"--help"}, 0));
  EXPECT_EQ(OutputOf({"help", "run"}, 0), OutputOf({"run", "--help"}, 0));
  EXPECT_EQ(OutputOf({"help", "help"}, 0), OutputOf({"help", "--help"}, 0));
  EXPECT_EQ(OutputOf({"version"}, 0), OutputOf({"--version"}, 0));
  EXPECT_THAT(OutputOf({"help", "rn"}, 64), HasSubstr("unknown command: rn; did you mean run?"));
}

TEST(ProgramTest, NeedsNoDashesAndFlagsMayHaveUnderscores) {
  const std::string ranks =
      OutputOf({"run", "--nproc_per_node=2", "--node_rank", "0", "sh", "-c", "echo $0 $RANK"}, 0);
  EXPECT_THAT(SortedLines(WithoutCoordinator(ranks)), ElementsAre("[0] sh 0", "[1] sh 1"));
  EXPECT_THAT(OutputOf({"run", "./no-such-program", "--epochs", "3"}, 127),
              HasSubstr("./no-such-program"));
}

TEST(VariableTest, AMisspeltVariableIsNamed) {
  const std::map<std::string, std::string> misspelt = {{"MUSTER_COORDINATR", "127.0.0.1:9"}};
  EXPECT_THAT(OutputOf({"health", "127.0.0.1:9"}, 1, misspelt),
              StartsWith("muster: the variable MUSTER_COORDINATR means nothing to Muster; did you "
                         "mean MUSTER_COORDINATOR?\n"));
  EXPECT_THAT(OutputOf({"health", "--help"}, 0, misspelt), Not(HasSubstr("COORDINATR ")));
}

struct Refusal {
  std::vector<std::string> arguments;
  std::string complaint;
};

class RefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, ExplainsTheErrorAndPointsToHelp) {
  const std::string output = OutputOf(GetParam().arguments, 64);
  EXPECT_THAT(output, StartsWith("muster: "));
  EXPECT_THAT(output, HasSubstr(GetParam().complaint));
  EXPECT_THAT(output, HasSubstr("--help'"));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    ::testing::Values(
        Refusal{{},
                "no command given; expected run, status, debug, health, replay, token, "
                "completion, help or version"},
        Refusal{{"start"}, "unknown command: start\n"},
        Refusal{{"rn"}, "unknown command: rn; did you mean run?"},
        Refusal{{"rn", "--", "true"}, "unknown command: rn; did you mean run?"},
        Refusal{{"satus", "--json"}, "did you mean status?"},
        Refusal{{"run", "--nproc", "4", "./train"},
                "unknown flag: --nproc; did you mean --nproc-per-node?\n"},
        Refusal{{"run", "--nproc_per_nod", "4", "train.py"}, "did you mean --nproc-per-node?"},
        Refusal{{"run", "--nproc-per-nod=4", "--", "true"}, "did you mean --nproc-per-node?"},
        Refusal{{"run", "--standalone", "--", "true"}, "--standalone; leave it out: without "},
        Refusal{{"run", "--rdzv_backend=c10d", "--", "true"},
                "leave it out: ranks meet at the coo"},
        Refusal{{"run", "--rdzv-endpoint=h:1", "--", "true"}, "did you mean --coordinator HOST:PO"},
        Refusal{{"run", "--master_addr=h", "--", "true"}, "did you mean --coordinator HOST:PORT"},
        Refusal{{"run", "--nnodes=1:4", "--", "true"},
                "--nnodes is '1:4'; expected one number, the nodes that are started."},
        Refusal{{"status", "--wacth"}, "did you mean --watch?"},
        Refusal{{"run"}, "no program given"}, Refusal{{"run", "--"}, "no program given"},
        Refusal{{"run", "./train", "--nproc_per_node=4"},
                "--nproc-per-node follows the program './train'; if it is a flag of muster run, "
                "put it before the program; if it is the program's own, put -- before the program"},
        Refusal{{"run", "./train", "--", "./other"},
                "it is unclear whether the program is './train' or what follows --; put the flags "
                "first"},
        Refusal{{"replay"}, "muster: give the journal: muster replay FILE\n"},
        Refusal{{"completion"}, "no shell given; give bash or zsh"},
        Refusal{{"status", "h:1", "g:1"}, "unknown argument: g:1"},
        Refusal{{"status", "--token_fil=x"}, "unknown flag: --token_fil=x; did you mean --token-f"},
        Refusal{{"run", "--frobnicate", "--", "true"}, "--frobnicate"},
        Refusal{{"run", "--nproc-per-node", "--", "true"}, "--nproc-per-node"},
        Refusal{{"run", "--nproc-per-node", "0", "--", "true"}, "--nproc-per-node is '0'"},
        Refusal{{"run", "--nproc-per-node", "-4", "--", "true"}, "--nproc-per-node is '-4'"},
        Refusal{{"run", "--nproc-per-node=x", "--", "true"}, "--nproc-per-node is 'x'"},
        Refusal{{"run", "--nnodes=2", "--node-rank=0", "--", "true"}, "which needs --coordinator"},
        Refusal{{"run", "--nnodes=2", "--node-rank=2", "--coordinator=h:1", "--", "true"},
                "--node-rank is '2'; expected a whole number from 0 to 1"},
        Refusal{{"run", "--coordinator", "", "--", "true"},
                "--coordinator: '' is not a valid address"},
        Refusal{{"run", "--coordinator", "h", "--", "true"},
                "--coordinator: 'h' is not a valid address"},
        Refusal{{"run", "--node-id", "", "--", "true"}, "--node-id is ''"},
        Refusal{{"run", "--job", "a\tb", "--", "true"}, "--job is 'a?b'"},
        Refusal{{"debug", "--", "true"}, "muster debug takes no program"},
        Refusal{{"status", "--frobnicate"}, "--frobnicate"},
        Refusal{{"status", "--", "true"}, "muster status takes no program"}));

TEST(DebugRefusalTest, MalformedWait) {
  EXPECT_THAT(OutputOf({"debug", "--coordinator=h:1", "--wait=soon"}, 64),
              HasSubstr("--wait is 'soon'; expected a duration of at most 10m"));
}

// This is no usage error: the job may just have ended.
TEST(StatusRefusalTest, NoCoordinator) {
  const std::map<std::string, std::string> nobody = {{"MUSTER_RUNTIME_DIR", "/no/such/folder"}};
  for (const char* command : {"status", "debug"}) {
    EXPECT_THAT(OutputOf({command}, 1, nobody),
                HasSubstr("no coordinator runs on this machine for this user; muster run starts "
                          "one, and HOST:PORT or MUSTER_COORDINATOR names one elsewhere"));
    EXPECT_THAT(OutputOf({command, "--job=train"}, 1, nobody),
                HasSubstr("no coordinator of a job 'train' runs on this machine"));
  }
}

TEST(CoordinatorAddressTest, NeedsNoFlag) {
  const std::map<std::string, std::string> other = {{"MUSTER_COORDINATOR", "127.0.0.1:10"}};
  for (const char* command : {"status", "debug", "health"}) {
    EXPECT_THAT(OutputOf({command, "127.0.0.1:9"}, 1, other),
                HasSubstr("the coordinator at 127.0.0.1:9"));
    EXPECT_THAT(OutputOf({command, "h:1", "--coordinator=h:1"}, 64),
                HasSubstr("the coordinator is given twice, as 'h:1' and by --coordinator"));
  }
  EXPECT_THAT(OutputOf({"status", "--watch", "head"}, 64), HasSubstr("--watch is 'head'"));
  EXPECT_THAT(OutputOf({"status", "--watch", "head:x"}, 64),
              HasSubstr("'head:x' is not a valid address"));
}

TEST(StatusRefusalTest, MalformedCoordinator) {
  EXPECT_THAT(OutputOf({"status", "--coordinator", "head"}, 64),
              HasSubstr("--coordinator: 'head' is not a valid address"));
  EXPECT_THAT(OutputOf({"status"}, 64, {{"MUSTER_COORDINATOR", "head:x"}}),
              HasSubstr("'head:x' is not a valid address"));
}

TEST(StatusRefusalTest, CoordinatorWithAScheme) {
  EXPECT_THAT(OutputOf({"status", "http://127.0.0.1:7370"}, 64),
              HasSubstr("'http://127.0.0.1:7370' is not a valid address: leave out http://; "));
}

TEST(StatusRefusalTest, MalformedInterval) {
  EXPECT_THAT(OutputOf({"status", "--coordinator=127.0.0.1:9", "--watch=often"}, 64),
              HasSubstr("--watch is 'often'; expected a duration"));
}

TEST(StatusRefusalTest, UnusableFiles) {
  EXPECT_THAT(OutputOf({"status", "--coordinator=127.0.0.1:9", "--token-file=/no/such/token"}, 64),
              StartsWith("muster: cannot read the token file '/no/such/token': "));
}

TEST(OutputTest, AFailedWriteIsAnError) {
  for (const char* command : {"token", "--version", "run --help"}) {
    const auto muster =
        MusterCommand::Wrapped({"sh", "-c", absl::StrCat("exec $MUSTER ", command, " >/dev/full")});
    EXPECT_EQ(muster->process().Wait(), (Exit{false, 1})) << command;
    EXPECT_THAT(muster->process().Output(), HasSubstr("standard output takes no more")) << command;
  }
}

TEST(StatusRefusalTest, UnreachableCoordinator) {
  EXPECT_THAT(OutputOf({"status", "--coordinator", "127.0.0.1:9"}, 1),
              AllOf(StartsWith("muster: no status from the coordinator at 127.0.0.1:9: "),
                    HasSubstr("check that musterd is running there")));
}

}  // namespace
}  // namespace muster::cli
