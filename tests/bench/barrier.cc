// What a barrier costs through the real service, against its floor: a bare gRPC service that parks
// unary calls until all have come. Both run in this process, in turns, so that what the machine
// does meanwhile hits both; the ratio is the figure to look at.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "grpcpp/server_builder.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "server/service/server.h"
#include "spdlog/spdlog.h"
#include "tests/server/service/test_member.h"

namespace muster::testing {
namespace {

// Parks each Barrier until `members` have come; looks at nothing and checks nothing.
class FloorService final : public v1::CoordinatorService::CallbackService {
 public:
  explicit FloorService(size_t members) : members_(members) {}

  grpc::ServerUnaryReactor* Barrier(grpc::CallbackServerContext* context, const v1::BarrierRequest*,
                                    v1::BarrierResponse*) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    for (grpc::ServerUnaryReactor* released : Arrive(reactor)) released->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  // All of them at the last arrival, else none.
  std::vector<grpc::ServerUnaryReactor*> Arrive(grpc::ServerUnaryReactor* reactor) {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(reactor);
    if (waiting_.size() < members_) return {};
    return std::exchange(waiting_, {});
  }

  const size_t members_;
  std::mutex mutex_;
  std::vector<grpc::ServerUnaryReactor*> waiting_;
};

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "barrier: %s\n", status.ToString().c_str());
  std::exit(1);
}

void CheckOk(const absl::Status& status) {
  if (!status.ok()) Die(status);
}

// One channel for all, or one for each.
std::vector<std::shared_ptr<grpc::Channel>> Channels(const std::string& address, int members,
                                                     bool own) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < members; ++i) {
    channels.push_back(own || i == 0 ? Connect(address) : channels[0]);
  }
  return channels;
}

// One side of the comparison: `members` callers, each with a thread and a stub of its own.
class Side {
 public:
  virtual ~Side() = default;
  virtual void Barrier(int member) = 0;
};

class Ours final : public Side {
 public:
  Ours(int members, bool own_channels) {
    service::ServerOptions options;
    options.listen_address = "127.0.0.1:0";
    absl::StatusOr<std::unique_ptr<service::Server>> server =
        service::Server::Start(std::move(options));
    CheckOk(server.status());
    server_ = *std::move(server);
    for (const auto& channel : Channels(server_->address(), members, own_channels)) {
      members_.push_back(std::make_unique<TestMember>(channel, TestMember::Options()));
      CheckOk(members_.back()->Attach());
    }
    std::vector<std::thread> joins;
    for (auto& member : members_) {
      joins.emplace_back([&member, members] { CheckOk(member->Join(members).status()); });
    }
    for (std::thread& join : joins) join.join();
  }

  void Barrier(int member) override { CheckOk(members_[member]->Barrier()); }

 private:
  std::unique_ptr<service::Server> server_;
  std::vector<std::unique_ptr<TestMember>> members_;
};

class Floor final : public Side {
 public:
  Floor(int members, bool own_channels) : service_(members) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    const std::string address = absl::StrCat("127.0.0.1:", port);
    for (const auto& channel : Channels(address, members, own_channels)) {
      stubs_.push_back(v1::CoordinatorService::NewStub(channel));
    }
  }

  void Barrier(int member) override {
    grpc::ClientContext context;
    v1::BarrierResponse response;
    CheckOk(FromGrpc(stubs_[member]->Barrier(&context, v1::BarrierRequest(), &response)));
  }

 private:
  FloorService service_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<Stub>> stubs_;
};

// Microseconds per barrier: what a caller waits, and what it costs client and server together in
// processor time. On a machine that is busy with other things the second is the steadier one.
struct Cost {
  double wall = 0;
  double cpu = 0;
};

double CpuMicros() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& t) { return t.tv_sec * 1e6 + t.tv_usec; };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

Cost Measure(Side& side, int members, int barriers) {
  absl::BlockingCounter ready(members);
  absl::Notification go;
  std::vector<std::thread> threads;
  for (int member = 0; member < members; ++member) {
    threads.emplace_back([&, member] {
      ready.DecrementCount();
      go.WaitForNotification();
      for (int i = 0; i < barriers; ++i) side.Barrier(member);
    });
  }
  ready.Wait();
  const double cpu_start = CpuMicros();
  const auto start = std::chrono::steady_clock::now();
  go.Notify();
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - start;
  return {elapsed.count() / barriers, (CpuMicros() - cpu_start) / barriers};
}

// Quartiles of what the rounds gave.
struct Spread {
  explicit Spread(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    low = values[values.size() / 4];
    median = values[values.size() / 2];
    high = values[values.size() * 3 / 4];
  }
  double low, median, high;
};

void PrintRow(int members, const char* what, const std::vector<double>& ours,
              const std::vector<double>& floor) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / floor[i]);
  const Spread ratio(std::move(ratios));
  std::printf("%7d  %-4s %12.0f %12.0f %8.2f   %.2f to %.2f\n", members, what, Spread(ours).median,
              Spread(floor).median, ratio.median, ratio.low, ratio.high);
  std::fflush(stdout);
}

void Compare(int members, int rounds, int calls, bool own_channels) {
  Ours ours(members, own_channels);
  Floor floor(members, own_channels);
  const int barriers = std::max(1, calls / members);
  Measure(ours, members, barriers);  // connects and warms up
  Measure(floor, members, barriers);
  std::vector<double> our_wall, our_cpu, floor_wall, floor_cpu;
  for (int round = 0; round < rounds; ++round) {
    const Cost our = Measure(ours, members, barriers);
    const Cost bare = Measure(floor, members, barriers);
    our_wall.push_back(our.wall);
    our_cpu.push_back(our.cpu);
    floor_wall.push_back(bare.wall);
    floor_cpu.push_back(bare.cpu);
  }
  PrintRow(members, "wall", our_wall, floor_wall);
  PrintRow(members, "cpu", our_cpu, floor_cpu);
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  std::vector<int> members = {2, 8, 32, 128};
  int rounds = 21;
  int calls = 4000;
  bool own_channels = false;
  CLI::App app("Barriers through musterd's service, against a bare parked gRPC call.", "barrier");
  app.add_option("--members", members, "Numbers of members to measure")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--rounds", rounds, "Rounds of each, in turns")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--calls", calls, "Calls in each round, of all members together")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_flag("--own-channels", own_channels, "One connection for each member, not one for all");
  CLI11_PARSE(app, argc, argv);
  spdlog::set_level(spdlog::level::off);
  std::printf("%s; us per barrier, medians of %d rounds\n",
              own_channels ? "one connection per member" : "one connection for all members",
              rounds);
  std::printf("members  time         ours        floor    ratio   its quartiles\n");
  for (const int count : members) {
    muster::testing::Compare(count, rounds, calls, own_channels);
  }
}
