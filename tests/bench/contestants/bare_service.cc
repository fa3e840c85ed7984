// The service of bare.proto for a number of ranks: bare_service HOST:PORT PORT_FILE RANKS. Runs
// until it is killed. With port 0, it listens on a free one, which it writes to the file.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "bench/contestants/bare.grpc.pb.h"
#include "grpcpp/server_builder.h"

namespace muster::bare {
namespace {

using Reactor = grpc::ServerUnaryReactor;

// Takes requests as bytes. The concatenation of several requests is one message with all their
// values.
using Base = BareService::WithRawCallbackMethod_Meet<BareService::WithCallbackMethod_Acquire<
    BareService::WithCallbackMethod_Publish<BareService::Service>>>;

class Service final : public Base {
 public:
  explicit Service(size_t ranks) : ranks_(ranks) {}

  Reactor* Meet(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                grpc::ByteBuffer* response) override {
    Reactor* const reactor = context->DefaultReactor();
    const std::vector<Parked> met = Arrive({reactor, request, response});
    if (!met.empty()) AnswerAll(met);
    return reactor;
  }

  Reactor* Acquire(grpc::CallbackServerContext* context, const Lease* request,
                   Values* response) override {
    Reactor* const reactor = context->DefaultReactor();
    if (Granted(request->name(), {reactor, response})) reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  Reactor* Publish(grpc::CallbackServerContext* context, const Lease* request, Values*) override {
    for (const Waiter& waiter : TakeWaiters(*request)) {
      waiter.response->add_values(request->value());
      waiter.reactor->Finish(grpc::Status::OK);
    }
    Reactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  struct Parked {
    Reactor* reactor;
    const grpc::ByteBuffer* request;
    grpc::ByteBuffer* response;
  };
  struct Waiter {
    Reactor* reactor;
    Values* response;
  };
  struct Work {
    bool held = false;
    bool published = false;
    std::string value;
    std::vector<Waiter> waiters;
  };

  // Returns all parked calls at the last arrival, and none before.
  std::vector<Parked> Arrive(const Parked& call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    parked_.push_back(call);
    if (parked_.size() < ranks_) return {};
    return std::exchange(parked_, {});
  }

  static void AnswerAll(const std::vector<Parked>& calls) {
    std::vector<grpc::Slice> all;
    for (const Parked& call : calls) {
      std::vector<grpc::Slice> slices;
      call.request->Dump(&slices);
      for (grpc::Slice& slice : slices) all.push_back(std::move(slice));
    }
    const grpc::ByteBuffer answer(all.data(), all.size());
    for (const Parked& call : calls) {
      *call.response = answer;
      call.reactor->Finish(grpc::Status::OK);
    }
  }

  // Returns whether to answer at once: the first caller, and callers that come when the value is
  // there.
  bool Granted(const std::string& name, const Waiter& caller) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Work& work = works_[name];
    if (!work.held) return work.held = true;
    if (!work.published) work.waiters.push_back(caller);
    if (work.published) caller.response->add_values(work.value);
    return work.published;
  }

  std::vector<Waiter> TakeWaiters(const Lease& published) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Work& work = works_[published.name()];
    work.published = true;
    work.value = published.value();
    return std::exchange(work.waiters, {});
  }

  const size_t ranks_;
  std::mutex mutex_;
  std::vector<Parked> parked_;
  std::map<std::string, Work> works_;
};

bool WritePort(const std::string& path, int port) {
  const std::string unfinished = path + ".new";
  FILE* const file = std::fopen(unfinished.c_str(), "w");
  if (file == nullptr) return false;
  std::fprintf(file, "%d\n", port);
  return std::fclose(file) == 0 && std::rename(unfinished.c_str(), path.c_str()) == 0;
}

int Main(const std::string& address, const std::string& port_file, size_t ranks) {
  // As in musterd: Debian's Abseil, which gRPC uses, checks for deadlocks at every lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Service service(ranks);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || !WritePort(port_file, port)) return 1;
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace muster::bare

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return muster::bare::Main(argv[1], argv[2], std::strtoul(argv[3], nullptr, 10));
}
