// The examples at the heads of the public headers. docs_test.py compares them line by line. They
// are compiled, but not run.

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "google/protobuf/wrappers.pb.h"
#include "muster/muster.h"
#include "muster/protobuf.h"
#include "muster/toolkits.h"

namespace muster_examples {

struct Thing {
  std::string name;
};

struct TrainConfig {};

void MyLog(absl::string_view line);
void PrepareNextBatch();
void ReportNode(const std::string& node, const std::string& cause);
void Save(const std::optional<muster::Configuration>& config);
void WriteReport(muster::Job& job);
absl::Status Run(muster::Job& job);
absl::Status Train(const TrainConfig& config);
absl::Status Use(const absl::StatusOr<std::string>& result);
absl::StatusOr<std::string> Extract(uint64_t token);

}  // namespace muster_examples

using muster_examples::Thing;

// muster/codec.h
template <>
struct muster::Codec<Thing> {
  static std::string TypeName() { return "Thing"; }  // the same on all ranks
  static void Append(const Thing& thing, std::string* out) {
    Codec<std::string>::Append(thing.name, out);
  }
  static absl::StatusOr<Thing> Read(absl::string_view* in) {  // consumes what it reads
    absl::StatusOr<std::string> name = Codec<std::string>::Read(in);
    if (!name.ok()) return name.status();
    return Thing{*name};
  }
};

namespace muster_examples {

// muster/job.h
absl::Status JoinAndLeave() {
  absl::StatusOr<std::unique_ptr<muster::Job>> job =
      muster::Job::Join(muster::JobOptions::FromEnvironment());
  if (!job.ok()) return job.status();
  std::cout << "rank " << (*job)->rank() << " of " << (*job)->world_size() << std::endl;
  absl::Status met = (*job)->Barrier("data loaded");
  if (!met.ok()) return met;  // names the lost or missing rank, its node and why
  return (*job)->Leave();
}

// muster/job_options.h
absl::Status Options() {
  absl::StatusOr<muster::JobOptions> options = muster::JobOptions::FromEnvironment();
  if (options.ok()) options->timeout = absl::Minutes(5);
  absl::StatusOr<std::unique_ptr<muster::Job>> job = muster::Job::Join(options);
  return job.status();
}

// muster/call_options.h
absl::Status CallWithOptions(muster::Job& job, muster::Cancellation& cancellation) {
  muster::CallOptions options;
  options.timeout = absl::Minutes(2);
  options.cancellation = &cancellation;  // another thread calls cancellation.Cancel()
  absl::Status met = job.Barrier("loaded", options);
  return met;
}

// muster/error_facts.h
void WhomAnErrorNames(muster::Job& job) {
  const absl::Status status = job.Barrier("loaded");
  const muster::ErrorFacts facts = muster::FactsOf(status);
  if (absl::IsAborted(status) && !facts.node.empty()) ReportNode(facts.node, facts.cause);
}

// muster/group.h
absl::Status Groups(muster::Job& job) {
  absl::StatusOr<muster::Group> evens = job.NewGroup("evens", {0, 2});
  if (!evens.ok()) return evens.status();
  absl::StatusOr<int64_t> samples = evens->AllReduce(int64_t{128});  // the sum, on every rank
  if (!samples.ok()) return samples.status();  // names the missing rank, its node and why
  absl::StatusOr<std::string> config = evens->Broadcast(std::string("lr=0.1"), 0);
  return config.status();
}

// muster/lease.h
absl::Status Leases(muster::Job& job) {
  absl::StatusOr<muster::Lease> lease = job.AcquireLease("extract", muster::LeaseScope::kNode);
  if (!lease.ok()) return lease.status();
  if (!lease->held()) return Use(lease->result());  // another process has done the work
  return lease->Publish(Extract(lease->token()));
}

// muster/store.h
absl::Status Keys(muster::Job& job) {
  muster::Store store = job.store();
  if (job.is_main()) {
    absl::Status set = store.Set("port", "7001");
    if (!set.ok()) return set;
  }
  absl::StatusOr<std::string> port = store.Get("port");  // waits for the key
  if (!port.ok()) return port.status();
  absl::StatusOr<int64_t> ticket = store.Add("tickets", 1);
  return ticket.status();
}

// muster/scopes.h
void Scopes(muster::Job& job) {
  if (muster::MainScope main{job}) WriteReport(job);
}

// muster/exit_code.h
int Exit(const absl::StatusOr<std::unique_ptr<muster::Job>>& job) {
  const absl::Status status = Run(**job);
  if (!status.ok()) std::cerr << status.message() << std::endl;
  muster::WriteTerminationReason(status.message());
  return muster::ExitCode(status);
}

// muster/or_die.h
int Die() {
  auto job = muster::OrDie(muster::Job::Join(muster::JobOptions::FromEnvironment()));
  muster::OrDie(job->Barrier("loaded"));
  const int total = muster::OrDie(job->AllReduce(1));
  muster::OrDie(job->Leave());
  return total;
}

// muster/log.h
void Logs() {
  muster::SetLogSink([](muster::LogLevel level, absl::string_view line) {
    if (level >= muster::LogLevel::kInfo) MyLog(line);
  });
}

// muster/launch.h
absl::Status Launches(const TrainConfig& config) {
  muster::LaunchOptions options;
  options.nproc_per_node = 4;
  absl::StatusOr<muster::LaunchResult> result = muster::Launch(options, Train, config);
  if (!result.ok()) return result.status();  // no process ran
  return result->status();                   // OK if every process has returned OK
}

// muster/communicator.h
absl::Status Gradients(muster::Job& job) {
  auto communicator = muster::Communicator::Create(job);  // NCCL on GPUs, Gloo on CPUs
  if (!communicator.ok()) return communicator.status();
  std::vector<float> gradients(1000);
  absl::Status reduced = (*communicator)->AllReduce(gradients, muster::ReduceOp::kAverage);
  if (!reduced.ok()) return reduced;  // names the lost rank, its node and why
  return absl::OkStatus();
}

// muster/pending_operation.h
absl::Status Overlap(muster::Communicator& communicator, std::vector<float>& gradients) {
  muster::PendingOperation reducing =
      communicator.Start([&](muster::Communicator& c) { return c.AllReduce(gradients); });
  PrepareNextBatch();
  return reducing.Wait();
}

// muster/tensor.h
absl::Status Tensors() {
  std::vector<float> weights(6);
  muster::TensorView view = muster::ViewOf(weights, {2, 3});
  absl::StatusOr<absl::Span<const float>> elements = view.As<float>();
  return elements.status();
}

// muster/tensor_operations.h
absl::Status Average(muster::TensorOperations& comm, std::vector<float>& gradients) {
  const muster::MutableTensorView view = muster::MutableViewOf(gradients);
  return comm.AllReduce(view, view, muster::ReduceOp::kAverage);
}

// muster/parallel_exchange.h
absl::Status Exchange(muster::Job& job, const std::vector<float>& weights) {
  muster::Configuration mine;
  mine.json = "{\"layer\": 3}";
  mine.tensors["weights"] = muster::ViewOf(weights);
  absl::StatusOr<muster::ConfigurationExchange> all =
      muster::GetConfigsParallel(mine, {0, 1}, job.world());
  if (!all.ok()) return all.status();
  for (const std::optional<muster::Configuration>& config : all->values()) Save(config);
  return all->Release();
}

// muster/workspace.h
absl::Status Workspaces(muster::Job& job, const std::string& folder,
                        const std::vector<float>& weights) {
  absl::StatusOr<muster::Workspace> workspace = muster::Workspace::Open(folder, job.rank());
  if (!workspace.ok()) return workspace.status();
  absl::Status written = workspace->Write({"{\"layer\": 3}", {{"w", muster::ViewOf(weights)}}});
  if (!written.ok()) return written;
  absl::Status met = job.Barrier("written");
  if (!met.ok()) return met;
  absl::StatusOr<std::optional<muster::Configuration>> first = workspace->Read(0);
  return first.status();
}

// muster/protobuf.h
absl::Status Messages(muster::Job& job, const google::protobuf::StringValue& message) {
  absl::StatusOr<google::protobuf::StringValue> name = job.Broadcast(message);
  return name.status();
}

// muster/toolkits/current_job.h
absl::Status CurrentJob() {
  absl::Status joined = muster::toolkits::Initialize();
  if (!joined.ok()) return joined;
  absl::Status met = muster::toolkits::CurrentJob().Barrier();
  if (!met.ok()) return met;
  return muster::toolkits::Finalize();
}

// muster/toolkits/device.h
absl::Status Devices(muster::Job& job) {
  absl::StatusOr<std::string> device = muster::toolkits::DeviceOf(job);  // "cuda:3" or "cpu"
  if (!device.ok()) return device.status();
  muster::toolkits::ShowConfig(job);
  return absl::OkStatus();
}

// muster/toolkits/gather.h
absl::Status Hosts(muster::Job& job) {
  absl::StatusOr<std::vector<std::string>> hosts =
      muster::toolkits::AllGather(job, muster::toolkits::GetHostname());
  return hosts.status();
}

// muster/toolkits/run_on.h
absl::Status OnMain(muster::Job& job) {
  absl::StatusOr<std::string> id =
      muster::toolkits::MainOnly(job, [] { return std::string("run 7"); });  // on every rank
  return id.status();
}

// muster/toolkits/tensor_collectives.h
absl::Status TensorCollectives(muster::Job& job, std::vector<float>& gradients, int64_t count) {
  absl::Status reduced = muster::toolkits::AllReduce(job, absl::MakeSpan(gradients));  // sum
  if (!reduced.ok()) return reduced;
  absl::StatusOr<int64_t> samples = muster::toolkits::AllReduce(job, count);  // the sum
  return samples.status();
}

}  // namespace muster_examples
