#ifndef MUSTER_EXAMPLES_DIGITS_TRAINER_H_
#define MUSTER_EXAMPLES_DIGITS_TRAINER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/digits/dataset.h"
#include "examples/digits/model.h"
#include "muster/communicator.h"
#include "muster/job.h"

namespace digits {

struct TrainingOptions {
  int epochs = 40;
  uint64_t seed = 1;  // for the initial weights and the order of the images
  int batch = 256;    // images of one step, over all ranks
  double learning_rate = 1.5;
};

// The result of an epoch, which all ranks know.
struct EpochReport {
  int64_t epoch = 0;             // from 1
  double loss = 0;               // mean over the whole training set
  double accuracy = 0;           // on the held-out images
  double images_per_second = 0;  // in training, over all ranks
  // The range of the mean losses over each rank's share.
  double lowest_rank_loss = 0;
  double highest_rank_loss = 0;
};

// The state of training at the end of an epoch: all that a rank needs to go on, and the same on
// every rank.
struct Progress {
  Parameters parameters;           // empty if training has not begun
  std::vector<EpochReport> curve;  // of each epoch so far
};

// Trains one model on all ranks of a job. Each rank computes the gradient of its share of every
// batch, and all ranks apply the sum. So the result is the same as on a single process, up to
// rounding. The arguments must outlive the trainer.
class Trainer {
 public:
  // A callback that runs on rank 0 after each epoch.
  using OnEpoch = std::function<void(const EpochReport&)>;

  Trainer(muster::Job& job, muster::Communicator& communicator, const Dataset& data,
          const TrainingOptions& options)
      : job_(job), communicator_(communicator), data_(data), options_(options) {}

  // Trains from rank 0's progress until the last epoch, and keeps `progress` up to date. After an
  // error, pass the same `progress` again. A collective of the world. Errors are those of Job and
  // Communicator; rank 0 also returns ABORTED if newcomers wait for a place.
  absl::Status Train(Progress* progress, const OnEpoch& on_epoch);

 private:
  // One rank's share of the evaluation.
  struct Score {
    double loss = 0;  // sum over `training` images
    int64_t training = 0;
    int64_t correct = 0;  // of `held_out` images
    int64_t held_out = 0;
  };

  // Copies rank 0's progress to every rank.
  absl::Status ShareProgress(Progress* progress);
  absl::Status RunEpoch(int epoch);
  absl::Status Step(absl::Span<const int> batch);
  Score Evaluate() const;
  static EpochReport Summarize(const std::vector<Score>& scores);

  muster::Job& job_;
  muster::Communicator& communicator_;
  const Dataset& data_;
  const TrainingOptions& options_;
  Parameters parameters_;
};

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_TRAINER_H_
