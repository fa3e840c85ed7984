// Measures what a program costs the members and the coordinator if it names a new group at every
// step for days, over a restart too.
//
// Runs the real core and the real protocol of the SDK's members in one process, over a network that
// delivers every message at once. To run it by hand at the size of a large job:
//   bazel build //tests/simulation:passing_groups_test
//   MUSTER_TEST_MEMBERS=1024 MUSTER_TEST_STEPS=10000 bazel-bin/tests/simulation/passing_groups_test
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/src/protocol/member_core.h"
#include "client/src/protocol/messages/messages.h"
#include "common/credentials/process_secret.h"
#include "server/core/coordinator.h"
#include "server/service/conversion/event_conversion.h"
#include "server/service/conversion/request_conversion.h"
#include "tests/simulation/world/answer_conversion.h"
#include "tests/simulation/world/random.h"

namespace muster::simulation {
namespace {

using internal::CallId;
using internal::Effects;
using internal::MemberCore;
using internal::Random;
using internal::SteadyTime;

constexpr char kJob[] = "simulated";
// The most groups that the coordinator may know. Beside the group in use, it knows the groups that
// some member has not reported yet, as released or as closed. A member reports eight changes
// together, so this leaves room for three reports.
constexpr size_t kMostGroups = 24;

int FromEnvironment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  int number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : otherwise;
}

size_t BytesInUse() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

class PassingGroups {
 public:
  explicit PassingGroups(int members) {
    StartDaemon();
    const size_t before = BytesInUse();
    for (int i = 0; i < members; ++i) {
      members_.push_back(std::make_unique<Member>(OptionsOf(i)));
      ranks_.push_back(i);
    }
    empty_members_ = BytesInUse() - before;
    for (int i = 0; i < members; ++i) Apply(i, members_[i]->core.Start(now_));
    for (int i = 0; i < members; ++i) {
      JobOptions options;
      options.job = kJob;
      options.world_size = members;
      options.rank = i;
      Apply(i, members_[i]->core.Join(now_, ++calls_, options,
                                      internal::Deadline(now_, absl::Hours(1))));
    }
    Run();
    EXPECT_EQ(places_, members);
  }

  // Has all members make a barrier in a group of this step, and release the group.
  void Step(int step) {
    const internal::GroupId group{epoch_, absl::StrCat("step ", step), ranks_};
    done_ = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      MemberCore& core = members_[i]->core;
      core.Hold(group);
      Apply(i, core.Collective(now_, ++calls_, group, internal::CollectiveCall(),
                               internal::Deadline(now_, absl::Hours(1))));
    }
    Run();
    // While the coordinator is away, each member retries after a back-off of its own.
    for (int i = 0; i < 10'000 && done_ < members_.size(); ++i) Pass(absl::Milliseconds(10));
    ASSERT_EQ(done_, members_.size()) << "step " << step;
    for (size_t i = 0; i < members_.size(); ++i) {
      Apply(i, members_[i]->core.Drop(now_, group));
    }
    Run();
    Pass(absl::Milliseconds(10));
  }

  void Restart() {
    wire_.clear();
    waiters_.clear();
    streams_.clear();
    StartDaemon();
    for (size_t i = 0; i < members_.size(); ++i) {
      Apply(i, members_[i]->core.OnStreamEnd(now_, members_[i]->stream,
                                             absl::UnavailableError("the daemon was killed")));
    }
  }

  void Pass(absl::Duration time) {
    now_ = internal::After(now_, time);
    for (size_t i = 0; i < members_.size(); ++i) {
      MemberCore& core = members_[i]->core;
      if (core.NextDeadline() <= now_) Apply(i, core.Tick(now_));
    }
    if (daemon_->NextDeadline() <= Now()) Apply(daemon_->Step(Now(), 0, core::DeadlineReached()));
    Run();
  }

  size_t groups() const { return daemon_->Measure(Now()).groups; }
  // Destroys the coordinator, and returns the bytes that this frees.
  size_t BytesOfDaemon() {
    const size_t before = BytesInUse();
    daemon_.reset();
    return before - BytesInUse();
  }
  // Destroys all members but the first.
  size_t BytesOfMember() {
    const size_t before = BytesInUse();
    const size_t count = members_.size() - 1;
    members_.resize(1);
    return (before - BytesInUse()) / count;
  }

 private:
  struct Member {
    explicit Member(internal::MemberOptions options) : core(std::move(options)) {}
    MemberCore core;
    uint64_t stream = 0;
  };
  struct Waiter {
    size_t member;
    uint64_t attempt;
    AnswerConversion convert;
  };

  static internal::MemberOptions OptionsOf(int index) {
    internal::MemberOptions options;
    options.coordinator = "host:7370";
    options.job_id = kJob;
    options.identity.secret = absl::StrCat("secret of ", 100000 + index);
    options.identity.incarnation = IncarnationOf(options.identity.secret);
    options.identity.start_time_micros = 1 + index;
    options.identity.node_id = absl::StrCat("node ", index);
    options.coordinator_timeout = absl::Minutes(10);
    options.random = [r = simulation::Random(index, "member")]() mutable { return r.Next(); };
    options.connected = [] { return true; };
    return options;
  }

  void StartDaemon() {
    core::Options options;
    options.job_id = kJob;
    options.instance = ++instances_;
    options.random = [r = simulation::Random(instances_, "daemon")]() mutable { return r.Next(); };
    daemon_ = std::make_unique<core::Coordinator>(options);
  }

  core::Time Now() const {
    return absl::FromUnixSeconds(1'700'000'000) + absl::FromChrono(now_.time_since_epoch());
  }

  // Delivers what members and the coordinator send, until nothing is in flight.
  void Run() {
    while (!wire_.empty()) {
      const std::function<void()> next = std::move(wire_.front());
      wire_.pop_front();
      next();
    }
  }

  void Apply(size_t member, Effects effects) {
    for (internal::Output& output : effects.outputs) {
      if (auto* send = std::get_if<internal::SendCall>(&output)) {
        wire_.push_back([this, member, send = std::move(*send)] { Call(member, send); });
      } else if (auto* open = std::get_if<internal::OpenStream>(&output)) {
        members_[member]->stream = open->attempt;
        wire_.push_back([this, member, open = std::move(*open)] { Attach(member, open); });
      }
    }
    for (internal::Completion& completion : effects.completions) {
      ASSERT_TRUE(completion.reply.ok()) << completion.reply.status();
      ++done_;
      if (const auto* place = std::get_if<v1::JoinResponse>(&*completion.reply)) {
        epoch_ = internal::EpochOf(place->epoch());
        ++places_;
      }
    }
  }

  void Attach(size_t member, const internal::OpenStream& open) {
    const auto request = service::FromProto(v1::AttachRequest(open.request));
    ASSERT_TRUE(request.ok()) << request.status();
    const core::WaiterId id = ++ids_;
    streams_[id] = {member, open.attempt, nullptr};
    Apply(daemon_->Step(Now(), id, *request));
  }

  void Call(size_t member, const internal::SendCall& send) {
    std::visit(
        [&](const auto& wire) {
          using Request = std::decay_t<decltype(wire)>;
          const auto request = service::FromProto(Request(wire));
          ASSERT_TRUE(request.ok()) << request.status();
          const core::WaiterId id = ++ids_;
          waiters_[id] = {member, send.attempt, &ConvertAnswer<Request>};
          Apply(daemon_->Step(Now(), id, *request));
        },
        send.request);
  }

  void Apply(const core::Effects& effects) {
    for (const core::Reply& reply : effects.replies) {
      const Waiter waiter = waiters_.extract(reply.waiter).mapped();
      internal::Response response;
      if (reply.status.ok()) response = waiter.convert(reply.answer);
      wire_.push_back([this, waiter, status = reply.status, response = std::move(response)] {
        Apply(waiter.member,
              members_[waiter.member]->core.OnReply(now_, waiter.attempt, status, response));
      });
    }
    for (const core::StreamEvent& event : effects.events) {
      const Waiter& stream = streams_.at(event.stream);
      wire_.push_back([this, stream, event = event.event] {
        const v1::AttachResponse response = service::ToProto(*event, Now(), daemon_->options());
        Apply(stream.member,
              members_[stream.member]->core.OnStreamResponse(now_, stream.attempt, response));
      });
    }
    for (const core::StreamEnd& end : effects.ends) {
      const Waiter stream = streams_.extract(end.stream).mapped();
      wire_.push_back([this, stream, status = end.status] {
        Apply(stream.member,
              members_[stream.member]->core.OnStreamEnd(now_, stream.attempt, status));
      });
    }
  }

  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::unique_ptr<core::Coordinator> daemon_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<int> ranks_;
  std::deque<std::function<void()>> wire_;
  std::map<core::WaiterId, Waiter> waiters_;
  std::map<core::WaiterId, Waiter> streams_;
  core::WaiterId ids_ = 0;
  CallId calls_ = 0;
  uint64_t instances_ = 0;
  internal::EpochId epoch_;
  int places_ = 0;
  size_t done_ = 0;
  size_t empty_members_ = 0;
};

TEST(PassingGroupsTest, AGroupPerStepDoesNotLeakMemory) {
  const int members = FromEnvironment("MUSTER_TEST_MEMBERS", 8);
  const int steps = FromEnvironment("MUSTER_TEST_STEPS", 400);
  PassingGroups job(members);
  size_t most_groups = 0;
  size_t settled_bytes = 0;
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 2) {
      settled_bytes = BytesInUse();
      job.Restart();
    }
    job.Step(step);
    ASSERT_FALSE(HasFatalFailure());
    most_groups = std::max(most_groups, job.groups());
  }
  job.Pass(absl::Seconds(1));
  const size_t end_bytes = BytesInUse();
  EXPECT_LE(most_groups, kMostGroups);
  // Half of all steps leave less than a kilobyte at each member.
  EXPECT_LE(end_bytes, settled_bytes + size_t{1024} * members + (256 << 10));
  std::cout << members << " members, " << steps << " steps, one restart: at most " << most_groups
            << " groups at the coordinator, which has " << job.BytesOfDaemon() / 1024 << " KiB; "
            << job.BytesOfMember() / 1024 << " KiB per member\n";
}

}  // namespace
}  // namespace muster::simulation
