// The end of a run: the bundle of a hang, and what the ranks have left behind.

#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/launcher/process_tree.h"
#include "client/launcher/supervisor.h"
#include "common/steady_now.h"

namespace muster::launcher {
namespace {

// For a bundle of a hang: more than gathering it, and waiting for the verdict, take.
constexpr absl::Duration kBundlePatience = absl::Seconds(30);
constexpr absl::Duration kSilence = absl::Seconds(1);
// Of processes that are not this one's children nobody tells when they end.
constexpr absl::Duration kLookAgain = absl::Milliseconds(50);

}  // namespace

void Supervisor::AwaitBundle() {
  if (responder_ == nullptr) return;
  const absl::Time began = SteadyNow();
  bool said = false;
  while (responder_->writing() && ending_signals_ == 0 && SteadyNow() < began + kBundlePatience) {
    loop_->Poll(kLookAgain);
    if (said || SteadyNow() < began + kSilence) continue;
    said = true;
    Say(absl::StrCat("waiting for what is gathered of the hang for ", plan_.debug_dir, ", ",
                     absl::FormatDuration(kBundlePatience), " at most"));
  }
  for (const std::string& line : responder_->TakeNews()) Say(line);
}

void Supervisor::EndLeftovers() {
  Cleanup cleanup([this] { return AllButTheCoordinator(); },
                  [this](const std::string& text) { Say(text); }, plan_.grace, SteadyNow());
  if (phase_ >= Phase::kKilled) cleanup.Hurry();
  const int signals_before = ending_signals_;
  while (!cleanup.Step(SteadyNow())) {
    loop_->Poll(kLookAgain);
    if (ending_signals_ != signals_before) cleanup.Hurry();
  }
}

Leftovers Supervisor::AllButTheCoordinator() const {
  Leftovers left = {Descendants(getpid()), {}};
  EraseIf(&left.processes,
          [&](const ProcessInfo& process) { return process.pid == CoordinatorPid(); });
  return left;
}

}  // namespace muster::launcher
