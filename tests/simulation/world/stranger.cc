#include "tests/simulation/world/stranger.h"

#include <string>

#include "absl/strings/str_format.h"
#include "common/credentials/process_secret.h"
#include "server/core/api/options.h"
#include "tests/simulation/world/random.h"

namespace muster::simulation {
namespace {

constexpr char kJob[] = "simulated";
// Higher than any member's attempt: of two sends, the higher one counts.
constexpr uint64_t kAttempt = uint64_t{1} << 40;

class Stranger {
 public:
  Stranger(uint64_t seed, uint64_t daemon_instance, const core::JobStatus& status)
      : random_(seed, "stranger"), instance_(daemon_instance), status_(status) {}

  Guess Draw() {
    if (!status_.epoch) return DrawBeforeAnEpoch();
    if (random_.Chance(0.2)) return Claiming();
    switch (random_.Pick(8)) {
      case 0:
        return AsMember();
      case 1:
        return Exit();
      case 2:
        return Stop();
      case 3: {
        v1::BarrierRequest barrier;
        *barrier.mutable_context()->mutable_call() = Call();
        SetEpoch(barrier.mutable_context()->mutable_epoch());
        barrier.mutable_context()->set_sequence(random_.Pick(6));
        return internal::Request(barrier);
      }
      case 4: {
        v1::LeaveRequest leave;
        *leave.mutable_call() = Call();
        SetEpoch(leave.mutable_epoch());
        return internal::Request(leave);
      }
      case 5: {
        v1::RejoinRequest rejoin;
        *rejoin.mutable_call() = Call();
        SetEpoch(rejoin.mutable_claim()->mutable_epoch());
        return internal::Request(rejoin);
      }
      case 6: {
        v1::ReleaseGroupsRequest release;
        *release.mutable_call() = Call();
        SetEpoch(release.mutable_epoch());
        release.add_released()->set_digest(std::string(16, 'x'));
        return internal::Request(release);
      }
      default: {
        v1::RequestStopRequest stop;
        *stop.mutable_call() = Call();
        return internal::Request(stop);
      }
    }
  }

 private:
  // Draws what a launcher would send that has lost a process which the daemon does not know.
  Guess DrawBeforeAnEpoch() {
    if (random_.Chance(0.3)) return Claiming();
    v1::ReportExitRequest report;
    report.set_job_id(kJob);
    report.set_secret(Secret());
    if (random_.Chance(0.5)) report.set_exit_code(1);
    report.set_given_up(kLie);
    return report;
  }

  // Returns the incarnation of a member of the epoch.
  const std::string& Incarnation() {
    return status_.members[random_.Pick(status_.world_size)].member.incarnation;
  }

  std::string Secret() { return absl::StrFormat("guess %010d", random_.Next() % 10'000'000'000u); }

  v1::AttachRequest Attach() {
    v1::AttachRequest request;
    request.set_job_id(kJob);
    request.set_secret(Secret());
    request.mutable_member()->set_incarnation(IncarnationOf(request.secret()));
    request.mutable_member()->set_node_id("elsewhere");
    request.set_protocol_version(core::kProtocolVersion);
    request.set_attempt(kAttempt);
    return request;
  }

  Guess AsMember() {
    v1::AttachRequest request = Attach();
    request.mutable_member()->set_incarnation(Incarnation());
    if (random_.Chance(0.5)) request.set_secret(request.member().incarnation());
    return request;
  }

  // Draws an Attach call that pretends to know what only a member can know.
  Guess Claiming() {
    v1::AttachRequest request = Attach();
    v1::Claim* const claim = request.mutable_claim();
    claim->set_stop_asked(true);
    claim->set_highest_epoch_number(uint64_t{1} << 52);
    for (const core::LeaseStatus& lease : status_.leases) {
      v1::CompletedLease* const done = claim->add_completed_leases();
      done->set_name(lease.name);
      done->set_scope(v1::LEASE_SCOPE_JOB);
      done->mutable_result()->set_token(lease.token + 1);
      done->mutable_result()->set_value("forged");
    }
    return request;
  }

  Guess Exit() {
    v1::ReportExitRequest report;
    report.set_job_id(kJob);
    report.set_secret(random_.Chance(0.5) ? Incarnation() : Secret());
    report.set_signal(9);
    return report;
  }

  Guess Stop() {
    v1::ReportProcessStateRequest report;
    report.set_job_id(kJob);
    report.set_secret(random_.Chance(0.5) ? Incarnation() : Secret());
    report.set_state(v1::PROCESS_STATE_STOPPED);
    return report;
  }

  v1::CallContext Call() {
    v1::CallContext call;
    call.set_job_id(kJob);
    call.mutable_session()->set_daemon_instance(instance_);
    call.mutable_session()->set_counter(1 + random_.Pick(2 * status_.world_size));
    call.mutable_session()->set_key(random_.Next());
    call.set_attempt(kAttempt);
    return call;
  }

  void SetEpoch(v1::EpochId* epoch) const {
    epoch->set_number(status_.epoch->number);
    epoch->set_nonce(status_.epoch->nonce);
  }

  Random random_;
  const uint64_t instance_;
  const core::JobStatus& status_;
};

}  // namespace

Guess DrawGuess(uint64_t choice, uint64_t daemon_instance, const core::JobStatus& status) {
  return Stranger(choice, daemon_instance, status).Draw();
}

std::vector<Guess> DrawLies(uint64_t choice) {
  Random random(choice, "lies");
  std::vector<Guess> lies;
  const uint32_t processes = 1 + random.Pick(8);
  const auto secret_of = [](uint32_t process) { return absl::StrFormat("invented %07d", process); };
  for (uint32_t process = 0; process < processes; ++process) {
    v1::ReportProcessStateRequest started;
    started.set_job_id(kJob);
    started.set_secret(secret_of(process));
    started.set_state(random.Chance(0.8) ? v1::PROCESS_STATE_RUNNING : v1::PROCESS_STATE_STOPPED);
    lies.emplace_back(started);
  }
  if (random.Chance(0.4)) return lies;
  v1::ReportExitRequest ended;
  ended.set_job_id(kJob);
  ended.set_secret(secret_of(random.Pick(processes)));
  if (random.Chance(0.5)) ended.set_exit_code(1);
  ended.set_given_up(kLie);
  lies.emplace_back(ended);
  return lies;
}

}  // namespace muster::simulation
