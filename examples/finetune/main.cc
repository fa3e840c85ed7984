// Teaches a network that knows the digits 0 to 4 all ten digits, on all ranks of a Muster job. The
// body of the network stays frozen, and its head is trained. Read Work(), at the end, first. Code
// that loads and reports uses the names of the training toolkits (docs/toolkits.md); code in the
// training loop uses a Communicator. In an elastic job, the program survives the loss of a rank.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "examples/digits/batches.h"
#include "examples/digits/dataset.h"
#include "examples/digits/model.h"
#include "examples/digits/unpack.h"
#include "examples/finetune/network.h"
#include "muster/muster.h"
#include "muster/toolkits.h"

namespace finetune {
namespace {

using digits::Dataset;
using digits::Image;
using muster::Communicator;
using muster::Job;
using muster::Workspace;

constexpr int kBatch = 128;  // images of one step, over all ranks
constexpr double kLearningRate = 0.3;

struct Flags {
  std::string data = digits::DefaultDataFile();
  std::string workspace = "finetune-workspace";
  int epochs = 20;
};

// Prints "[rank: 2] text".
void Log(const std::string& text) {
  std::cout << muster::toolkits::RankPrefixedMessage(text + "\n") << std::flush;
}

// ---- Loading ----

// Unpacks the data, even if an earlier run has left a file, which may hold other data.
absl::Status Unpack(const std::string& packed, const std::filesystem::path& csv) {
  std::error_code error;
  const std::string part = csv.string() + ".part";
  std::filesystem::create_directories(csv.parent_path(), error);
  std::filesystem::remove(part, error);
  if (absl::Status status = digits::Gunzip(packed, part); !status.ok()) return status;
  std::filesystem::rename(part, csv, error);
  return absl::OkStatus();
}

// Loads the data. One process of each node unpacks it while the node's others wait; then all read
// it.
absl::StatusOr<Dataset> LoadData(Job& job, const Flags& flags) {
  const std::string csv = absl::StrCat(flags.workspace, "/node-", job.node_rank(), "/digits.csv");
  const auto read = [&]() -> absl::StatusOr<Dataset> {
    absl::StatusOr<std::vector<Image>> images = digits::ReadImages(csv, flags.data);
    if (!images.ok()) return images.status();
    return digits::Split(*std::move(images));
  };
  return muster::toolkits::RunOnLocalRankZero(
      job, [&] { return Unpack(flags.data, csv); }, read, /*run_post_on_all=*/true);
}

// Returns the network that was left in the folder. Makes it if there is none.
absl::StatusOr<Network> ReadOrPretrain(const std::string& folder, const Dataset& data) {
  const absl::StatusOr<Workspace> found = Workspace::OpenForReading(folder);
  if (found.ok()) return Read(*found);
  const absl::StatusOr<Workspace> made = Workspace::Open(folder, 0);
  if (!made.ok()) return made.status();
  Network network = Pretrain(data.training);
  if (absl::Status written = Write(*made, network); !written.ok()) return written;
  return network;
}

// Returns the network, which rank 0 reads. The small list of its labels goes to all ranks through
// the coordinator, its weights from peer to peer.
absl::StatusOr<Network> LoadPretrained(Job& job, Communicator& communicator,
                                       const std::string& folder, const Dataset& data) {
  Network network;
  const auto read = [&]() -> absl::StatusOr<std::vector<int>> {
    absl::StatusOr<Network> pretrained = ReadOrPretrain(folder, data);
    if (!pretrained.ok()) return pretrained.status();
    network = *std::move(pretrained);
    return network.labels;
  };
  const absl::StatusOr<std::vector<int>> labels = job.RunOnMain(read);
  if (!labels.ok()) return labels.status();
  network.labels = *labels;
  absl::Status sent = communicator.Broadcast(absl::MakeSpan(network.body));
  if (sent.ok()) sent = communicator.Broadcast(absl::MakeSpan(network.head));
  if (!sent.ok()) return sent;
  return network;
}

// ---- Each rank's share ----

template <class T>
absl::Span<const T> ShareOf(const Communicator& ranks, absl::Span<const T> items) {
  return digits::Share(items, ranks.rank(), ranks.size());
}

absl::Status Step(Communicator& ranks, const std::vector<Image>& images,
                  absl::Span<const int> batch, digits::Parameters* head) {
  digits::Parameters gradient(digits::kParameters);
  for (int i : ShareOf(ranks, batch)) digits::AddGradient(*head, images[i], &gradient);
  const absl::Status summed = ranks.AllReduce(absl::MakeSpan(gradient));
  if (!summed.ok()) return summed;
  // Divides by the size of the batch. The mean of the ranks' means would differ, since their shares
  // differ in size. So every number of ranks gives the same result, up to rounding.
  const double step = kLearningRate / batch.size();
  for (int i = 0; i < digits::kParameters; ++i) (*head)[i] -= step * gradient[i];
  return absl::OkStatus();
}

struct Score {
  double loss = 0;      // the mean over the training images
  double accuracy = 0;  // on the held-out images
};

// Evaluates the network over all images. Returns the same score on every rank.
absl::StatusOr<Score> Evaluate(Communicator& ranks, const Dataset& features,
                               const digits::Parameters& head) {
  std::vector<double> sums(2);
  for (const Image& image : ShareOf(ranks, absl::MakeConstSpan(features.training))) {
    sums[0] += digits::Loss(head, image);
  }
  for (const Image& image : ShareOf(ranks, absl::MakeConstSpan(features.held_out))) {
    sums[1] += digits::Predict(head, image) == image.label;
  }
  const absl::Status summed = ranks.AllReduce(absl::MakeSpan(sums));
  if (!summed.ok()) return summed;
  return Score{sums[0] / features.training.size(), sums[1] / features.held_out.size()};
}

// ---- Training ----

// The state of training. Survivors of a lost rank have it; rank 0's state counts.
struct Progress {
  digits::Parameters head;  // empty: the pre-trained head
  int epochs = -1;          // number of epochs done and measured; 0: the network as loaded
  double best_accuracy = -1;
};

absl::Status ShareProgress(Job& job, const Network& network, Progress* progress) {
  if (progress->head.empty()) progress->head = network.head;
  absl::StatusOr<digits::Parameters> head = job.Broadcast(progress->head);
  if (!head.ok()) return head.status();
  const absl::StatusOr<int> epochs = job.Broadcast(progress->epochs);
  if (!epochs.ok()) return epochs.status();
  const absl::StatusOr<double> best_accuracy = job.Broadcast(progress->best_accuracy);
  if (!best_accuracy.ok()) return best_accuracy.status();
  *progress = {*std::move(head), *epochs, *best_accuracy};
  return absl::OkStatus();
}

// Logs the score of a network, and saves the network if it is the best so far. Runs on rank 0 only;
// the others do not wait for its disk. `best` has a value on rank 0.
absl::Status Report(Job& job, const Score& score, int epoch, const Network& network,
                    const std::optional<Workspace>& best, double best_accuracy) {
  if (muster::MainScope main{job}) {
    Log(absl::StrFormat("epoch %2d  loss %.9f  accuracy %.4f", epoch, score.loss, score.accuracy));
    if (score.accuracy > best_accuracy) return Write(*best, network);
  }
  return absl::OkStatus();
}

// Runs one pass over the training images, except in epoch 0, and reports the score.
absl::Status RunEpoch(Job& job, Communicator& ranks, const Dataset& features, Network* network,
                      const std::optional<Workspace>& best, Progress* progress) {
  const int epoch = progress->epochs + 1;
  // An error of this barrier names the late ranks and the epoch.
  absl::Status status = job.Barrier(absl::StrCat("epoch ", epoch));
  network->head = progress->head;
  if (epoch > 0) {
    const std::vector<int> order = digits::EpochOrder(features.training.size(), 1, epoch);
    for (absl::Span<const int> batch : digits::Batches(order, kBatch)) {
      if (status.ok()) status = Step(ranks, features.training, batch, &network->head);
    }
  }
  if (!status.ok()) return status;
  const absl::StatusOr<Score> score = Evaluate(ranks, features, network->head);
  if (!score.ok()) return score.status();
  status = Report(job, *score, epoch, *network, best, progress->best_accuracy);
  if (!status.ok()) return status;
  *progress = {network->head, epoch, std::max(progress->best_accuracy, score->accuracy)};
  return absl::OkStatus();
}

absl::Status Train(Job& job, Communicator& ranks, const Dataset& features, int epochs,
                   Network network, const std::optional<Workspace>& best, Progress* progress) {
  absl::Status status = ShareProgress(job, network, progress);
  network.labels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  while (status.ok() && progress->epochs < epochs) {
    status = RunEpoch(job, ranks, features, &network, best, progress);
  }
  return status.ok() ? job.Barrier("the best is written") : status;
}

// Reads the best network back on every rank, and measures it on the rank's share.
absl::Status ReportBest(Job& job, Communicator& ranks, const Dataset& features,
                        const std::string& folder) {
  const absl::StatusOr<Workspace> workspace = Workspace::OpenForReading(folder);
  if (!workspace.ok()) return workspace.status();
  const absl::StatusOr<Network> best = Read(*workspace);
  if (!best.ok()) return best.status();
  const absl::StatusOr<Score> score = Evaluate(ranks, features, best->head);
  if (!score.ok()) return score.status();
  if (job.is_main()) Log(absl::StrFormat("best accuracy=%.6f, in %s", score->accuracy, folder));
  return absl::OkStatus();
}

// Does everything, from rank 0's progress on.
absl::Status Work(Job& job, const Flags& flags, Progress* progress) {
  absl::StatusOr<Dataset> data = LoadData(job, flags);
  if (!data.ok()) return data.status();
  const auto ranks = Communicator::Create(job);
  if (!ranks.ok()) return ranks.status();
  absl::StatusOr<Network> network =
      LoadPretrained(job, **ranks, flags.workspace + "/pretrained", *data);
  if (!network.ok()) return network.status();
  Log(absl::StrCat("local rank ", job.local_rank(), " on node ", job.node_rank(),
                   ", from a network that knows ", absl::StrJoin(network->labels, ",")));

  // The body is frozen, so the features of each image are computed once.
  for (Image& image : data->training) image = Features(network->body, image);
  for (Image& image : data->held_out) image = Features(network->body, image);

  // Opens the folder on rank 0. If that fails, all ranks get the error.
  const std::string folder = flags.workspace + "/best";
  const auto best = muster::toolkits::OneRankOnly(job, [&] { return Workspace::Open(folder, 0); },
                                                  {/*rank=*/0, /*with_barrier=*/true, {}});
  if (!best.ok()) return best.status();
  absl::Status trained =
      Train(job, **ranks, *data, flags.epochs, *std::move(network), *best, progress);
  return trained.ok() ? ReportBest(job, **ranks, *data, folder) : trained;
}

// Goes on in the next epoch of the job when a member is lost or out of reach. If the job is not
// elastic, the first loss ends the program.
absl::Status Run(Job& job, const Flags& flags) {
  Progress progress;
  while (true) {
    const absl::Status worked = Work(job, flags, &progress);
    if (!absl::IsAborted(worked) && !absl::IsUnavailable(worked)) return worked;
    if (const absl::Status rejoined = job.Rejoin(); !rejoined.ok()) {
      Log(absl::StrCat("cannot go on: ", rejoined.message()));
      return worked;
    }
  }
}

// Parses the command line. Returns the status to exit with at once, if there is one.
std::optional<int> ParseFlags(int argc, char** argv, Flags* flags) {
  CLI::App app(
      "Fine-tunes a network that knows the digits 0 to 4 to all ten, on all ranks of a job.\n"
      "Run it alone, or on four ranks with: muster run --nproc-per-node 4 -- finetune",
      "finetune");
  app.add_option("--data", flags->data, "The digits, .csv.gz")->capture_default_str();
  app.add_option("--workspace", flags->workspace,
                 "Folder that all ranks share: the data, unpacked; the pre-trained network, which "
                 "is made the first time; the best one")
      ->capture_default_str();
  app.add_option("--epochs", flags->epochs, "Passes over the training images")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : muster::kExitBadConfiguration;
  }
  return std::nullopt;
}

}  // namespace
}  // namespace finetune

int main(int argc, char** argv) {
  finetune::Flags flags;
  if (const auto status = finetune::ParseFlags(argc, argv, &flags)) return *status;
  absl::Status status = muster::toolkits::Initialize();
  if (status.ok()) status = finetune::Run(muster::toolkits::CurrentJob(), flags);
  if (status.ok()) status = muster::toolkits::Finalize();
  if (status.ok()) return 0;
  // Ends without leaving, so that the other ranks' calls end with an error that names this process.
  std::cerr << muster::toolkits::RankPrefixedMessage(
      absl::StrCat("finetune: ", status.message(), "\n"));
  muster::WriteTerminationReason(status.message());
  return muster::ExitCode(status);
}
