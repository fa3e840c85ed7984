#include "tests/util/fakes/fake_job.h"

#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/src/group/group_state.h"
#include "tests/util/fakes/stub_control_plane.h"

namespace muster::testing {
namespace {

using Payloads = std::vector<std::string>;
using Callback = std::function<void(const absl::Status&)>;

// The collective in progress of one group.
struct Round {
  std::map<int, std::string> arrived;  // by index in the group
};

struct GroupRounds {
  Round open;
  int64_t completed = 0;
  std::map<int64_t, Payloads> results;
};

std::vector<Member> MakeMembers(const FakeJobOptions& options) {
  std::vector<Member> members;
  for (int rank = 0; rank < options.size; ++rank) {
    const int node = options.nodes.empty() ? rank : options.nodes[rank];
    members.push_back(Member{rank, 0, node, absl::StrCat("node-", node), "host", 1000 + rank,
                             std::nullopt, "", absl::StrCat("incarnation-", rank)});
    if (!options.one_pid) continue;
    members.back().node_id = "pod";
    members.back().pid = 1;
  }
  return members;
}

}  // namespace

struct FakeJob::State {
  explicit State(const FakeJobOptions& options) : options(options) {}

  const FakeJobOptions options;
  absl::Mutex mutex;
  std::map<std::string, GroupRounds> groups ABSL_GUARDED_BY(mutex);
  absl::Status failure ABSL_GUARDED_BY(mutex);
  int completed ABSL_GUARDED_BY(mutex) = 0;
  absl::Mutex callbacks_mutex;  // held while callbacks run
  int next_callback ABSL_GUARDED_BY(callbacks_mutex) = 0;
  std::map<int, Callback> callbacks ABSL_GUARDED_BY(callbacks_mutex);
};

class FakeJob::ControlPlane final : public StubControlPlane {
 public:
  ControlPlane(std::shared_ptr<State> state, int rank)
      : StubControlPlane("fake", MakeMembers(state->options), rank), state_(std::move(state)) {}

  absl::Duration default_timeout() const override { return state_->options.timeout; }
  std::string local_address() const override { return state_->options.local_address; }

  absl::StatusOr<Payloads> RunCollective(const std::string& group, const std::vector<int>& ranks,
                                         internal::CollectiveCall call,
                                         const CallOptions& options) override {
    if (call.kind != internal::CollectiveKind::kAllGather) {
      return absl::UnimplementedError("the fake job has AllGather only");
    }
    const size_t size = ranks.empty() ? members().size() : ranks.size();
    return AllGather(group, IndexIn(ranks), size, std::move(call.payload), options);
  }

  absl::Status health() const override {
    absl::MutexLock lock(&state_->mutex);
    return state_->failure;
  }
  absl::Status AwaitFailure(absl::Duration timeout) const override {
    absl::MutexLock lock(&state_->mutex);
    state_->mutex.AwaitWithTimeout(absl::Condition(&Failed, state_.get()), timeout);
    return state_->failure;
  }
  Subscription OnFailure(Callback callback) override {
    absl::MutexLock lock(&state_->callbacks_mutex);
    if (absl::Status failure = health(); !failure.ok()) {
      callback(failure);
      return Subscription();
    }
    const int number = state_->next_callback++;
    state_->callbacks[number] = std::move(callback);
    return Subscription([state = state_, number] {
      absl::MutexLock lock(&state->callbacks_mutex);
      state->callbacks.erase(number);
    });
  }

 private:
  static bool Failed(State* state) ABSL_NO_THREAD_SAFETY_ANALYSIS { return !state->failure.ok(); }

  int IndexIn(const std::vector<int>& ranks) const {
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] == rank()) return static_cast<int>(i);
    }
    return rank();
  }

  absl::StatusOr<Payloads> AllGather(const std::string& group, int index, size_t size,
                                     std::string payload, const CallOptions& options) {
    const absl::Time deadline = absl::Now() + *options.timeout;
    absl::MutexLock lock(&state_->mutex);
    GroupRounds& rounds = state_->groups[group];
    const int64_t round = rounds.completed;
    rounds.open.arrived[index] = std::move(payload);
    if (rounds.open.arrived.size() == size) Complete(&rounds);
    const auto over = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return rounds.completed > round || !state_->failure.ok() ||
             (options.cancellation != nullptr && options.cancellation->cancelled());
    };
    // A cancellation does not wake this wait. Polling is good enough for a fake.
    while (!over() && absl::Now() < deadline) {
      state_->mutex.AwaitWithTimeout(absl::Condition(&over), absl::Milliseconds(5));
    }
    if (rounds.completed > round) return rounds.results[round];
    if (!state_->failure.ok()) return state_->failure;
    rounds.open.arrived.erase(index);
    if (absl::Now() < deadline) return absl::CancelledError("the AllGather was cancelled");
    return absl::DeadlineExceededError("the AllGather did not complete");
  }

  void Complete(GroupRounds* rounds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    Payloads& result = rounds->results[rounds->completed++];
    for (auto& [index, payload] : rounds->open.arrived) result.push_back(std::move(payload));
    rounds->open = Round();
    ++state_->completed;
  }

  const std::shared_ptr<State> state_;
};

FakeJob::FakeJob(const FakeJobOptions& options) : state_(std::make_shared<State>(options)) {
  for (int rank = 0; rank < options.size; ++rank) {
    ranks_.push_back(std::make_shared<ControlPlane>(state_, rank));
  }
}

FakeJob::FakeJob(int size) : FakeJob(FakeJobOptions{size}) {}

FakeJobOptions FakeJob::OnNodes(std::vector<int> nodes) {
  FakeJobOptions options;
  options.size = static_cast<int>(nodes.size());
  options.nodes = std::move(nodes);
  return options;
}

FakeJob::~FakeJob() = default;

int FakeJob::size() const { return state_->options.size; }

Group FakeJob::world(int rank) {
  std::vector<int> all(size());
  for (int i = 0; i < size(); ++i) all[i] = i;
  return group(rank, "", all);
}

Group FakeJob::group(int rank, const std::string& name, const std::vector<int>& ranks) {
  auto state = std::make_shared<internal::GroupState>();
  state->control = ranks_[rank];
  state->name = name;
  state->ranks = ranks;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == rank) state->rank = static_cast<int>(i);
  }
  return Group(std::move(state));
}

void FakeJob::Run(const std::function<void(int rank, const Group& world)>& body) {
  std::vector<int> all(size());
  for (int i = 0; i < size(); ++i) all[i] = i;
  RunRanks(all, body);
}

void FakeJob::RunRanks(const std::vector<int>& ranks,
                       const std::function<void(int rank, const Group& world)>& body) {
  std::vector<std::thread> threads;
  for (int rank : ranks) {
    threads.emplace_back([this, &body, rank] { body(rank, world(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
}

absl::Status FakeJob::LossOf(int rank) {
  return absl::AbortedError(absl::StrCat("rank ", rank, " (node node-", rank, ", pid ", 1000 + rank,
                                         ") was lost: killed by signal 9 (SIGKILL)"));
}

void FakeJob::Lose(int rank) {
  absl::MutexLock callbacks_lock(&state_->callbacks_mutex);
  {
    absl::MutexLock lock(&state_->mutex);
    if (!state_->failure.ok()) return;
    state_->failure = LossOf(rank);
  }
  for (const auto& [number, callback] : state_->callbacks) callback(LossOf(rank));
}

int FakeJob::completed_collectives() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->completed;
}

}  // namespace muster::testing
