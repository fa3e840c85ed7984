// Trains a classifier of handwritten digits, data-parallel, on all ranks of a Muster job. Read this
// file first, then load.cc (a lease) and trainer.cc (broadcast, all-reduce, barrier, gather).

#include <iostream>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/digits/dataset.h"
#include "examples/digits/flags.h"
#include "examples/digits/load.h"
#include "examples/digits/output.h"
#include "examples/digits/trainer.h"
#include "muster/communicator.h"
#include "muster/job.h"

namespace digits {
namespace {

int Fail(const absl::Status& error) {
  std::cerr << "digits: " << error.message() << std::endl;
  return 1;
}

// For an error that every rank has got: rank 0 reports it, and the ranks leave together, lest the
// first to exit be taken for the one that failed. Where the job itself is broken rank 0 may be the
// one that is gone, and each rank speaks for itself.
int FailTogether(muster::Job& job, const absl::Status& error) {
  if (!job.health().ok()) return Fail(error);
  if (job.is_main()) Fail(error);
  const absl::Status left = job.Leave();
  return left.ok() ? 1 : Fail(left);
}

// What was asked for with --json and --save.
absl::Status WriteFiles(const Flags& flags, int world_size, const std::vector<EpochReport>& curve,
                        const Parameters& parameters) {
  absl::Status written;
  if (!flags.json.empty())
    written.Update(WriteCurve(flags.json, flags.training, world_size, curve));
  if (!flags.save.empty()) written.Update(WriteParameters(flags.save, parameters));
  return written;
}

int Run(muster::Job& job, const Flags& flags) {
  const absl::StatusOr<Dataset> data = LoadDataset(job, flags.data);
  if (!data.ok()) return FailTogether(job, data.status());

  muster::CommunicatorOptions options;
  options.backend = flags.backend;
  absl::StatusOr<std::unique_ptr<muster::Communicator>> communicator =
      muster::Communicator::Create(job, options);
  if (!communicator.ok()) return Fail(communicator.status());

  if (job.is_main()) PrintSetup(job, **communicator, *data);
  std::vector<EpochReport> curve;
  Trainer trainer(job, **communicator, *data, flags.training);
  const absl::Status trained = trainer.Train([&](const EpochReport& report) {
    PrintEpoch(report);
    curve.push_back(report);
  });
  if (!trained.ok()) return Fail(trained);

  const absl::Status written = job.RunOnMain(
      [&] { return WriteFiles(flags, job.world_size(), curve, trainer.parameters()); });
  if (!written.ok()) return FailTogether(job, written);

  if (job.is_main()) PrintResult(curve.back());
  const absl::Status left = job.Leave();
  return left.ok() ? 0 : Fail(left);
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  digits::Flags flags;
  if (const std::optional<int> status = digits::ParseFlags(argc, argv, &flags)) return *status;
  // Blocks until every member of the job is here.
  absl::StatusOr<std::unique_ptr<muster::Job>> job =
      muster::Job::Join(muster::JobOptions::FromEnvironment());
  if (!job.ok()) return digits::Fail(job.status());
  return digits::Run(**job, flags);
}
