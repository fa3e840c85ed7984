// One rank of control_plane.cc or store.cc: control_plane_rank muster|store|bare FOLDER RANK RANKS.
// It reads commands, one a line, from the pipe FOLDER/commands.RANK. It answers each with a line in
// FOLDER/replies, "RANK WORD NUMBER...":
//
//   (start)                          up
//   join ADDRESS                     joined BEGIN END CPU    nanoseconds; BEGIN and END of the
//                                                            machine's monotonic clock
//   run OPERATION BYTES FIRST COUNT  ran WALL MEDIAN CPU     nanoseconds: of all COUNT operations,
//                                                            of the median one, of all
//   clean OPERATION FIRST COUNT      cleaned                 not muster and bare: removes the keys
//                                                            that these operations have left
//   leave                            left
//
// A failure is answered with "RANK failed TEXT". The process ends when the pipe does. The ranks of
// peers, in Python, speak the same protocol.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/contestants/bare.grpc.pb.h"
#include "common/rpc/grpc_status.h"
#include "muster/job.h"
#include "tests/bench/common/clocks.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

namespace muster::testing {
namespace {

absl::Status WrongAnswer() { return absl::InternalError("an answer is not what was sent"); }

// The operations that all sides of the comparison have.
class Side {
 public:
  virtual ~Side() = default;
  virtual absl::Status Join(const std::string& address) = 0;
  virtual absl::Status Barrier() = 0;
  virtual absl::Status Broadcast(int root, const std::string& value) = 0;
  virtual absl::Status AllGather(const std::string& value) = 0;
  virtual absl::Status Lease(const std::string& name, const std::string& value) = 0;
  virtual absl::Status Leave() = 0;

  // The operations of store.cc.
  virtual absl::Status Set(const std::string&) { return absl::UnimplementedError("set"); }
  virtual absl::Status Get(const std::string&) { return absl::UnimplementedError("get"); }
  virtual absl::Status Add() { return absl::UnimplementedError("add"); }
  virtual absl::Status Mesh(int64_t, const std::string&) {
    return absl::UnimplementedError("mesh");
  }
  virtual absl::Status CleanMesh(int64_t /*first*/, int64_t /*count*/) { return absl::OkStatus(); }
};

// Muster as programs use it: its configuration is in the environment.
class Muster : public Side {
 public:
  absl::Status Join(const std::string&) override {
    absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(JobOptions::FromEnvironment());
    if (!job.ok()) return job.status();
    job_ = *std::move(job);
    return absl::OkStatus();
  }
  absl::Status Barrier() override { return job_->Barrier(); }
  absl::Status Broadcast(int root, const std::string& value) override {
    const auto got = job_->Broadcast(job_->rank() == root ? value : std::string(), root);
    if (!got.ok()) return got.status();
    return got->size() == value.size() ? absl::OkStatus() : WrongAnswer();
  }
  absl::Status AllGather(const std::string& value) override {
    const auto got = job_->AllGather(value);
    if (!got.ok()) return got.status();
    const bool whole = static_cast<int>(got->size()) == job_->world_size();
    return whole && got->back().size() == value.size() ? absl::OkStatus() : WrongAnswer();
  }
  absl::Status Lease(const std::string& name, const std::string& value) override {
    const absl::StatusOr<std::string> got = job_->RunOncePerJob(name, [&] { return value; });
    if (!got.ok()) return got.status();
    return *got == value ? absl::OkStatus() : WrongAnswer();
  }
  absl::Status Leave() override { return job_->Leave(); }

 protected:
  std::unique_ptr<Job> job_;
};

// Job::store(), with the keys of tcpstore_ranks.py.
class MustersStore final : public Muster {
 public:
  absl::Status Join(const std::string& address) override {
    if (absl::Status joined = Muster::Join(address); !joined.ok()) return joined;
    own_ = absl::StrCat("value/", job_->rank());
    return Barrier();
  }
  absl::Status Barrier() override {
    return job_->store().Barrier("barrier", job_->world_size()).status();
  }
  absl::Status Set(const std::string& value) override { return job_->store().Set(own_, value); }
  absl::Status Get(const std::string& value) override { return GetKey(own_, value); }
  absl::Status Add() override { return job_->store().Add("sum", 1).status(); }
  absl::Status Mesh(int64_t number, const std::string& value) override {
    absl::Status set = job_->store().Set(MeshKey(number, job_->rank()), value);
    if (!set.ok()) return set;
    for (int rank = 0; rank < job_->world_size(); ++rank) {
      if (absl::Status got = GetKey(MeshKey(number, rank), value); !got.ok()) return got;
    }
    return absl::OkStatus();
  }
  absl::Status CleanMesh(int64_t first, int64_t count) override {
    for (int64_t number = first; number < first + count; ++number) {
      const auto deleted = job_->store().Delete(MeshKey(number, job_->rank()));
      if (!deleted.ok()) return deleted.status();
    }
    return absl::OkStatus();
  }

 private:
  static std::string MeshKey(int64_t number, int rank) {
    return absl::StrCat("mesh/", number, "/", rank);
  }
  absl::Status GetKey(const std::string& key, const std::string& value) {
    const absl::StatusOr<std::string> got = job_->store().Get(key);
    if (!got.ok()) return got.status();
    return got->size() == value.size() ? absl::OkStatus() : WrongAnswer();
  }

  std::string own_;  // the key that this rank sets
};

// The floor: generated stubs, blocking calls, and a connection for each rank.
class Bare final : public Side {
 public:
  Bare(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  absl::Status Join(const std::string& address) override {
    stub_ = bare::BareService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    return Barrier();
  }
  absl::Status Barrier() override { return Meet(bare::Values()).status(); }
  absl::Status Broadcast(int root, const std::string& value) override {
    bare::Values request;
    if (rank_ == root) request.add_values(value);
    return Check(Meet(request), 1, value.size());
  }
  absl::Status AllGather(const std::string& value) override {
    bare::Values request;
    request.add_values(value);
    return Check(Meet(request), ranks_, value.size());
  }
  absl::Status Lease(const std::string& name, const std::string& value) override {
    bare::Lease lease;
    lease.set_name(name);
    const auto got = Call(&Stub::Acquire, lease);
    if (!got.ok() || got->values_size() > 0) return Check(got, 1, value.size());
    lease.set_value(value);
    return Call(&Stub::Publish, lease).status();
  }
  absl::Status Leave() override { return Barrier(); }

 private:
  using Stub = bare::BareService::Stub;

  template <typename Request>
  absl::StatusOr<bare::Values> Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                 const Request&, bare::Values*),
                                    const Request& request) {
    grpc::ClientContext context;
    bare::Values response;
    const grpc::Status status = ((*stub_).*method)(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response;
  }
  absl::StatusOr<bare::Values> Meet(const bare::Values& request) {
    return Call(&Stub::Meet, request);
  }
  static absl::Status Check(const absl::StatusOr<bare::Values>& got, int count, size_t bytes) {
    if (!got.ok()) return got.status();
    const bool whole = got->values_size() == count && got->values(0).size() == bytes;
    return whole ? absl::OkStatus() : WrongAnswer();
  }

  const int rank_;
  const int ranks_;
  std::unique_ptr<Stub> stub_;
};

class Rank {
 public:
  Rank(std::unique_ptr<Side> side, const std::string& folder, int rank, int ranks)
      : side_(std::move(side)),
        rank_(rank),
        ranks_(ranks),
        commands_(absl::StrCat(folder, "/commands.", rank)),
        replies_(open(absl::StrCat(folder, "/replies").c_str(), O_WRONLY | O_CLOEXEC)) {}

  int Run() {
    Reply("up");
    for (std::string line; std::getline(commands_, line);) {
      std::istringstream words(line);
      if (const absl::Status done = Do(words); !done.ok()) {
        Reply("failed ", absl::StrReplaceAll(done.ToString(), {{"\n", " "}}));
        return 1;
      }
    }
    return 0;
  }

 private:
  absl::Status Do(std::istream& words) {
    std::string command;
    words >> command;
    if (command == "join") return Join(words);
    if (command == "run") return RunOperations(words);
    if (command == "clean") return Clean(words);
    const absl::Status left = side_->Leave();
    if (left.ok()) Reply("left");
    return left;
  }

  absl::Status Join(std::istream& words) {
    std::string address;
    words >> address;
    const int64_t cpu = Nanos(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t begin = Nanos(CLOCK_MONOTONIC);
    const absl::Status joined = side_->Join(address);
    const int64_t end = Nanos(CLOCK_MONOTONIC);
    const int64_t used = Nanos(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (joined.ok()) Reply("joined ", begin, " ", end, " ", used);
    return joined;
  }

  absl::Status Clean(std::istream& words) {
    std::string operation;
    int64_t first = 0;
    int64_t count = 0;
    words >> operation >> first >> count;
    const absl::Status cleaned = operation == "mesh" || operation == "gloo"
                                     ? side_->CleanMesh(first, count)
                                     : absl::OkStatus();
    if (cleaned.ok()) Reply("cleaned");
    return cleaned;
  }

  absl::Status RunOperations(std::istream& words) {
    std::string operation;
    size_t bytes = 0;
    int64_t first = 0;
    int count = 0;
    words >> operation >> bytes >> first >> count;
    const std::string value(bytes, 'x');
    const bool reads = operation == "get";
    const bool sets = operation == "set";
    if (reads) {
      if (const absl::Status set = side_->Set(value); !set.ok()) return set;
    }
    std::vector<int64_t> ends;
    ends.reserve(count + 1);
    // The barrier makes all ranks begin together.
    if (const absl::Status met = side_->Barrier(); !met.ok()) return met;
    CALLGRIND_ZERO_STATS;
    const int64_t cpu = Nanos(CLOCK_PROCESS_CPUTIME_ID);
    ends.push_back(Nanos(CLOCK_MONOTONIC));
    for (int64_t number = first; number < first + count; ++number) {
      if (const absl::Status done = One(operation, value, number); !done.ok()) return done;
      ends.push_back(Nanos(CLOCK_MONOTONIC));
    }
    // PyTorch's sets have no answer, so one read waits for all of them.
    if (sets) {
      if (const absl::Status got = side_->Get(value); !got.ok()) return got;
      ends.back() = Nanos(CLOCK_MONOTONIC);
    }
    const int64_t used = Nanos(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    CALLGRIND_DUMP_STATS_AT("run");
    Reply("ran ", ends.back() - ends.front(), " ", MedianStep(ends), " ", used);
    return absl::OkStatus();
  }

  absl::Status One(const std::string& operation, const std::string& value, int64_t number) {
    if (operation == "barrier") return side_->Barrier();
    // The root changes with each operation, so that no rank runs ahead of the others.
    if (operation == "broadcast") return side_->Broadcast(number % ranks_, value);
    if (operation == "all-gather") return side_->AllGather(value);
    if (operation == "get") return side_->Get(value);
    if (operation == "set") return side_->Set(value);
    if (operation == "set-get") {
      const absl::Status set = side_->Set(value);
      return set.ok() ? side_->Get(value) : set;
    }
    if (operation == "add") return side_->Add();
    if (operation == "mesh" || operation == "gloo") return side_->Mesh(number, value);
    return side_->Lease(absl::StrCat("lease ", number), value);
  }

  static int64_t MedianStep(const std::vector<int64_t>& ends) {
    std::vector<int64_t> steps;
    for (size_t i = 1; i < ends.size(); ++i) steps.push_back(ends[i] - ends[i - 1]);
    std::sort(steps.begin(), steps.end());
    return steps[steps.size() / 2];
  }

  // Replies in one write, which pipes do not split.
  template <typename... Words>
  void Reply(const Words&... words) {
    const std::string line = absl::StrCat(rank_, " ", words..., "\n");
    if (write(replies_, line.data(), line.size()) < 0) _exit(1);
  }

  const std::unique_ptr<Side> side_;
  const int rank_;
  const int ranks_;
  std::ifstream commands_;
  const int replies_;
};

int Main(const std::string& side, const std::string& folder, int rank, int ranks) {
  std::unique_ptr<Side> chosen;
  if (side == "muster") chosen = std::make_unique<Muster>();
  if (side == "store") chosen = std::make_unique<MustersStore>();
  if (side == "bare") chosen = std::make_unique<Bare>(rank, ranks);
  return Rank(std::move(chosen), folder, rank, ranks).Run();
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  return muster::testing::Main(argv[1], argv[2], std::stoi(argv[3]), std::stoi(argv[4]));
}
