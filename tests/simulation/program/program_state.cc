#include "tests/simulation/program/program_state.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "muster/error_facts.h"

namespace muster::simulation {
namespace {

constexpr int kMaxShortTimeouts = 3;

// Returns whether the error is about a member that did not come, or was lost.
bool MustNameSomeone(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsAborted(status) || absl::IsUnavailable(status);
}

// Returns whether the error names ranks, processes, the unreachable coordinator, or the epoch that
// has replaced the caller's.
bool NamesSomeone(const absl::Status& status) {
  for (const char* who : {"rank", "process", "coordinator at", "is not the current one"}) {
    if (absl::StrContains(status.message(), who)) return true;
  }
  return false;
}

}  // namespace

void ProgramState::Later(std::function<void()> what) {
  // With node fan-in, ranks usually compute for about the same time, so that they meet.
  const absl::Duration most = setting->node_fanin && random.Chance(0.8) ? absl::Milliseconds(1)
                              : random.Chance(0.1)                      ? absl::Seconds(2)
                                                                        : absl::Milliseconds(100);
  After(random.Between(absl::ZeroDuration(), most), std::move(what));
}

void ProgramState::After(absl::Duration delay, std::function<void()> what) {
  simulation->clock.After(delay, [this, what = std::move(what)] {
    if (gone()) return;
    if (process->paused_until() <= simulation->now()) return what();
    After(process->paused_until() - simulation->now(), what);
  });
}

absl::Duration ProgramState::DrawTimeout(int tries) {
  if (*faults_are_over || tries > kMaxShortTimeouts || !random.Chance(0.25)) return kLongTimeout;
  return random.Between(absl::Milliseconds(100), absl::Seconds(3));
}

void ProgramState::MayCancel(internal::CallId call) {
  if (*faults_are_over || !random.Chance(0.05)) return;
  After(random.Between(absl::ZeroDuration(), absl::Seconds(1)), [this, call] {
    process->Run([call](internal::MemberCore& member, internal::SteadyTime now) {
      return member.Cancel(now, call);
    });
  });
}

void ProgramState::CheckError(const std::string& call, const absl::Status& status) {
  if (hostile()) return;
  CheckBlame(call, status);
  if (absl::IsAlreadyExists(status)) CheckTaken(call, status);
  if (setting->hostile) return;  // a hostile member may have written the error's text
  if (!MustNameSomeone(status) || NamesSomeone(status)) return;
  simulation->Violation("process ", process->id(), ": ", call,
                        " fails with an error that names nobody: ", status.ToString());
}

void ProgramState::CheckTaken(const std::string& call, const absl::Status& status) {
  int processes = 0;
  for (size_t at = 0; (at = status.message().find("pid ", at)) != absl::string_view::npos; ++at) {
    ++processes;
  }
  const std::string own = absl::StrCat("pid ", process->id(), ")");
  if (processes == 2 && absl::StrContains(status.message(), own)) return;
  simulation->Violation("process ", process->id(), ": ", call,
                        " does not name the two who ask for one place: ", status.ToString());
}

void ProgramState::CheckBlame(const std::string& call, const absl::Status& status) {
  const size_t pid = status.message().find("pid ");
  if (!absl::IsAborted(status) || setting->split || pid == absl::string_view::npos) return;
  const ProcessId named = std::atoi(std::string(status.message().substr(pid + 4)).c_str());
  const std::optional<int64_t> fact = FactsOf(status).pid;
  const bool names_a_rank = absl::StrContains(status.message(), " was lost") &&
                            !absl::StrContains(status.message().substr(0, pid), "process (");
  if (fact ? *fact != named : names_a_rank) {
    simulation->Violation("process ", process->id(), ": ", call,
                          " does not name to programs whom its text names: ", status.ToString());
  }
  if (checks->disturbed.count(named) > 0) return;
  simulation->Violation("process ", process->id(), ": ", call,
                        " blames a process that nothing has happened to: ", status.ToString());
}

}  // namespace muster::simulation
