#include "examples/digits/trainer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "examples/digits/batches.h"

namespace digits {

absl::Status Trainer::Train(Progress* progress, const OnEpoch& on_epoch) {
  if (absl::Status shared = ShareProgress(progress); !shared.ok()) return shared;
  for (int epoch = progress->curve.size() + 1; epoch <= options_.epochs; ++epoch) {
    // If one rank enters the next epoch of the job, all others must follow.
    if (job_.is_main() && job_.NewcomersWaiting() > 0) {
      return absl::AbortedError("newcomers wait for a place");
    }
    // All ranks start the epoch together. The other ranks' errors, and `muster status`, name late
    // ranks with this label.
    const absl::Status together = job_.Barrier(absl::StrCat("epoch ", epoch));
    if (!together.ok()) return together;
    parameters_ = progress->parameters;
    const absl::Time start = absl::Now();
    const absl::Status trained = RunEpoch(epoch);
    if (!trained.ok()) return trained;
    const absl::Duration elapsed = absl::Now() - start;

    const absl::StatusOr<std::vector<Score>> scores = job_.AllGather(Evaluate());
    if (!scores.ok()) return scores.status();
    EpochReport report = Summarize(*scores);
    report.epoch = epoch;
    report.images_per_second = data_.training.size() / absl::ToDoubleSeconds(elapsed);
    progress->parameters = parameters_;
    progress->curve.push_back(report);
    if (job_.is_main()) on_epoch(report);
  }
  return absl::OkStatus();
}

absl::Status Trainer::ShareProgress(Progress* progress) {
  // Rank 0 draws the initial weights. In a later epoch of the job, rank 0 is a survivor and has
  // them.
  if (job_.is_main() && progress->parameters.empty()) {
    progress->parameters = InitialParameters(options_.seed);
  }
  absl::StatusOr<Parameters> parameters = job_.Broadcast(progress->parameters);
  if (!parameters.ok()) return parameters.status();
  absl::StatusOr<std::vector<EpochReport>> curve = job_.Broadcast(progress->curve);
  if (!curve.ok()) return curve.status();
  *progress = {*std::move(parameters), *std::move(curve)};
  return absl::OkStatus();
}

absl::Status Trainer::RunEpoch(int epoch) {
  const std::vector<int> order =
      EpochOrder(static_cast<int>(data_.training.size()), options_.seed, epoch);
  for (absl::Span<const int> batch : Batches(order, options_.batch)) {
    const absl::Status stepped = Step(batch);
    if (!stepped.ok()) return stepped;
  }
  return absl::OkStatus();
}

absl::Status Trainer::Step(absl::Span<const int> batch) {
  Parameters gradient(kParameters);
  for (int i : Share(batch, job_.rank(), job_.world_size())) {
    AddGradient(parameters_, data_.training[i], &gradient);
  }
  // A sum divided by the global count, not an average of averages, since shares differ in size.
  const absl::Status reduced =
      communicator_.AllReduce(absl::MakeSpan(gradient), muster::ReduceOp::kSum);
  if (!reduced.ok()) return reduced;
  const double step = options_.learning_rate / batch.size();
  for (int i = 0; i < kParameters; ++i) parameters_[i] -= step * gradient[i];
  return absl::OkStatus();
}

Trainer::Score Trainer::Evaluate() const {
  Score score;
  for (const Image& image :
       Share(absl::MakeConstSpan(data_.training), job_.rank(), job_.world_size())) {
    score.loss += Loss(parameters_, image);
    ++score.training;
  }
  for (const Image& image :
       Share(absl::MakeConstSpan(data_.held_out), job_.rank(), job_.world_size())) {
    if (Predict(parameters_, image) == image.label) ++score.correct;
    ++score.held_out;
  }
  return score;
}

EpochReport Trainer::Summarize(const std::vector<Score>& scores) {
  EpochReport report;
  Score total;
  report.lowest_rank_loss = std::numeric_limits<double>::infinity();
  for (const Score& score : scores) {
    total.loss += score.loss;
    total.training += score.training;
    total.correct += score.correct;
    total.held_out += score.held_out;
    if (score.training == 0) continue;
    const double mean = score.loss / score.training;
    report.lowest_rank_loss = std::min(report.lowest_rank_loss, mean);
    report.highest_rank_loss = std::max(report.highest_rank_loss, mean);
  }
  report.loss = total.loss / total.training;
  report.accuracy = static_cast<double>(total.correct) / total.held_out;
  return report;
}

}  // namespace digits
