// Teaches a network that knows the digits 0 to 4 all ten of them, on all ranks of a Muster job: the
// body of the network stays as it is, its head is trained. Read Run(), at the end, first. The
// helpers are those of the training toolkits: docs/toolkits.md.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <numeric>
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

namespace finetune {
namespace {

using digits::Dataset;
using digits::Image;
using muster::Job;
using muster::Workspace;

constexpr int kBatch = 128;  // images of one step, all ranks together
constexpr double kLearningRate = 0.3;

struct Flags {
  std::string data = digits::DefaultDataFile();
  std::string workspace = "finetune-workspace";
  int epochs = 20;
};

// "[rank: 2] text".
void Log(const std::string& text) {
  std::cout << muster::RankPrefixedMessage(text + "\n") << std::flush;
}

// ---- What all start from ----

// What an earlier run has left may be of other data.
absl::Status Unpack(const std::string& packed, const std::filesystem::path& csv) {
  std::error_code error;
  const std::string part = csv.string() + ".part";
  std::filesystem::create_directories(csv.parent_path(), error);
  std::filesystem::remove(part, error);
  if (absl::Status status = digits::Gunzip(packed, part); !status.ok()) return status;
  std::filesystem::rename(part, csv, error);
  return absl::OkStatus();
}

// One process of each node unpacks the data while the others of the node wait; then all read it.
absl::StatusOr<Dataset> LoadData(Job& job, const Flags& flags) {
  const std::string csv = absl::StrCat(flags.workspace, "/node-", job.node_rank(), "/digits.csv");
  const auto read = [&]() -> absl::StatusOr<Dataset> {
    absl::StatusOr<std::vector<Image>> images = digits::ReadImages(csv, flags.data);
    if (!images.ok()) return images.status();
    return digits::Split(*std::move(images));
  };
  return muster::RunOncePerNode(
      job, [&] { return Unpack(flags.data, csv); }, read, /*run_post_on_all=*/true);
}

// The network that others have left in the folder; here it is made the first time.
absl::StatusOr<Network> ReadOrPretrain(const std::string& folder, const Dataset& data) {
  const absl::StatusOr<Workspace> found = Workspace::OpenForReading(folder);
  if (found.ok()) return Read(*found);
  const absl::StatusOr<Workspace> made = Workspace::Open(folder, 0);
  if (!made.ok()) return made.status();
  Network network = Pretrain(data.training);
  if (absl::Status written = Write(*made, network); !written.ok()) return written;
  return network;
}

// Rank 0 reads the network. The list of its labels, which is small, goes to all through the
// coordinator, its weights go from peer to peer.
absl::StatusOr<Network> LoadPretrained(Job& job, const std::string& folder, const Dataset& data) {
  Network network;
  const auto read = [&]() -> absl::StatusOr<std::vector<int>> {
    absl::StatusOr<Network> pretrained = ReadOrPretrain(folder, data);
    if (!pretrained.ok()) return pretrained.status();
    network = *std::move(pretrained);
    return network.labels;
  };
  const absl::StatusOr<std::vector<int>> labels = muster::RunOnMain(job, read);
  if (!labels.ok()) return labels.status();
  network.labels = *labels;
  const auto communicator = muster::Communicator::Create(job);
  if (!communicator.ok()) return communicator.status();
  absl::Status sent = (*communicator)->Broadcast(absl::MakeSpan(network.body));
  if (sent.ok()) sent = (*communicator)->Broadcast(absl::MakeSpan(network.head));
  if (!sent.ok()) return sent;
  return network;
}

// ---- What each does on its share ----

template <class T>
absl::Span<const T> ShareOf(const Job& job, absl::Span<const T> items) {
  return digits::Share(items, job.rank(), job.world_size());
}

absl::Status Step(Job& job, const std::vector<Image>& images, absl::Span<const int> batch,
                  digits::Parameters* head) {
  digits::Parameters gradient(digits::kParameters);
  for (int i : ShareOf(job, batch)) digits::AddGradient(*head, images[i], &gradient);
  const absl::Status averaged = muster::AverageAcrossProcesses(job, absl::MakeSpan(gradient));
  if (!averaged.ok()) return averaged;
  // The mean of the ranks' sums, whose shares differ in size: so every number of ranks comes to the
  // same, up to rounding.
  const double step = kLearningRate * job.world_size() / batch.size();
  for (int i = 0; i < digits::kParameters; ++i) (*head)[i] -= step * gradient[i];
  return absl::OkStatus();
}

// The mean over all images, on every rank.
absl::StatusOr<double> Loss(Job& job, const std::vector<Image>& images,
                            const digits::Parameters& head) {
  const auto sum_of_share = [&] {
    double sum = 0;
    for (const Image& image : ShareOf(job, absl::MakeSpan(images)))
      sum += digits::Loss(head, image);
    return sum;
  };
  return muster::ReduceAndBroadcast(job, sum_of_share, [&](const std::vector<double>& sums) {
    return std::accumulate(sums.begin(), sums.end(), 0.0) / images.size();
  });
}

// Of all images; on rank 0, and 0 elsewhere.
absl::StatusOr<double> Accuracy(Job& job, const std::vector<Image>& images,
                                const digits::Parameters& head) {
  const absl::StatusOr<std::vector<int>> right = muster::GatherScalarFromAllRanks(job, [&] {
    int count = 0;
    for (const Image& image : ShareOf(job, absl::MakeSpan(images))) {
      count += digits::Predict(head, image) == image.label;
    }
    return count;
  });
  if (!right.ok()) return right.status();
  return std::accumulate(right->begin(), right->end(), 0.0) / images.size();
}

// ---- Training ----

// Logs what a network has come to, and keeps it if it is the best so far, on rank 0 alone: the
// others do not wait for its disk. `best` is there on rank 0.
absl::Status Measure(Job& job, const Dataset& features, const Network& network, int epoch,
                     const std::optional<Workspace>& best, double* best_accuracy) {
  const absl::StatusOr<double> loss = Loss(job, features.training, network.head);
  if (!loss.ok()) return loss.status();
  const absl::StatusOr<double> accuracy = Accuracy(job, features.held_out, network.head);
  if (!accuracy.ok()) return accuracy.status();
  if (muster::MainScope main{job}) {
    Log(absl::StrFormat("epoch %2d  loss %.9f  accuracy %.4f", epoch, *loss, *accuracy));
    if (*accuracy <= *best_accuracy) return absl::OkStatus();
    *best_accuracy = *accuracy;
    return Write(*best, network);
  }
  return absl::OkStatus();
}

absl::Status Train(Job& job, const Dataset& features, int epochs, Network network,
                   const std::optional<Workspace>& best) {
  double best_accuracy = -1;
  absl::Status status = Measure(job, features, network, 0, best, &best_accuracy);
  for (int epoch = 1; epoch <= epochs && status.ok(); ++epoch) {
    // An error of this names whom the others wait for, and in which epoch.
    status = muster::Barrier(job, absl::StrCat("epoch ", epoch));
    const std::vector<int> order = digits::EpochOrder(features.training.size(), 1, epoch);
    for (absl::Span<const int> batch : digits::Batches(order, kBatch)) {
      if (status.ok()) status = Step(job, features.training, batch, &network.head);
    }
    if (status.ok()) status = Measure(job, features, network, epoch, best, &best_accuracy);
  }
  return status.ok() ? muster::Barrier(job, "the best is written") : status;
}

// Every rank reads the best network back and measures it on its share.
absl::Status Report(Job& job, const Dataset& features, const std::string& folder) {
  const absl::StatusOr<Workspace> workspace = Workspace::OpenForReading(folder);
  if (!workspace.ok()) return workspace.status();
  const absl::StatusOr<Network> best = Read(*workspace);
  if (!best.ok()) return best.status();
  const absl::StatusOr<double> accuracy = Accuracy(job, features.held_out, best->head);
  if (!accuracy.ok()) return accuracy.status();
  if (muster::IsMainProcess(job)) {
    Log(absl::StrFormat("best accuracy=%.6f, in %s", *accuracy, folder));
  }
  return absl::OkStatus();
}

absl::Status Run(Job& job, const Flags& flags) {
  absl::StatusOr<Dataset> data = LoadData(job, flags);
  if (!data.ok()) return data.status();
  absl::StatusOr<Network> network = LoadPretrained(job, flags.workspace + "/pretrained", *data);
  if (!network.ok()) return network.status();
  Log(absl::StrCat("local rank ", job.local_rank(), " on node ", job.node_rank(),
                   ", from a network that knows ", absl::StrJoin(network->labels, ",")));

  // The body is frozen: what it makes of an image is computed once.
  for (Image& image : data->training) image = Features(network->body, image);
  for (Image& image : data->held_out) image = Features(network->body, image);

  // Rank 0 has it; all have the error if it cannot.
  const std::string folder = flags.workspace + "/best";
  const auto best = muster::OneRankOnly(job, [&] { return Workspace::Open(folder, 0); },
                                        {/*rank=*/0, /*with_barrier=*/true, {}});
  if (!best.ok()) return best.status();
  network->labels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  absl::Status trained = Train(job, *data, flags.epochs, *std::move(network), *best);
  return trained.ok() ? Report(job, *data, folder) : trained;
}

// The status to exit with at once, if there is one.
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
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace
}  // namespace finetune

int main(int argc, char** argv) {
  finetune::Flags flags;
  if (const auto status = finetune::ParseFlags(argc, argv, &flags)) return *status;
  absl::Status status = muster::Initialize();
  if (status.ok()) status = finetune::Run(muster::CurrentJob(), flags);
  if (status.ok()) status = muster::Finalize();
  if (status.ok()) return 0;
  // Ends without leaving: the others' calls end with an error that names this process.
  std::cerr << muster::RankPrefixedMessage(absl::StrCat("finetune: ", status.message(), "\n"));
  return 1;
}
