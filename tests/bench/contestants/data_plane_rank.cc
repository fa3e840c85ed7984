// One rank of data_plane.cc: data_plane_rank shared|connections|gloo FOLDER RANK RANKS ADDRESS. It
// reads commands, one a line, from the pipe FOLDER/commands.RANK. It answers each with a line in
// FOLDER/replies, "RANK WORD NUMBER...":
//
//   (start)                     up           connected to all others
//   run OPERATION BYTES COUNT   ran WALL     nanoseconds of all COUNT operations
//   leave                       left
//
// A failure is answered with "RANK failed TEXT". The process ends when the pipe does.
// open_mpi_rank.c speaks the same protocol.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gloo/allgather.h"
#include "gloo/allreduce.h"
#include "gloo/barrier.h"
#include "gloo/broadcast.h"
#include "gloo/math.h"
#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/file_store.h"
#include "gloo/transport/tcp/device.h"
#include "muster/communicator.h"
#include "muster/job.h"
#include "tests/bench/common/clocks.h"

namespace muster::testing {
namespace {

// The operations that all sides of the comparison have.
class Side {
 public:
  virtual ~Side() = default;
  virtual absl::Status Barrier() = 0;
  virtual absl::Status AllReduce(std::vector<float>* data) = 0;
  virtual absl::Status Broadcast(std::vector<float>* data) = 0;
  virtual absl::Status AllGather(const std::vector<float>& part, std::vector<float>* all) = 0;
};

// Muster as programs use it: its configuration is in the environment.
class Muster final : public Side {
 public:
  static absl::StatusOr<std::unique_ptr<Side>> Connect() {
    auto side = std::make_unique<Muster>();
    absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(JobOptions::FromEnvironment());
    if (!job.ok()) return job.status();
    side->job_ = *std::move(job);
    auto comm = Communicator::Create(*side->job_);
    if (!comm.ok()) return comm.status();
    side->comm_ = *std::move(comm);
    return side;
  }

  absl::Status Barrier() override { return comm_->Barrier(); }
  absl::Status AllReduce(std::vector<float>* data) override { return comm_->AllReduce(*data); }
  absl::Status Broadcast(std::vector<float>* data) override { return comm_->Broadcast(*data); }
  absl::Status AllGather(const std::vector<float>& part, std::vector<float>* all) override {
    return comm_->AllGather(part, *all);
  }

 private:
  std::unique_ptr<Job> job_;
  std::unique_ptr<Communicator> comm_;  // destroyed first
};

// Bare Gloo, the library that Muster's connections use.
class Gloo final : public Side {
 public:
  Gloo(const std::string& folder, int rank, int ranks, const std::string& address)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, ranks)) {
    gloo::rendezvous::FileStore store(folder);
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice({address.c_str()});
    context_->connectFullMesh(store, device);
  }

  absl::Status Barrier() override {
    gloo::BarrierOptions options(context_);
    options.setTag(++tag_);
    gloo::barrier(options);
    return absl::OkStatus();
  }
  absl::Status AllReduce(std::vector<float>* data) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(data->data(), data->size());
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    options.setTag(++tag_);
    gloo::allreduce(options);
    return absl::OkStatus();
  }
  absl::Status Broadcast(std::vector<float>* data) override {
    gloo::BroadcastOptions options(context_);
    options.setOutput(data->data(), data->size());
    options.setRoot(0);
    options.setTag(++tag_);
    gloo::broadcast(options);
    return absl::OkStatus();
  }
  absl::Status AllGather(const std::vector<float>& part, std::vector<float>* all) override {
    gloo::AllgatherOptions options(context_);
    options.setInput(const_cast<float*>(part.data()), part.size());
    options.setOutput(all->data(), all->size());
    options.setTag(++tag_);
    gloo::allgather(options);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<gloo::rendezvous::Context> context_;
  uint32_t tag_ = 0;
};

class Rank {
 public:
  Rank(const std::string& folder, int rank, int ranks)
      : rank_(rank),
        ranks_(ranks),
        commands_(absl::StrCat(folder, "/commands.", rank)),
        replies_(open(absl::StrCat(folder, "/replies").c_str(), O_WRONLY | O_CLOEXEC)) {}

  int Run(absl::StatusOr<std::unique_ptr<Side>> side) {
    if (!side.ok()) return Fail(side.status());
    side_ = *std::move(side);
    Reply("up");
    for (std::string line; std::getline(commands_, line);) {
      std::istringstream words(line);
      if (const absl::Status done = Do(words); !done.ok()) return Fail(done);
    }
    return 0;
  }

 private:
  absl::Status Do(std::istream& words) {
    std::string command, operation;
    size_t bytes = 0;
    int count = 0;
    words >> command >> operation >> bytes >> count;
    if (command == "run") return RunOperations(OperationOf(operation, bytes), count);
    Reply("left");
    return absl::OkStatus();
  }

  // Returns the operation. `bytes` is the size of a rank's data afterwards.
  std::function<absl::Status()> OperationOf(const std::string& operation, size_t bytes) {
    data_.assign(bytes / sizeof(float), 1);
    if (operation == "all-reduce") return [this] { return side_->AllReduce(&data_); };
    if (operation == "broadcast") return [this] { return side_->Broadcast(&data_); };
    part_.assign(data_.size() / ranks_, 1);
    data_.resize(part_.size() * ranks_);
    return [this] { return side_->AllGather(part_, &data_); };
  }

  // Runs the operations. The first one warms up. Barriers make all ranks begin and end together,
  // since the root of a broadcast could run far ahead.
  absl::Status RunOperations(const std::function<absl::Status()>& operation, int count) {
    if (const absl::Status done = operation(); !done.ok()) return done;
    if (const absl::Status met = side_->Barrier(); !met.ok()) return met;
    const int64_t begin = Nanos(CLOCK_MONOTONIC);
    for (int i = 0; i < count; ++i) {
      if (const absl::Status done = operation(); !done.ok()) return done;
    }
    if (const absl::Status met = side_->Barrier(); !met.ok()) return met;
    Reply("ran ", Nanos(CLOCK_MONOTONIC) - begin);
    return absl::OkStatus();
  }

  int Fail(const absl::Status& why) {
    Reply("failed ", absl::StrReplaceAll(why.ToString(), {{"\n", " "}}));
    return 1;
  }

  // Replies in one write, which pipes do not split.
  template <typename... Words>
  void Reply(const Words&... words) {
    const std::string line = absl::StrCat(rank_, " ", words..., "\n");
    if (write(replies_, line.data(), line.size()) < 0) _exit(1);
  }

  std::unique_ptr<Side> side_;
  const int rank_;
  const int ranks_;
  std::ifstream commands_;
  const int replies_;
  std::vector<float> data_, part_;
};

// `address`: the address of the node, for bare Gloo.
int Main(const std::string& side, const std::string& folder, int rank, int ranks,
         const std::string& address) {
  Rank self(folder, rank, ranks);
  if (side != "gloo") return self.Run(Muster::Connect());
  return self.Run(std::make_unique<Gloo>(folder, rank, ranks, address));
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  return muster::testing::Main(argv[1], argv[2], std::stoi(argv[3]), std::stoi(argv[4]), argv[5]);
}
