#include "tests/rank/interpreter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "muster/communicator.h"
#include "muster/error_facts.h"
#include "muster/job.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

constexpr int kError = 3;
constexpr int kElements = 1 << 20;
constexpr size_t kLargeBytes = 16 << 20;
constexpr int kTold = 20;  // how often reduce-until prints its count
constexpr absl::Duration kLong = absl::Minutes(2);

std::atomic<bool> told_to_stop{false};

bool Exists(const std::string& path) {
  struct stat ignored;
  return stat(path.c_str(), &ignored) == 0;
}

// Prints the error, and before it which ranks it says to programs are missing.
void PrintError(const absl::Status& status) {
  const ErrorFacts facts = FactsOf(status);
  if (!facts.missing_ranks.empty()) {
    Print(absl::StrCat("named: rank ", facts.rank.value_or(-1), ", node ", facts.node, ", pid ",
                       facts.pid.value_or(-1), ", missing ",
                       absl::StrJoin(facts.missing_ranks, " "), ", cause ", facts.cause));
  }
  Print(absl::StrCat("error: ", status.ToString(absl::StatusToStringMode::kWithNoExtraData)));
}

int Fail(const absl::Status& status) {
  PrintError(status);
  return kError;
}

class Rank {
 public:
  Rank(std::unique_ptr<Job> job, const Steps& more) : job_(std::move(job)), more_(more) {}

  // Does the step if it is for this rank.
  absl::Status Do(absl::string_view step) {
    const std::vector<absl::string_view> parts = absl::StrSplit(step, absl::MaxSplits(':', 1));
    int rank = 0;
    if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &rank)) {
      return rank == job_->rank() ? Do(parts[1]) : absl::OkStatus();
    }
    if (absl::ConsumePrefix(&step, "first:")) return job_->resumed() ? absl::OkStatus() : Do(step);
    const bool notes = absl::ConsumePrefix(&step, "note:");
    const bool goes_on = absl::ConsumePrefix(&step, "try:") || notes;
    const absl::Status status = DoNamed(step);
    if (status.ok() || !goes_on) return status;
    PrintError(status);
    failed_ |= notes;
    return absl::OkStatus();
  }

  void End() const {
    if (!quiet_ && !failed_) Say("is done");
  }
  bool failed() const { return failed_; }

 private:
  using OwnStep = absl::Status (Rank::*)(const std::string& argument);

  static const std::map<std::string, OwnStep>& OwnSteps() {
    static const auto* const kSteps = new std::map<std::string, OwnStep>{
        {"barrier", &Rank::Barrier},
        {"broadcast", &Rank::Broadcast},
        {"gather", &Rank::Gather},
        {"allgather", &Rank::AllGather},
        {"large", &Rank::LargeAllGather},
        {"connect", &Rank::Connect},
        {"allreduce", &Rank::AllReduce},
        {"reduce-until", &Rank::ReduceUntil},
        {"hold", &Rank::Hold},
        {"complete", &Rank::Complete},
        {"lease", &Rank::Lease},
        {"rejoin", &Rank::Rejoin},
        {"newcomers", &Rank::Newcomers},
        {"place", &Rank::Place},
        {"run-until-stopped", &Rank::RunUntilStopped},
        {"paced", &Rank::Paced},
        {"hoard", &Rank::Hoard},
        {"unhoard", &Rank::Unhoard},
        {"wait", &Rank::Wait},
        {"loss", &Rank::Loss},
        {"leave", &Rank::Leave},
        {"stop", &Rank::Stop},
        {"exit", &Rank::Exit},
    };
    return *kSteps;
  }

  absl::Status DoNamed(absl::string_view step) {
    if (step == "quiet") {
      quiet_ = true;
      return absl::OkStatus();
    }
    const std::pair<std::string, std::string> parts = absl::StrSplit(step, absl::MaxSplits('=', 1));
    if (!quiet_) Say(absl::StrCat("pid ", getpid(), " begins ", step));
    const absl::Status status = DoNamed(parts.first, parts.second);
    if (status.ok() && !quiet_) Say(absl::StrCat("ends ", step));
    return status;
  }

  absl::Status DoNamed(const std::string& name, const std::string& argument) {
    if (const auto own = OwnSteps().find(name); own != OwnSteps().end()) {
      return (this->*own->second)(argument);
    }
    if (const auto other = more_.find(name); other != more_.end()) {
      return other->second(*job_, argument);
    }
    return absl::InvalidArgumentError(absl::StrCat("no step '", name, "'"));
  }

  void Say(const std::string& text) const { Print(absl::StrCat("rank ", job_->rank(), " ", text)); }

  absl::Status Barrier(const std::string& time) {
    CallOptions options;
    absl::Duration timeout;
    if (absl::ParseDuration(time, &timeout)) options.timeout = timeout;
    return job_->Barrier("in a barrier", options);
  }

  absl::Status Broadcast(const std::string&) {
    const auto value = job_->Broadcast(absl::StrCat("from ", job_->rank()), Last());
    if (!value.ok()) return value.status();
    return Expect(*value == absl::StrCat("from ", Last()), "Broadcast");
  }

  absl::Status Gather(const std::string&) {
    const auto values = job_->Gather(job_->rank(), Last());
    if (!values.ok()) return values.status();
    return Expect(*values == (job_->rank() == Last() ? AllRanks() : std::vector<int>()), "Gather");
  }

  absl::Status AllGather(const std::string&) {
    const auto values = job_->AllGather(job_->rank());
    if (!values.ok()) return values.status();
    return Expect(*values == AllRanks(), "AllGather");
  }

  absl::Status LargeAllGather(const std::string&) {
    const auto values = job_->AllGather(std::string(kLargeBytes, static_cast<char>(job_->rank())));
    if (!values.ok()) return values.status();
    for (int rank = 0; rank < job_->world_size(); ++rank) {
      const std::string& value = (*values)[rank];
      const bool right = value.size() == kLargeBytes && value.front() == rank;
      if (!right || value.back() != rank) return Expect(false, "AllGather");
    }
    return absl::OkStatus();
  }

  absl::Status Connect(const std::string&) {
    auto communicator = Communicator::Create(*job_);
    if (!communicator.ok()) return communicator.status();
    communicator_ = *std::move(communicator);
    return absl::OkStatus();
  }

  absl::Status AllReduce(const std::string&) {
    std::vector<float> data(kElements, static_cast<float>(job_->rank() + 1));
    const absl::Status status = communicator_->AllReduce(absl::MakeSpan(data));
    if (!status.ok()) return status;
    const int n = job_->world_size();
    const int sum = n * (n + 1) / 2;
    return Expect(data.front() == sum && data.back() == data.front(), "AllReduce");
  }

  absl::Status ReduceUntil(const std::string& file) {
    for (int count = 1;; ++count) {
      std::vector<float> data = {1, job_->is_main() && Exists(file) ? 1.0f : 0.0f};
      const absl::Status status = communicator_->AllReduce(absl::MakeSpan(data));
      if (!status.ok()) return status;
      if (data[0] != job_->world_size()) return Expect(false, "AllReduce");
      if (data[1] > 0) return absl::OkStatus();
      if (count % kTold == 0) Say(absl::StrCat("has reduced ", count, " times"));
    }
  }

  absl::Status Hold(const std::string& scope) {
    auto lease = job_->AcquireLease("work", scope == "node" ? LeaseScope::kNode : LeaseScope::kJob);
    if (!lease.ok()) return lease.status();
    lease_ = *std::move(lease);
    if (lease_->held()) {
      Say(absl::StrCat("holds the lease with token ", lease_->token()));
    } else if (lease_->result().ok()) {
      Say(absl::StrCat("finds the work done ", *lease_->result()));
    }
    return absl::OkStatus();
  }

  absl::Status Complete(const std::string&) {
    if (!lease_->held()) return absl::OkStatus();
    return lease_->Complete(absl::StrCat("by rank ", job_->rank()));
  }

  absl::Status Lease(const std::string&) {
    const absl::Status held = Hold("");
    return held.ok() ? Complete("") : held;
  }

  absl::Status Rejoin(const std::string&) {
    const int before = job_->rank();
    const absl::Status status = job_->Rejoin();
    if (!status.ok()) return status;
    Say(absl::StrCat("of ", job_->world_size(), " was rank ", before, " before"));
    return absl::OkStatus();
  }

  absl::Status Place(const std::string&) {
    const char* const told = std::getenv("RANK");
    Say(absl::StrCat("of ", job_->world_size(), ", RANK is ", told == nullptr ? "unset" : told,
                     ", node ", job_->node_rank(), " ", job_->node_id()));
    return absl::OkStatus();
  }

  absl::Status Newcomers(const std::string&) {
    return Await([this] { return job_->NewcomersWaiting() > 0; });
  }

  // Waits before each barrier, as a program computes between its steps.
  absl::Status Paced(const std::string& argument) {
    absl::Duration pace;
    RETURN_IF_ERROR(Expect(absl::ParseDuration(argument, &pace), "a duration"));
    for (int step = 0; step < 20; ++step) {
      absl::SleepFor(pace);
      RETURN_IF_ERROR(job_->Barrier(absl::StrCat("step ", step)));
    }
    return absl::OkStatus();
  }

  absl::Status RunUntilStopped(const std::string&) {
    signal(SIGTERM, [](int) { told_to_stop = true; });
    for (int step = 0;; ++step) {
      if (told_to_stop.exchange(false)) {
        if (const absl::Status asked = job_->RequestStop(); !asked.ok()) return asked;
      }
      const auto steps = job_->AllGather(step);
      if (!steps.ok()) return steps.status();
      if (*steps != std::vector<int>(job_->world_size(), step)) return Expect(false, "AllGather");
      if (job_->StopRequested()) {
        Say(absl::StrCat("stops at step ", step));
        return absl::OkStatus();
      }
      if (step == kTold) Say("is on its way");
    }
  }

  absl::Status Hoard(const std::string&) {
    int fd = 0;
    while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) hoard_.push_back(fd);
    return absl::OkStatus();
  }

  absl::Status Unhoard(const std::string&) {
    for (int fd : hoard_) close(fd);
    hoard_.clear();
    return absl::OkStatus();
  }

  absl::Status Wait(const std::string& file) {
    return Await([&file] { return Exists(file); });
  }

  static absl::Status Await(absl::FunctionRef<bool()> condition) {
    if (WaitUntil(condition, kLong)) return absl::OkStatus();
    return absl::DeadlineExceededError("nothing has happened");
  }

  absl::Status Loss(const std::string&) { return job_->AwaitFailure(kLong); }
  absl::Status Leave(const std::string&) { return job_->Leave(); }

  absl::Status Stop(const std::string&) {
    raise(SIGSTOP);
    return absl::OkStatus();
  }

  absl::Status Exit(const std::string& status) {
    int code = 0;
    if (absl::SimpleAtoi(status, &code)) _exit(code);
    return absl::InvalidArgumentError(absl::StrCat("exit=", status));
  }

  int Last() const { return job_->world_size() - 1; }

  std::vector<int> AllRanks() const {
    std::vector<int> ranks;
    for (int rank = 0; rank <= Last(); ++rank) ranks.push_back(rank);
    return ranks;
  }

  const std::unique_ptr<Job> job_;
  const Steps& more_;
  bool quiet_ = false;
  bool failed_ = false;
  std::unique_ptr<Communicator> communicator_;
  std::optional<muster::Lease> lease_;
  std::vector<int> hoard_;
};

}  // namespace

void Print(const std::string& line) { std::cout << absl::StrCat(line, "\n") << std::flush; }

absl::Status Expect(bool right, absl::string_view what) {
  return right ? absl::OkStatus()
               : absl::DataLossError(absl::StrCat("not as it should be: ", what));
}

int RunRank(const std::vector<std::string>& steps, const Steps& more) {
  auto job = Job::Join(JobOptions::FromEnvironment());
  if (!job.ok()) return Fail(job.status());
  Rank rank(*std::move(job), more);
  for (const std::string& step : steps) {
    if (const absl::Status status = rank.Do(step); !status.ok()) return Fail(status);
  }
  rank.End();
  return rank.failed() ? kError : 0;
}

}  // namespace muster::testing
