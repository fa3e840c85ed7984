// One member process of recovery.cc: recovery_member MODE [ADDRESS] PIPE.
//
//   stuck      waits in a barrier that the last rank never joins, until a member is lost
//   reform     does the same, and then enters the next epoch
//   barriers   makes barriers until the process is killed
//   bare       without Muster: waits for one event of a bare gRPC stream at ADDRESS
#include "tests/bench/recovering/recovery_member.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "muster/job.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kLong = absl::Minutes(10);
constexpr absl::Duration kStep = absl::Milliseconds(5);  // the length of a training step

int Fail(const absl::Status& status) {
  std::cerr << "recovery_member: " << status << std::endl;
  return 1;
}

// Waits until the process is killed. If survivors did more after the error, they would take the
// processors from members that do not have the error yet.
[[noreturn]] void AwaitEnd() {
  while (true) pause();
}

absl::Status Stuck(Job& job, const Reporter& reporter) {
  reporter.Write(Report::kReady, job.rank());
  const bool last = job.rank() == job.world_size() - 1;
  const absl::Status status = last ? job.AwaitFailure(kLong) : job.Barrier("stuck");
  reporter.Write(Report::kLost, job.rank());
  return status;
}

absl::Status Reform(Job& job, const Reporter& reporter) {
  if (Stuck(job, reporter).ok()) return absl::InternalError("nobody was lost");
  if (const absl::Status status = job.Rejoin(); !status.ok()) return status;
  reporter.Write(Report::kReformed, job.rank());
  return job.Leave();
}

absl::Status Barriers(Job& job, const Reporter& reporter) {
  reporter.Write(Report::kReady, job.rank());
  while (true) {
    if (const absl::Status met = job.Barrier(); !met.ok()) return met;
    if (job.is_main()) reporter.Write(Report::kBarrier, 0);
    absl::SleepFor(kStep);
  }
}

int Bare(const std::string& address, const Reporter& reporter) {
  const auto stub = v1::CoordinatorService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Attach(&context, v1::AttachRequest());
  v1::AttachResponse event;
  if (!stream->Read(&event)) return Fail(absl::UnavailableError("no first event"));
  reporter.Write(Report::kReady, 0);
  if (!stream->Read(&event)) return Fail(absl::UnavailableError("no second event"));
  reporter.Write(Report::kLost, 0);
  AwaitEnd();
}

int Run(const std::string& mode, const Reporter& reporter) {
  auto job = Job::Join(JobOptions::FromEnvironment());
  if (!job.ok()) return Fail(job.status());
  if (mode == "stuck") {
    const absl::Status lost = Stuck(**job, reporter);
    if (!absl::IsAborted(lost)) return Fail(lost);
    AwaitEnd();
  }
  const absl::Status ended = mode == "reform" ? Reform(**job, reporter) : Barriers(**job, reporter);
  return ended.ok() ? 0 : Fail(ended);
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string mode = argv[1];
  const muster::testing::Reporter reporter(argv[argc - 1]);
  return mode == "bare" ? muster::testing::Bare(argv[2], reporter)
                        : muster::testing::Run(mode, reporter);
}
