// Tests of what the kernel shows of processes. tests/fault has the ways in which ranks hang.

#include "client/observe/process_sampler.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/observe/bundle/bundle.h"
#include "client/observe/helper_program.h"
#include "client/observe/idle_sampler.h"
#include "client/observe/proc/locks.h"
#include "client/observe/proc/sockets.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"
#include "tests/util/process/wall_clock.h"

namespace muster::observe {
namespace {

using muster::testing::Process;
using muster::testing::WaitUntil;
using ::testing::HasSubstr;

char StateOf(pid_t pid) {
  const auto stat = ThreadStatOf(pid, pid);
  return stat ? stat->state : '?';
}

// Waits until a sleep(1) that was just started sleeps. Returns false after a time-out.
bool FallsAsleep(pid_t pid) {
  return WaitUntil(
      [&] { return ProcessSampler(pid).Take(absl::Milliseconds(1)).call == "clock_nanosleep"; });
}

// A process that the test can put into state D, where signals do not reach it, as a slow disk
// would. It is the parent of a vfork() whose child does not go on, and it ends when it leaves that
// state.
class StuckProcess {
 public:
  StuckProcess() : folder_(muster::testing::MakeTempDir()) {
    mkfifo(begin().c_str(), 0600);
    mkfifo(end().c_str(), 0600);
    begin_ = open(begin().c_str(), O_RDWR | O_CLOEXEC);
    end_ = open(end().c_str(), O_RDWR | O_CLOEXEC);
    pid_ = fork();
    if (pid_ == 0) Be();
  }
  ~StuckProcess() {
    End();
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(begin_);
    close(end_);
  }
  pid_t pid() const { return pid_; }
  const std::string& folder() const { return folder_; }
  // Returns the path of a fifo. A byte in it makes the process stuck.
  std::string begin() const { return folder_ + "/begin"; }
  std::string end() const { return folder_ + "/end"; }
  void Begin() const { EXPECT_EQ(write(begin_, "x", 1), 1); }
  void End() const { EXPECT_EQ(write(end_, "x", 1), 1); }

 private:
  [[noreturn]] void Be() const {
    char byte = 0;
    if (read(begin_, &byte, 1) != 1) _exit(1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    if (vfork() == 0) {  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
#pragma GCC diagnostic pop
      [[maybe_unused]] const ssize_t size = read(end_, &byte, 1);
      _exit(0);
    }
    _exit(0);
  }

  const std::string folder_;
  int begin_ = -1;
  int end_ = -1;
  pid_t pid_ = -1;
};

// A program of this name that comes first in PATH while the object lives.
class FakeProgram {
 public:
  FakeProgram(const std::string& name, const std::string& script)
      : path_(std::getenv("PATH")), folder_(muster::testing::MakeTempDir()) {
    const std::string file = absl::StrCat(folder_, "/", name);
    std::ofstream(file) << "#!/bin/sh\n" << script;
    chmod(file.c_str(), 0700);
    setenv("PATH", absl::StrCat(folder_, ":", path_).c_str(), 1);
  }
  ~FakeProgram() { setenv("PATH", path_.c_str(), 1); }

 private:
  const std::string path_;
  const std::string folder_;
};

TEST(ProcessSamplerTest, AnEndedProcess) {
  EXPECT_EQ(ProcessSampler(1 << 30).Take(absl::ZeroDuration()).condition, ProcessCondition::kEnded);
}

TEST(ProcessSamplerTest, FollowsAShellToItsChild) {
  auto shell = Process::Start({"sh", "-c", "sleep 1000; true"});
  EXPECT_TRUE(WaitUntil([&] { return WorkerOf(shell->pid()) != shell->pid(); }));
  EXPECT_TRUE(FallsAsleep(WorkerOf(shell->pid())));
}

TEST(ProcessSamplerTest, IdleTimeIsKnownFromTheSecondSample) {
  auto sleeper = Process::Start({"sleep", "1000"});
  const pid_t pid = sleeper->pid();
  ASSERT_TRUE(FallsAsleep(pid));
  IdleTracker tracker;
  const absl::Time start = absl::FromUnixSeconds(1000);
  EXPECT_FALSE(tracker.IdleTime(pid, start).has_value());
  tracker.Update({{pid, RunCountOf(pid, pid)}}, start);
  tracker.Update({{pid, RunCountOf(pid, pid)}}, start + absl::Seconds(5));
  EXPECT_EQ(tracker.IdleTime(pid, start + absl::Seconds(60)), absl::Minutes(1));
}

TEST(ProcessSamplerTest, IdleSamplerFindsIdleProcesses) {
  auto sleeper = Process::Start({"sleep", "1000"});
  const pid_t pid = sleeper->pid();
  ASSERT_TRUE(FallsAsleep(pid));
  IdleSampler idle_sampler;
  idle_sampler.Sample({1 << 30, pid});
  idle_sampler.Sample({1 << 30, pid});
  EXPECT_GE(idle_sampler.tracker().IdleTime(pid, absl::Now() + absl::Minutes(2)), absl::Minutes(1));
  EXPECT_FALSE(
      idle_sampler.tracker().IdleTime(1 << 30, absl::Now() + absl::Minutes(1)).has_value());
  idle_sampler.Sample({});
  EXPECT_FALSE(idle_sampler.tracker().IdleTime(pid, absl::Now() + absl::Minutes(1)).has_value());
}

TEST(ProcessSamplerTest, AThreadThatRunsInBetweenIsNotStuck) {
  const StuckProcess process;
  EXPECT_FALSE(StuckThread(process.pid(), absl::ZeroDuration()).has_value());
  process.Begin();
  std::optional<ThreadStat> stuck;
  ASSERT_TRUE(WaitUntil([&] {
    stuck = StuckThread(process.pid(), absl::Milliseconds(10));
    return stuck.has_value();
  }));
  ThreadStat earlier = *stuck;
  EXPECT_EQ(earlier, *stuck);
  earlier.runs = "voluntary_ctxt_switches:\t0\n";
  EXPECT_FALSE(earlier == *stuck) << "it has run for less than a tick";
}

// While a debugger of ours holds a process, its state says nothing. If another debugger holds it,
// that is reported.
TEST(ProcessSamplerTest, IgnoresStopsByItsOwnHelper) {
  auto sleeper = Process::Start({"sleep", "1000"});
  const pid_t pid = sleeper->pid();
  const std::string pipe = muster::testing::MakeTempDir() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::vector<std::string> debugger = {
      "python3", "-c",
      absl::StrCat("import ctypes; ctypes.CDLL(None).ptrace(16, ", pid, ", 0, 0); open('", pipe,
                   "').read()")};
  std::thread helper([&] { EXPECT_TRUE(RunHelper(debugger, absl::Minutes(5), 1000).ok()); });
  EXPECT_TRUE(WaitUntil([&] { return StateOf(pid) == 't'; }));
  ProcessSampler held(pid);
  EXPECT_EQ(held.Take(absl::ZeroDuration()).condition, ProcessCondition::kUnknown);
  EXPECT_TRUE(held.held());
  std::ofstream(pipe).close();
  helper.join();
  sleeper->Signal(SIGCONT);
  EXPECT_TRUE(WaitUntil([&] { return StateOf(pid) == 'S'; }));
  auto theirs = Process::Start(debugger);
  EXPECT_TRUE(WaitUntil([&] { return StateOf(pid) == 't'; }));
  ProcessSampler sampler(pid);
  EXPECT_EQ(sampler.Take(absl::ZeroDuration()).condition, ProcessCondition::kTraced);
  EXPECT_FALSE(sampler.held());
}

// A child process that does `what` until it is killed. The test looks at it.
class Child {
 public:
  template <typename F>
  explicit Child(F be) : pid_(fork()) {
    if (pid_ != 0) return;
    be();
    _exit(1);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

// If all ranks compute, the looking thread may have to wait for a processor.
TEST(ProcessSamplerTest, CpuUseIsMeasuredOverTheElapsedTime) {
  const Child child([] {
    while (true) {
    }
  });
  const auto ticks = [&child] { return ThreadStatOf(child.pid(), child.pid())->cpu_ticks; };
  const uint64_t before = ticks();
  ProcessSampler sampler(child.pid());
  EXPECT_TRUE(WaitUntil([&] { return ticks() >= before + 20; }));
  EXPECT_LE(sampler.Take(absl::Milliseconds(10)).cpu_percent, 115) << "of one processor";
}

TEST(ProcessSamplerTest, WithoutAMainThreadTheOtherThreadsDecide) {
  const std::string pipe = muster::testing::MakeTempDir() + "/shard-7";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  const Child child([&pipe] {
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void* path) -> void* {
          char byte = 0;
          return read(open(static_cast<const char*>(path), O_RDONLY), &byte, 1) == 1 ? path
                                                                                     : nullptr;
        },
        const_cast<char*>(pipe.c_str()));
    syscall(SYS_exit, 0);
  });
  const auto sample = [&child] { return ProcessSampler(child.pid()).Take(absl::Milliseconds(1)); };
  EXPECT_TRUE(WaitUntil([&] { return sample().target == pipe + ", a named pipe"; }));
  EXPECT_EQ(sample().condition, ProcessCondition::kSleeping);
  EXPECT_EQ(StateOf(child.pid()), 'Z');
  close(writer);
}

// Looking at a file must not wait for the server that the rank waits for. In this test, a process
// that makes a file-system call that may wait is killed.
TEST(ProcessSamplerTest, DescriptorsAreDescribedWithoutFileSystemCalls) {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    constexpr uint32_t kNumber = offsetof(seccomp_data, nr);
    constexpr uint32_t kFlags = offsetof(seccomp_data, args[2]);
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, AT_STATX_DONT_SYNC, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter = {sizeof(rules) / sizeof(rules[0]), rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(2);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(3);
    _exit(DescribeDescriptor(parent, file).empty() ? 4 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it has called stat()";
  close(file);
}

TEST(LocksTest, ADoubleLockWaitsForItself) {
  const Child child([] {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
  });
  const pid_t pid = child.pid();
  EXPECT_TRUE(WaitUntil([pid] { return FollowLocks(pid, pid).cycle; }));
  const ProcessSnapshot snapshot = ProcessSampler(pid).Take(absl::Milliseconds(1));
  EXPECT_TRUE(snapshot.dead_lock);
  EXPECT_THAT(snapshot.blocked_by, HasSubstr("the same one: it has locked that already"));
}

TEST(LocksTest, ContendingThreadsAreNotDeadlocked) {
  std::mutex mutex;
  std::atomic<bool> done{false};
  std::atomic<pid_t> tid{0};
  const auto take_turns = [&] {
    tid = gettid();
    while (!done) {
      const std::lock_guard<std::mutex> lock(mutex);
      for (std::atomic<int> work{0}; work < 20000; ++work) {
      }
    }
  };
  std::thread one(take_turns);
  std::thread other(take_turns);
  EXPECT_TRUE(WaitUntil([&] { return tid != 0; }));
  for (int sample = 0; sample < 2000; ++sample)
    ASSERT_FALSE(FollowLocks(getpid(), tid).cycle) << sample;
  done = true;
  one.join();
  other.join();
}

TEST(LocksTest, OnlyAJoinNamesTheThreadThatItWaitsFor) {
  std::atomic<int> word{getpid()};
  std::atomic<pid_t> waits{0};
  std::atomic<pid_t> joins{0};
  std::thread waiter([&] {
    waits = gettid();
    // A word of the program's own may have the value of a thread's id.
    while (word == getpid()) {
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, getpid(), nullptr, nullptr, 0);
    }
  });
  std::thread joiner([&] {
    joins = gettid();
    waiter.join();
  });
  const auto in_futex = [](pid_t tid) {
    const auto call = tid == 0 ? std::nullopt : SystemCallOf(getpid(), tid);
    return call && call->number == SYS_futex;
  };
  EXPECT_TRUE(WaitUntil([&] { return in_futex(waits) && in_futex(joins); }));
  EXPECT_EQ(AwaitedThread(getpid(), waits), std::nullopt);
  EXPECT_EQ(AwaitedThread(getpid(), joins), waits);
  word = 0;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  joiner.join();
}

TEST(SocketsTest, AddressesAreReadable) {
  EXPECT_EQ(ReadableAddress("0100007F:1BB8"), "127.0.0.1:7096");
  EXPECT_EQ(ReadableAddress("00000000000000000000000001000000:0050"), "[::1]:80");
  EXPECT_EQ(ReadableAddress("nonsense"), "nonsense");
}

TEST(HelperProgramTest, IsKilledAfterTheTimeoutWithItsChildren) {
  absl::StatusOr<HelperOutput> text;
  absl::Duration time = absl::Milliseconds(250);
  EXPECT_TRUE(WaitUntil([&] {  // it may not run so soon
    time *= 2;
    text = RunHelper({"sh", "-c", "echo begun; sleep 1000 & sleep 1000"}, time, 1000);
    return text.ok() && absl::StrContains(text->text, "begun\n");
  }));
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(text->killed);
  EXPECT_THAT(text->text, HasSubstr(absl::StrCat("had not ended after ", absl::FormatDuration(time),
                                                 " and was killed")));
}

TEST(HelperProgramTest, ReturnsBoundedOutput) {
  EXPECT_EQ(RunHelper({"echo", "all"}, absl::Minutes(1), 1000)->text, "all\n");
  EXPECT_EQ(RunHelper({"seq", "1000000"}, absl::Minutes(1), 4)->text, "1\n2\n");
  EXPECT_EQ(RunHelper({"no-such-program"}, absl::Minutes(1), 10).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(HelperProgramTest, AWallClockJumpKillsNoHelper) {
  const testing::JumpingWallClock clock;
  const absl::StatusOr<HelperOutput> output =
      RunHelper({"sh", "-c", "echo begun; sleep 0.1; echo ended"}, absl::Minutes(1), 1000);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_FALSE(output->killed);
  EXPECT_EQ(output->text, "begun\nended\n");
}

TEST(StackFilesTest, LeaveTheProcessAsItWas) {
  auto sleeper = Process::Start({"sleep", "1000"});
  ASSERT_TRUE(FallsAsleep(sleeper->pid()));
  StackFiles(sleeper->pid(), absl::Seconds(30));
  EXPECT_TRUE(WaitUntil([&] { return StateOf(sleeper->pid()) == 'S'; }));
  sleeper->Signal(SIGSTOP);
  ASSERT_TRUE(
      WaitUntil([&] { return ThreadStatOf(sleeper->pid(), sleeper->pid())->state == 'T'; }));
  StackFiles(sleeper->pid(), absl::Seconds(30));
  EXPECT_EQ(ThreadStatOf(sleeper->pid(), sleeper->pid())->state, 'T')
      << "who has stopped it continues it";
}

// Otherwise the debugger's signal would stop the process for good once the disk answers.
TEST(StackFilesTest, NoDebuggerIsAttachedToAProcessInStateD) {
  const StuckProcess process;
  process.Begin();
  ASSERT_TRUE(WaitUntil([&] { return StateOf(process.pid()) == 'D'; }));
  const FakeProgram gdb("gdb", "echo a stack");
  const std::vector<File> files = StackFiles(process.pid(), absl::Seconds(30));
  ASSERT_EQ(files.size(), 1u);
  EXPECT_THAT(files[0].content, HasSubstr("no debugger was attached: thread "));
}

TEST(StackFilesTest, AKilledDebuggerLeavesTheProcessRunning) {
  const StuckProcess process;
  ASSERT_TRUE(WaitUntil([&] { return StateOf(process.pid()) == 'S'; }));
  const FakeProgram gdb("gdb", absl::StrReplaceAll("echo > BEGIN\n"
                                                   "until grep -q '^State:.D' /proc/PID/status\n"
                                                   "do sleep 0.01; done\n"
                                                   "kill -STOP PID; echo stopped; sleep 1000\n",
                                                   {{"BEGIN", process.begin()},
                                                    {"PID", absl::StrCat(process.pid())}}));
  const std::vector<File> files = StackFiles(process.pid(), absl::Seconds(3));
  ASSERT_EQ(files.size(), 1u);
  EXPECT_THAT(files[0].content, HasSubstr("was killed"));
  process.Begin();  // if the debugger was killed before it got to that
  process.End();
  EXPECT_TRUE(WaitUntil([&] { return StateOf(process.pid()) == 'Z'; }))
      << "it is in state " << StateOf(process.pid());
}

}  // namespace
}  // namespace muster::observe
