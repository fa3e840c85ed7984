// Trains a classifier of handwritten digits, data-parallel, on all ranks of a Muster job. Read this
// file first, then load.cc (a lease) and trainer.cc (broadcast, all-reduce, barrier, all-gather).
// In an elastic job, the program survives the loss of a rank: see Run() below.

#include <iostream>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/digits/dataset.h"
#include "examples/digits/digits_flags.h"
#include "examples/digits/load.h"
#include "examples/digits/trainer.h"
#include "examples/digits/training_output.h"
#include "muster/communicator.h"
#include "muster/exit_code.h"
#include "muster/job.h"

namespace digits {
namespace {

// Reports an error. Returns the exit status, which says whether this process is to blame.
int Fail(const absl::Status& error) {
  std::cerr << "digits: " << error.message() << std::endl;
  muster::WriteTerminationReason(error.message());
  return muster::ExitCode(error);
}

// Reports an error that every rank has. Only rank 0 prints it, and the ranks leave together, so
// that the first to exit is not taken for the one that failed.
int FailTogether(muster::Job& job, const absl::Status& error) {
  if (job.is_main()) Fail(error);
  const absl::Status left = job.Leave();
  return left.ok() ? muster::ExitCode(error) : Fail(left);
}

// Writes the files of --json and --save.
absl::Status WriteFiles(const Flags& flags, int world_size, const Progress& progress) {
  absl::Status written;
  if (!flags.json.empty())
    written.Update(WriteCurve(flags.json, flags.training, world_size, progress.curve));
  if (!flags.save.empty()) written.Update(WriteParameters(flags.save, progress.parameters));
  return written;
}

// Returns whether the next epoch of the job may help: a member was lost, or cannot be reached.
bool EndsMembership(const absl::Status& error) {
  return absl::IsAborted(error) || absl::IsUnavailable(error);
}

// Does everything, from rank 0's progress on. Returns the exit status, or an error if this epoch's
// membership has ended.
absl::StatusOr<int> Work(muster::Job& job, const Flags& flags, Progress* progress) {
  const absl::StatusOr<Dataset> data = LoadDataset(job, flags.data);
  if (EndsMembership(data.status())) return data.status();
  if (!data.ok()) return FailTogether(job, data.status());

  muster::CommunicatorOptions options;
  options.backend = flags.backend;
  absl::StatusOr<std::unique_ptr<muster::Communicator>> communicator =
      muster::Communicator::Create(job, options);
  if (EndsMembership(communicator.status())) return communicator.status();
  if (!communicator.ok()) return Fail(communicator.status());

  if (job.is_main()) PrintSetup(job, **communicator, *data);
  Trainer trainer(job, **communicator, *data, flags.training);
  const absl::Status trained = trainer.Train(progress, PrintEpoch);
  if (EndsMembership(trained)) return trained;
  if (!trained.ok()) return Fail(trained);

  const absl::Status written =
      job.RunOnMain([&] { return WriteFiles(flags, job.world_size(), *progress); });
  if (EndsMembership(written)) return written;
  if (!written.ok()) return FailTogether(job, written);

  if (job.is_main()) PrintResult(progress->curve.back());
  const absl::Status left = job.Leave();
  return left.ok() ? 0 : Fail(left);
}

// Goes on in the next epoch of the job when a member is lost or out of reach, or when newcomers
// wait. If the job is not elastic, the first loss ends the program.
int Run(muster::Job& job, const Flags& flags) {
  Progress progress;
  while (true) {
    const absl::StatusOr<int> exit_status = Work(job, flags, &progress);
    if (exit_status.ok()) return *exit_status;
    if (const absl::Status rejoined = job.Rejoin(); !rejoined.ok()) {
      const absl::Status& first = exit_status.status();  // the first cause
      if (rejoined.message() != first.message()) Fail(rejoined);
      return Fail(first);
    }
  }
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  digits::Flags flags;
  if (const std::optional<int> status = digits::ParseFlags(argc, argv, &flags)) return *status;
  // Blocks until every member of the job has joined.
  absl::StatusOr<std::unique_ptr<muster::Job>> job =
      muster::Job::Join(muster::JobOptions::FromEnvironment());
  if (!job.ok()) return digits::Fail(job.status());
  return digits::Run(**job, flags);
}
