#include "client/launcher/outcome/run_outcome.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/outcome/rank_ranges.h"
#include "common/process/exit_codes.h"

namespace muster::launcher {
namespace {

std::string EndPhrase(const RankEnd& end) {
  if (end.aborted()) return end.mpi_fault->text;
  if (end.mpi_fault) return absl::StrCat(Describe(end.end), " ", end.mpi_fault->text);
  return end.without_leave ? "ended with 0 without Leave(); call job->Leave() before main returns"
                           : Describe(end.end);
}

// The process may have been killed before it exited with the code of MPI_Abort().
int AbortStatus(int code) { return (code & 0xff) != 0 ? code & 0xff : exit_codes::kFailed; }

int ExitStatusOf(const RankEnd& end) {
  if (end.aborted()) return AbortStatus(*end.mpi_fault->code);
  const int status = ShellStatus(end.end);
  return status != 0 || end.well() ? status : exit_codes::kFailed;
}

// Returns the phrase, which is about one rank, for these ranks.
std::string PhraseFor(const std::vector<int>& ranks, const std::string& how) {
  const bool changes = ranks.size() > 1 && absl::StartsWith(how, "was ");
  return changes ? absl::StrCat("were ", how.substr(strlen("was "))) : how;
}

// Returns "; then rank 0 exited with status 1; then ranks 1,3 were killed by signal 9 (SIGKILL)".
// Groups ranks that ended alike, in the order of the first end in each group.
std::string DescribeGrouped(const std::vector<RankEnd>& ends) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const RankEnd& end : ends) {
    const std::string how = EndPhrase(end);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&how](const auto& candidate) { return candidate.first == how; });
    if (group == groups.end()) group = groups.insert(groups.end(), {how, {}});
    group->second.push_back(end.rank);
  }
  std::string text;
  for (const auto& [how, ranks] : groups) {
    absl::StrAppend(&text, "; then ", NamedRanks(ranks), " ", PhraseFor(ranks, how));
  }
  return text;
}

bool Failed(const RankEnd& end) { return !end.well() && !end.forgiven; }

bool FailedOnItsOwn(const RankEnd& end) { return Failed(end) && !end.after_our_signal; }

}  // namespace

std::string DescribeEnd(const RankEnd& end) {
  return absl::StrCat("rank ", end.rank, " ", EndPhrase(end));
}

bool SaysHealthy(const ProcessEnd& end) {
  return !end.signaled &&
         (end.code == exit_codes::kPeerLost || end.code == exit_codes::kCoordinatorLost);
}

void RunOutcome::ForgetCleanEnds() {
  ends_.erase(std::remove_if(ends_.begin(), ends_.end(),
                             [](const RankEnd& end) { return end.end.clean(); }),
              ends_.end());
}

int RunOutcome::clean_ends() const {
  return static_cast<int>(
      std::count_if(ends_.begin(), ends_.end(), [](const RankEnd& end) { return end.well(); }));
}

void RunOutcome::Interrupted(int signal) {
  if (!interrupted_) interrupted_ = signal;
}

int RunOutcome::ExitStatus() const {
  if (const RankEnd* guilty = Guilty()) return ExitStatusOf(*guilty);
  if (reader_gone_) return ShellStatus({true, SIGPIPE});
  const RankEnd* unclean = FirstUnclean();
  if (coordinator_ && unclean != nullptr) return exit_codes::kCoordinatorLost;
  if (abort_code_elsewhere_) return AbortStatus(*abort_code_elsewhere_);
  if (!failure_elsewhere_.empty()) return exit_codes::kPeerLost;
  if (!left_running_.empty()) return exit_codes::kFailed;
  if (const RankEnd* healthy = FirstHealthy()) return ShellStatus(healthy->end);
  return unclean == nullptr ? 0 : ExitStatusOf(*unclean);
}

std::string RunOutcome::Summary() const {
  const bool well =
      FirstUnclean() == nullptr && failure_elsewhere_.empty() && left_running_.empty();
  if (well) return Forgiven();
  return absl::StrCat("job ", job_, " ", Headline(), OtherFailures(), EndedByUs());
}

std::string RunOutcome::Sentence(const RankEnd& end) const {
  return absl::StrCat("rank ", end.rank, " (pid ", end.pid, ", node ", node_, ") ", EndPhrase(end));
}

// The coordinator's account says more: when it happened, and in which call the rank was.
std::string RunOutcome::DetailedSentence(const RankEnd& end) const {
  return end.loss.empty() ? Sentence(end) : end.loss;
}

RankEnd* RunOutcome::Find(pid_t pid) {
  const auto found = std::find_if(ends_.begin(), ends_.end(),
                                  [pid](const RankEnd& end) { return end.pid == pid; });
  return found == ends_.end() ? nullptr : &*found;
}

const RankEnd* RunOutcome::Guilty() const {
  if (world_ended_elsewhere_) return nullptr;
  for (const RankEnd& end : ends_) {
    if (FailedOnItsOwn(end) && !SaysHealthy(end.end)) return &end;
  }
  return nullptr;
}

const RankEnd* RunOutcome::FirstHealthy() const {
  for (const RankEnd& end : ends_) {
    if (FailedOnItsOwn(end) && SaysHealthy(end.end)) return &end;
  }
  return nullptr;
}

const RankEnd* RunOutcome::FirstUnclean() const {
  for (const RankEnd& end : ends_) {
    if (Failed(end)) return &end;
  }
  return nullptr;
}

std::string RunOutcome::Forgiven() const {
  const auto first =
      std::find_if(ends_.begin(), ends_.end(), [](const RankEnd& end) { return end.forgiven; });
  if (first == ends_.end()) return "";
  const auto others =
      std::count_if(first + 1, ends_.end(), [](const RankEnd& end) { return end.forgiven; });
  return absl::StrCat("job ", job_, " succeeded although ", Sentence(*first),
                      others == 0 ? "" : absl::StrCat(", followed by ", others, " more"));
}

std::string RunOutcome::Headline() const {
  if (const RankEnd* guilty = Guilty()) return absl::StrCat("failed: ", DetailedSentence(*guilty));
  if (reader_gone_) return "was ended because nobody reads its output";
  if (coordinator_) return absl::StrCat("failed: its coordinator ", Describe(*coordinator_));
  if (!failure_elsewhere_.empty()) return absl::StrCat("failed: ", failure_elsewhere_);
  if (!left_running_.empty()) {
    return absl::StrCat("is left with ", NamedRanks(left_running_),
                        ", which cannot be ended: the processes belong to another user");
  }
  if (const RankEnd* healthy = FirstHealthy()) {
    return absl::StrCat("failed: ", Sentence(*healthy),
                        healthy->end.code == exit_codes::kPeerLost
                            ? ", because of another rank"
                            : ", because it had given up on the coordinator");
  }
  if (interrupted_) return absl::StrCat("was ended by ", SignalName(*interrupted_));
  return absl::StrCat("failed: ", Sentence(*FirstUnclean()));
}

std::string RunOutcome::OtherFailures() const {
  const RankEnd* first = Guilty();
  if (first == nullptr) first = FirstHealthy();
  std::vector<RankEnd> others;
  for (const RankEnd& end : ends_) {
    if (FailedOnItsOwn(end) && &end != first) others.push_back(end);
  }
  return DescribeGrouped(others);
}

std::string RunOutcome::EndedByUs() const {
  std::vector<int> ranks;
  for (const RankEnd& end : ends_) {
    if (end.after_our_signal) ranks.push_back(end.rank);
  }
  if (ranks.empty()) return "";
  return absl::StrCat("; ended by the launcher: ", NamedRanks(ranks));
}

}  // namespace muster::launcher
