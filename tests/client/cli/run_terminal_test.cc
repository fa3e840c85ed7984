// Tests of `muster run` on a terminal, and of the pseudo-terminals that it gives its ranks.

#include <signal.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Exit kSuccess = {false, 0};

// Runs "$MUSTER run arguments..." on a terminal of 100 columns, and prints its output without the
// '\r' before each '\n'. When the output asks for it, makes the terminal 70 columns wide, or
// presses Ctrl-C.
constexpr char kTerminal[] = R"(
import fcntl, os, pty, struct, sys, termios

def resize(columns):
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))

actions = {b'please resize': lambda: resize(70),
           b'please press Ctrl-C': lambda: os.write(master, b'\x03')}
master, slave = pty.openpty()
resize(100)
pid = os.fork()
if pid == 0:
    os.login_tty(slave)
    os.execv(os.environ['MUSTER'], ['muster', 'run'] + sys.argv[1:])
os.close(slave)
seen = b''
unwritten = b''
while True:
    try:
        chunk = os.read(master, 65536)
    except OSError:
        break
    seen += chunk
    for text in [text for text in actions if text in seen]:
        actions.pop(text)()
    unwritten += chunk
    split = unwritten.endswith(b'\r')  # a read may end within '\r\n'
    os.write(1, (unwritten[:-1] if split else unwritten).replace(b'\r\n', b'\n'))
    unwritten = b'\r' if split else b''
os.write(1, unwritten)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
)";

std::unique_ptr<MusterCommand> OnTerminal(const std::vector<std::string>& flags,
                                          const std::vector<std::string>& program,
                                          std::map<std::string, std::string> env = {}) {
  std::vector<std::string> argv = {"python3", "-c", kTerminal};
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.push_back("--");
  argv.insert(argv.end(), program.begin(), program.end());
  return MusterCommand::Wrapped(argv, std::move(env));
}

std::vector<std::string> Shell(const std::string& script) { return {"sh", "-c", script}; }

std::vector<std::string> RunPython(std::vector<std::string> flags, const std::string& script) {
  flags.insert(flags.begin(), "run");
  for (const char* word : {"--", "python3", "-c"}) flags.push_back(word);
  flags.push_back(script);
  return flags;
}

constexpr char kPrintTerminals[] =
    "for fd in 0 1 2; do test -t $fd && echo $fd is a terminal || echo $fd is none; done";

TEST(RunTerminalTest, RanksGetTerminalsIfTheLauncherHasOne) {
  const auto muster = OnTerminal({}, Shell(kPrintTerminals));
  EXPECT_EQ(muster->process().Wait(), kSuccess);
  EXPECT_EQ(WithoutCoordinator(muster->process().Output()),
            "[0] 0 is none\n[0] 1 is a terminal\n[0] 2 is a terminal\n");
}

TEST(RunTerminalTest, NoPtyGivesRanksPipes) {
  const auto muster = OnTerminal({"--no-pty"}, Shell(kPrintTerminals));
  EXPECT_EQ(muster->process().Wait(), kSuccess);
  EXPECT_EQ(WithoutCoordinator(muster->process().Output()),
            "[0] 0 is none\n[0] 1 is none\n[0] 2 is none\n");
}

TEST(RunTerminalTest, PtyGivesRanksTerminalsEverywhere) {
  MusterCommand muster(RunShell({"--pty"}, kPrintTerminals));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_EQ(WithoutCoordinator(muster.process().Output()),
            "[0] 0 is none\n[0] 1 is a terminal\n[0] 2 is a terminal\n");
}

TEST(RunTerminalTest, PtyAndNoPtyConflict) {
  MusterCommand muster(RunShell({"--pty", "--no-pty"}, "true"));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 64}));
  EXPECT_THAT(muster.process().Output(), HasSubstr("--pty cannot be combined with --no-pty"));
}

constexpr char kPrintAndDie[] = "import os; print('begun'); os.kill(os.getpid(), 9)";

TEST(RunTerminalTest, AKilledPythonRankLosesNoOutput) {
  MusterCommand muster(RunPython({}, kPrintAndDie));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(muster.process().Output(), HasSubstr("[0] begun\n"));
}

// Python takes an empty PYTHONUNBUFFERED for an unset one.
TEST(RunTerminalTest, ThePtyMakesProgramsFlushLines) {
  MusterCommand on_pipes(RunPython({}, kPrintAndDie), {{"PYTHONUNBUFFERED", ""}});
  EXPECT_EQ(on_pipes.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(on_pipes.process().Output(), Not(HasSubstr("begun")));
  MusterCommand on_terminals(RunPython({"--pty"}, kPrintAndDie), {{"PYTHONUNBUFFERED", ""}});
  EXPECT_EQ(on_terminals.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(on_terminals.process().Output(), HasSubstr("[0] begun\n"));
}

TEST(RunTerminalTest, RanksGetTheTerminalsSizeLessThePrefix) {
  const auto muster = OnTerminal({}, {"python3", "-c", R"(
import os, signal
columns = lambda: os.get_terminal_size(1).columns
print('at first', columns())
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print('please resize')
signal.sigwait([signal.SIGWINCH])
print('then', columns(), os.get_terminal_size(1).lines)
)"});
  EXPECT_EQ(muster->process().Wait(), kSuccess);
  EXPECT_EQ(WithoutCoordinator(muster->process().Output()),
            "[0] at first 96\n[0] please resize\n[0] then 66 24\n");
}

TEST(RunTerminalTest, CtrlCReachesARankOnceThroughTheLauncher) {
  const auto muster = OnTerminal(
      {"--no-prefix"}, Shell("trap 'n=1; echo interrupted' INT; echo please press Ctrl-C; "
                             "until [ $n ]; do sleep 0.01; done; "
                             "sleep 0.01; exit 5"));
  EXPECT_EQ(muster->process().Wait(), (Exit{false, 5}));
  const std::string output = muster->process().Output();
  EXPECT_THAT(output, HasSubstr("muster: got SIGINT; passing it on to rank 0"));
  const std::vector<std::string> parts = absl::StrSplit(output, "interrupted\n");
  EXPECT_THAT(parts, SizeIs(2));
}

// The controlling terminal stays the user's, so /dev/tty works as without a launcher.
TEST(RunTerminalTest, ThePtyIsNoRanksControllingTerminal) {
  const auto muster = OnTerminal({}, {"python3", "-c", R"(
import os
try:
    os.tcgetpgrp(1)
except OSError as error:
    print(error.strerror)
print(os.getsid(0) != os.getpid())
)"});
  EXPECT_EQ(muster->process().Wait(), kSuccess);
  EXPECT_EQ(WithoutCoordinator(muster->process().Output()),
            "[0] Inappropriate ioctl for device\n[0] True\n");
}

TEST(RunTerminalTest, AProcessThatHoldsThePtyBlocksNothing) {
  MusterCommand muster(RunShell({"--pty"}, "sleep 1001 & echo ended"));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_EQ(WithoutCoordinator(muster.process().Output()), "[0] ended\n");
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(RunTerminalTest, OutputIsCompleteAndUnchanged) {
  constexpr int kLines = 5000;
  const std::string directory = MakeTempDir();
  MusterCommand muster(
      RunShell({"--pty", "--nproc-per-node=2", absl::StrCat("--log-dir=", directory)},
               absl::StrCat("i=0; while [ $i -lt ", kLines,
                            " ]; do echo line $i; i=$((i + 1)); done; printf '\\000\\377\\004'")));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  std::string expected;
  for (int i = 0; i < kLines; ++i) absl::StrAppend(&expected, "line ", i, "\n");
  expected += std::string("\0\377\004", 3);
  EXPECT_EQ(ReadFile(directory + "/rank-0.log"), expected);
  EXPECT_EQ(ReadFile(directory + "/rank-1.log"), expected);
  EXPECT_THAT(SortedLines(muster.process().Output()), SizeIs(2 * kLines + 3));
}

TEST(RunTerminalTest, BothStreamsKeepTheirOrder) {
  MusterCommand muster(RunShell({"--pty"}, "echo 1; echo 2 >&2; echo 3; echo 4 >&2"));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_EQ(WithoutCoordinator(muster.process().Output()), "[0] 1\n[0] 2\n[0] 3\n[0] 4\n");
}

}  // namespace
}  // namespace muster::cli
