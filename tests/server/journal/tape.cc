#include "tests/server/journal/tape.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/journal/replay/replayer.h"
#include "tests/server/journal/effects_text.h"

namespace muster::journal {
namespace {

// An observer that compares a replay with the recorded effects.
class EffectsComparer final : public ReplayObserver {
 public:
  EffectsComparer(const core::Options& options, const std::vector<std::string>& expected)
      : options_(options), expected_(expected) {}

  void OnStart(core::Time, const core::Options&) override {}
  void OnCheckpoint(core::Time, const core::Options&, const core::Checkpoint&) override {}
  void OnEnd(core::Time, const End&) override {}
  void OnStep(const ReplayedStep& step) override {
    const std::string text = EffectsText(step.effects, step.now, options_);
    const size_t index = step_++;
    if (!difference_.empty() || text == expected_[index]) return;
    difference_ = absl::StrCat("step ", index, ", ", InputKind_Name(step.kind), ", came to\n",
                               absl::CHexEscape(expected_[index]), "\nand in the replay to\n",
                               absl::CHexEscape(text));
  }

  const std::string& difference() const { return difference_; }
  size_t steps() const { return step_; }

 private:
  const core::Options& options_;
  const std::vector<std::string>& expected_;
  size_t step_ = 0;
  std::string difference_;
};

}  // namespace

const PayloadHasher& Tape::SharedHasher() {
  static const PayloadHasher* const hasher = new PayloadHasher();
  return *hasher;
}

core::Options Tape::Options(core::Options options, core::Time now) {
  options_ = options;
  encoder_.AppendStart(options, now, &records_);
  options.random = [this, random = std::move(options.random)] {
    draws_.push_back(random());
    return draws_.back();
  };
  return options;
}

void Tape::Add(const StepInput& step, core::Time now, const core::Effects& effects) {
  encoder_.AppendStep(step, now, draws_, effects, &records_);
  draws_.clear();
  texts_.push_back(EffectsText(effects, now, options_));
}

std::string Tape::Replay() const {
  Block block;
  if (!block.ParseFromString(records_)) return "the records cannot be read";
  EffectsComparer comparison(options_, texts_);
  Replayer replayer(&comparison);
  absl::Status fed;
  for (const Record& record : block.records()) {
    fed = replayer.Feed(record);
    if (!fed.ok() || !comparison.difference().empty()) break;
  }
  if (!comparison.difference().empty()) return comparison.difference();
  if (!fed.ok()) {
    return absl::StrCat(fed.ToString(), "\nit came to\n",
                        absl::CHexEscape(texts_[comparison.steps()]));
  }
  if (comparison.steps() == texts_.size()) return "";
  return absl::StrCat("of ", texts_.size(), " steps ", comparison.steps(), " were replayed");
}

}  // namespace muster::journal
