// Measures the life of a job of N members in the coordinator's core alone, phase by phase. core.sh
// runs it, and prints the costs for each member.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/core/coordinator.h"
#include "tests/bench/core_meter.h"

namespace muster::bench {
namespace {

using core::Claim;
using core::CollectiveKind;
using core::Coordinator;
using core::Effects;
using core::Reply;
using core::WaiterId;

constexpr uint32_t kMembersOfANode = 8;
constexpr size_t kNewcomers = 16;
constexpr uint32_t kSample = 32;  // members, in phases where counting all calls would take too long
constexpr uint32_t kLeast = 64;
const std::string* const kKilobyte = new std::string(1024, 'x');

struct Process {
  core::MemberIdentity identity;
  core::SessionId session;
  WaiterId stream = 0;
};

core::Options OptionsOf(uint32_t size, bool elastic) {
  core::Options options;
  options.job_id = "bench";
  options.world_size = elastic ? 0 : size;
  options.min_world_size = elastic ? 1 : 0;
  options.max_world_size = elastic ? size + kNewcomers : 0;
  options.settle = absl::Seconds(1);
  options.instance = 77;
  options.random = [n = uint64_t{0}]() mutable { return ++n * 0x9e3779b97f4a7c15; };
  return options;
}

// The processes of one job, and their coordinator. Only the phase in Measure() counts costs.
class Job {
 public:
  explicit Job(uint32_t size, bool elastic = false)
      : size_(size),
        options_(OptionsOf(size, elastic)),
        coordinator_(std::make_unique<Coordinator>(options_)) {
    for (uint32_t i = 0; i < size; ++i) Add();
  }

  uint32_t size() const { return size_; }

  void Add() {
    const size_t i = processes_.size();
    processes_.emplace_back();
    core::MemberIdentity& identity = processes_.back().identity;
    identity.incarnation = absl::StrCat("process-", absl::Dec(i, absl::kZeroPad8));
    identity.start_time_micros = static_cast<int64_t>(i);
    identity.node_id = absl::StrCat("node-", absl::Dec(i / kMembersOfANode, absl::kZeroPad5));
    identity.hostname = identity.node_id;
    identity.pid = static_cast<int64_t>(1000 + i);
  }

  // `each(i)` makes the calls of process i.
  void Measure(const std::string& phase, const std::function<void(uint32_t)>& each) {
    Measure(phase, size_, [&] { Each(each); });
  }
  void Measure(const std::string& phase, size_t calls, const std::function<void()>& all) {
    Phase measured(phase);
    measured.CountCalls(calls);
    phase_ = &measured;
    all();
    phase_ = nullptr;
  }
  void Each(const std::function<void(uint32_t)>& each) { Each(0, size_, each); }
  void Each(uint32_t first, uint32_t end, const std::function<void(uint32_t)>& each) {
    for (uint32_t i = first; i < end; ++i) each(i);
  }

  // ---- Calls; each returns its id ----

  WaiterId Attach(size_t i, std::shared_ptr<const Claim> claim = nullptr) {
    core::AttachRequest request;
    request.job_id = options_.job_id;
    request.member = processes_[i].identity;
    request.protocol_version = core::kProtocolVersion;
    request.sdk_version = "1.2.3";
    request.attempt = ++attempts_;
    request.claim = std::move(claim);
    const WaiterId id = Step([&](WaiterId id) { return coordinator_->Step(now_, id, request); });
    processes_[i].session = session_;
    processes_[i].stream = id;
    return id;
  }

  void CloseStream(size_t i) {
    Step([&](WaiterId) {
      return coordinator_->Step(now_, processes_[i].stream, core::StreamClosed());
    });
  }

  WaiterId Join(size_t i) {
    core::JoinRequest request;
    request.call = CallOf(i);
    return Step([&](WaiterId id) { return coordinator_->Step(now_, id, request); });
  }

  WaiterId Collective(size_t i, uint64_t sequence, CollectiveKind kind, bool of_a_group = false) {
    core::CollectiveRequest request;
    request.call = CallOf(i);
    request.epoch = epoch_;
    if (of_a_group) request.group = group_;
    if (sequence > 0) request.group.ranks.clear();  // only the first call lists them
    request.sequence = sequence;
    request.kind = kind;
    request.label = "step";
    request.call_site = "train.cc:42";
    const bool empty = kind == CollectiveKind::kBarrier;
    request.payload = std::make_shared<const std::string>(empty ? "" : *kKilobyte);
    return Step([&](WaiterId id) { return coordinator_->Step(now_, id, request); });
  }
  // The members of i's node arrive at the world's barrier in one call.
  WaiterId BarrierOfNode(size_t i, uint64_t sequence) {
    core::NodeCollectiveRequest request;
    request.call.call = CallOf(i);
    request.call.epoch = epoch_;
    request.call.sequence = sequence;
    request.call.label = "step";
    request.call.call_site = "train.cc:42";
    request.call.payload = std::make_shared<const std::string>();
    for (size_t part = i; part < i + kMembersOfANode; ++part) {
      request.parts.push_back(
          {processes_[part].session, ++attempts_, {}, "", request.call.payload});
    }
    return Step([&](WaiterId id) { return coordinator_->Step(now_, id, request); });
  }
  WaiterId Barrier(size_t i, uint64_t sequence) {
    return Collective(i, sequence, CollectiveKind::kBarrier);
  }

  WaiterId Acquire(size_t i, const std::string& name) {
    const core::AcquireLeaseRequest request{CallOf(i), epoch_, name, core::LeaseScope::kJob, 1};
    return Step([&](WaiterId id) { return coordinator_->Step(now_, id, request); });
  }

  // Completes the lease that was granted last.
  void Complete(size_t i, const std::string& name) {
    const core::LeaseResult result{token_, absl::OkStatus(),
                                   std::make_shared<const std::string>("done")};
    const core::CompleteLeaseRequest request{CallOf(i), name, core::LeaseScope::kJob, result};
    Step([&](WaiterId id) { return coordinator_->Step(now_, id, request); });
  }

  void Leave(size_t i) {
    const core::LeaveRequest request{CallOf(i), epoch_};
    Step([&](WaiterId id) { return coordinator_->Step(now_, id, request); });
  }

  void Kill(size_t i) {
    const core::ExitReport report{options_.job_id, processes_[i].identity.incarnation, true, 9};
    Step([&](WaiterId id) { return coordinator_->Step(now_, id, report); });
  }

  void Cancel(WaiterId call) {
    Step([&](WaiterId) { return coordinator_->Step(now_, call, core::CallCancelled()); });
  }

  void Tick(absl::Duration later) {
    now_ += later;
    Step([&](WaiterId) { return coordinator_->Step(now_, 0, core::DeadlineReached()); });
  }

  // Makes the metrics, as for Prometheus.
  void Scrape() {
    phase_->Run([&] {
      Check(coordinator_->Measure(now_).known_members == size_, "members are missing in metrics");
    });
  }

  // ---- The beginning of phases ----

  void Form() {
    Each([&](uint32_t i) { Attach(i); });
    Each([&](uint32_t i) { Join(i); });
    if (options_.min_world_size != 0) Tick(options_.settle);
    Check(roster_ != nullptr && roster_->size() == size_, "the epoch has not formed");
  }

  void Restart() {
    ++options_.instance;
    coordinator_ = std::make_unique<Coordinator>(options_);
  }

  // Returns the claim of a process that has completed this many collectives of the world.
  std::shared_ptr<const Claim> ClaimOf(uint32_t i, uint64_t next_of_world) const {
    Claim claim;
    claim.epoch = epoch_;
    claim.rank = i;
    claim.groups.push_back({{}, next_of_world, ""});
    claim.highest_epoch = epoch_.number;
    claim.highest_token = token_;
    return std::make_shared<const Claim>(std::move(claim));
  }

  // Attaches the first member of a restarted daemon, which is asked for the roster.
  void AttachFirst(uint32_t i, const std::shared_ptr<const Claim>& claim) {
    Attach(i, claim);
    Claim with_roster = *claim;
    with_roster.roster = roster_;
    Attach(i, std::make_shared<const Claim>(std::move(with_roster)));
  }

  // Returns the number of calls that were answered OK so far.
  size_t answered() const { return answered_; }
  void CheckAnswered(size_t since, size_t count) const {
    Check(answered_ == since + count, "a call was not answered, or not OK");
  }
  static void Check(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "core: %s\n", what);
    std::exit(1);
  }

 private:
  core::CallContext CallOf(size_t i) {
    return {options_.job_id, processes_[i].session, ++attempts_, absl::Hours(1), {}};
  }

  template <class Call>
  WaiterId Step(Call call) {
    const WaiterId id = ++ids_;
    std::optional<Effects> effects;
    const auto step = [&] { effects = call(id); };
    const auto destroy = [&] { effects.reset(); };
    phase_ != nullptr ? phase_->Run(step) : step();
    Note(*effects);
    phase_ != nullptr ? phase_->Run(destroy) : destroy();
    return id;
  }

  void Note(const Effects& effects) {
    for (const Reply& reply : effects.replies) Note(reply);
    for (const core::StreamEvent& event : effects.events) {
      if (const auto* attached = std::get_if<core::Attached>(event.event.get())) {
        session_ = attached->session;
      }
    }
  }

  void Note(const Reply& reply) {
    answered_ += reply.status.ok();
    if (const auto* place = std::get_if<core::JoinAnswer>(&reply.answer)) {
      epoch_ = place->epoch;
      roster_ = place->roster;
      group_.name = "all";
      group_.ranks.resize(roster_->size());
      for (uint32_t i = 0; i < group_.ranks.size(); ++i) group_.ranks[i] = i;
    }
    const auto* lease = std::get_if<core::LeaseAnswer>(&reply.answer);
    const auto* grant = lease == nullptr ? nullptr : std::get_if<core::LeaseGrant>(lease);
    if (grant != nullptr) token_ = grant->token;
  }

  const uint32_t size_;
  core::Options options_;
  std::unique_ptr<Coordinator> coordinator_;
  std::vector<Process> processes_;
  Phase* phase_ = nullptr;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  WaiterId ids_ = 0;
  uint64_t attempts_ = 0;
  size_t answered_ = 0;
  core::SessionId session_;  // of the last Attach
  core::EpochId epoch_;
  std::shared_ptr<const core::Roster> roster_;
  core::GroupName group_;
  uint64_t token_ = 0;
};

// ---- The phases ----

void Joining(uint32_t size) {
  Job job(size);
  job.Measure("attach", [&](uint32_t i) { job.Attach(i); });
  job.Measure("join", [&](uint32_t i) { job.Join(i); });
  job.CheckAnswered(0, size);
}

void Collectives(uint32_t size) {
  Job job(size);
  job.Form();
  const auto all_gather = CollectiveKind::kAllGather;
  for (const bool of_a_group : {false, true}) {
    const std::string where = of_a_group ? " of a group" : "";
    const auto barrier = [&](uint64_t sequence) {
      return [&job, of_a_group, sequence](uint32_t i) {
        job.Collective(i, sequence, CollectiveKind::kBarrier, of_a_group);
      };
    };
    job.Each(barrier(0));
    const size_t before = job.answered();
    job.Measure("barrier" + where, barrier(1));
    job.CheckAnswered(before, size);
    job.Each([&](uint32_t i) { job.Collective(i, 2, all_gather, of_a_group); });
    job.Measure("all-gather" + where,
                [&](uint32_t i) { job.Collective(i, 3, all_gather, of_a_group); });
  }
  const uint32_t of_nodes = size / kMembersOfANode * kMembersOfANode;
  const auto by_nodes = [&](uint64_t sequence) {
    for (uint32_t i = 0; i < of_nodes; i += kMembersOfANode) job.BarrierOfNode(i, sequence);
  };
  for (const uint64_t sequence : {4, 5}) {
    for (uint32_t i = of_nodes; i < size; ++i) job.Barrier(i, sequence);
    if (sequence == 4) by_nodes(sequence);  // frees the payloads of the all-gather
  }
  const size_t before = job.answered();
  job.Measure("barrier by a node of 8", of_nodes, [&] { by_nodes(5); });
  job.CheckAnswered(before, of_nodes / kMembersOfANode + size - of_nodes);
  job.Measure("parked in barrier", size - 1, [&] {
    for (uint32_t i = 1; i < size; ++i) job.Barrier(i, 6);
  });
  job.Barrier(0, 6);
  job.Measure("leave", [&](uint32_t i) { job.Leave(i); });
}

// Half of the ranks wait for the other half.
void Waiting(uint32_t size) {
  Job job(size);
  job.Form();
  for (uint32_t i = 0; i < size; i += 2) job.Barrier(i, 0);
  job.Measure("scrape", size, [&] { job.Scrape(); });
  job.Measure("stall warning", size / 2, [&] { job.Tick(absl::Seconds(10)); });
  job.Measure("time-out", size / 2, [&] { job.Tick(absl::Hours(1)); });
}

void Leases(uint32_t size) {
  Job job(size);
  job.Form();
  const size_t before = job.answered();
  job.Measure("lease of its own", [&](uint32_t i) {
    const std::string name = absl::StrCat("shard ", i);
    job.Acquire(i, name);
    job.Complete(i, name);
  });
  job.Measure("shared lease", size, [&] {
    job.Each([&](uint32_t i) { job.Acquire(i, "shared"); });
    job.Complete(0, "shared");
  });
  job.CheckAnswered(before, 3 * size_t{size} + 1);
  std::vector<WaiterId> calls;
  job.Measure("parked in lease", size,
              [&] { job.Each([&](uint32_t i) { calls.push_back(job.Acquire(i, "held")); }); });
  job.Measure("cancelled in lease", size, [&] {
    while (!calls.empty()) {
      job.Cancel(calls.back());
      calls.pop_back();
    }
  });
  const auto attach_again = [&](uint32_t i) {
    job.CloseStream(i);
    job.Attach(i, job.ClaimOf(i, 0));
  };
  attach_again(0);  // the first claim of the world's group creates it
  job.Measure("attach again", kSample, [&] { job.Each(1, 1 + kSample, attach_again); });
}

void Restart(uint32_t size) {
  Job job(size);
  job.Form();
  job.Restart();
  const auto attach = [&](uint32_t i) { job.Attach(i, job.ClaimOf(i, 8)); };
  const uint32_t half = size / 2;
  job.Measure("first to attach after restart", size,
              [&] { job.AttachFirst(0, job.ClaimOf(0, 8)); });
  job.Each(1, half, attach);
  job.Measure("attach after restart", kSample / 2,
              [&] { job.Each(half, half + kSample / 2, attach); });
  job.Each(half + kSample / 2, size - 1, attach);
  job.Measure("last to attach after restart", size, [&] { attach(size - 1); });
  job.Measure("barrier after restart", [&](uint32_t i) { job.Barrier(i, 8); });
}

// Half of the ranks have the answer to the last all-gather, and the other half repeats it. The last
// ranks come first, so that a linear search for a rank that has arrived finds it last.
void LostAnswers(uint32_t size) {
  Job job(size);
  job.Form();
  job.Restart();
  job.AttachFirst(0, job.ClaimOf(0, 8));
  job.Each(1, size, [&](uint32_t i) { job.Attach(i, job.ClaimOf(i, 8 + i % 2)); });
  const size_t before = job.answered();
  job.Measure("repeated all-gather", size, [&] {
    for (uint32_t parity : {0u, 1u}) {
      for (uint32_t i = size; i-- > 0;) {
        if (i % 2 == parity) job.Collective(i, 8, CollectiveKind::kAllGather);
      }
    }
  });
  job.CheckAnswered(before, size);
}

void Loss(uint32_t size) {
  Job job(size);
  job.Form();
  for (uint32_t i = 1; i < size; ++i) job.Barrier(i, 0);
  job.Measure("loss", size - 1, [&] { job.Kill(0); });
}

void LossOfMany(uint32_t size) {
  Job job(size);
  job.Form();
  const uint32_t lost = size / kLeast;
  for (uint32_t i = lost; i < size; ++i) job.Barrier(i, 0);
  job.Measure("loss of one in 64", size - lost, [&] {
    for (uint32_t i = 0; i < lost; ++i) job.CloseStream(i);
    job.Tick(absl::Seconds(2));
  });
}

void Newcomers(uint32_t size) {
  Job job(size, /*elastic=*/true);
  job.Form();
  for (size_t i = 0; i < kNewcomers; ++i) job.Add();
  job.Measure("newcomer", kNewcomers, [&] {
    for (size_t i = size; i < size + kNewcomers; ++i) {
      job.Attach(i);
      job.Join(i);
    }
  });
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  uint32_t size = 0;
  if (argc != 2 || !absl::SimpleAtoi(argv[1], &size) || size < muster::bench::kLeast) {
    std::fprintf(stderr, "usage: core_phases MEMBERS, at least 64\n");
    return 2;
  }
  for (void (*phases)(uint32_t) :
       {muster::bench::Joining, muster::bench::Collectives, muster::bench::Waiting,
        muster::bench::Leases, muster::bench::Restart, muster::bench::LostAnswers,
        muster::bench::Loss, muster::bench::LossOfMany, muster::bench::Newcomers}) {
    phases(size);
  }
}
