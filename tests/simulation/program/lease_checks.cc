#include "tests/simulation/program/lease_checks.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"

namespace muster::simulation {
namespace {

std::string Describe(const absl::StatusOr<std::string>& outcome) {
  return outcome.ok() ? absl::StrCat("'", *outcome, "'") : outcome.status().ToString();
}

}  // namespace

std::string LeaseKey(const LeaseStep& lease, const std::string& node) {
  return lease.scope == LeaseScope::kJob ? lease.name : absl::StrCat(lease.name, " on ", node);
}

void LeaseChecks::Answered(const SentRpc& rpc, const absl::Status& status,
                           const internal::Response& response) {
  if (!status.ok()) return;
  const auto* acquired = std::get_if<v1::AcquireLeaseResponse>(&response);
  if (acquired != nullptr && acquired->has_granted()) CheckGrant(rpc, *acquired);
  if (!std::holds_alternative<v1::CompleteLeaseResponse>(response)) return;
  const auto& done = std::get<v1::CompleteLeaseRequest>(std::get<internal::Request>(rpc.request));
  const uint64_t token = done.result().token();
  // Noted now, since the answer may take long, and another process may be granted the lease
  // meanwhile.
  highest_when_completed_.try_emplace(token, leases_[names_[token]].resource.highest());
}

// Checks a grant. The same request may get the same grant more than once.
void LeaseChecks::CheckGrant(const SentRpc& rpc, const v1::AcquireLeaseResponse& answer) {
  const auto& asked = std::get<v1::AcquireLeaseRequest>(std::get<internal::Request>(rpc.request));
  const Request request{rpc.process, asked.request_id()};
  const uint64_t token = answer.granted().token();
  const auto [grant, is_new] = grants_.try_emplace(token, request);
  if (!(grant->second == request)) {
    simulation_->Violation("token ", token, " is granted to process ", rpc.process, ", and was to ",
                           grant->second.process);
  }
  uint64_t& highest = highest_granted_[setting_->numbers_are_known() ? 0 : rpc.daemon];
  if (is_new && token <= highest) {
    simulation_->Violation("token ", token, " is granted after ", highest);
  }
  highest = std::max(highest, token);
}

void LeaseChecks::Granted(const Process& process, const std::string& name, uint64_t token) {
  Lease& lease = leases_[name];
  if (setting_->harmless()) {
    if (lease.holder) {
      simulation_->Violation("process ", process.id(), " is granted '", name, "', which process ",
                             *lease.holder, " holds");
    }
    if (lease.completed) {
      simulation_->Violation("process ", process.id(), " is granted '", name,
                             "', which is completed");
    }
    if (token <= lease.token) {
      simulation_->Violation("token ", token, " of '", name, "' is granted after ", lease.token);
    }
  }
  lease.holder = process.id();
  lease.token = std::max(lease.token, token);
  names_[token] = name;
}

bool LeaseChecks::Write(const Process& process, const std::string& name, uint64_t token) {
  Lease& lease = leases_[name];
  const bool accepted = lease.resource.Write(token);
  simulation_->Trace("process ", process.id(), " writes what '", name, "' protects, token ", token,
                     accepted ? "" : ": refused");
  if (!accepted && setting_->harmless()) {
    simulation_->Violation("process ", process.id(), " holds '", name, "', and its token ", token,
                           " is refused");
  }
  return accepted;
}

void LeaseChecks::Publishes(const std::string& name, uint64_t token,
                            const absl::StatusOr<std::string>& outcome) {
  leases_[name].published.emplace(token, outcome);
}

void LeaseChecks::Completed(const Process& process, const std::string& name, uint64_t token,
                            const absl::Status& status) {
  Lease& lease = leases_[name];
  if (lease.holder == process.id()) lease.holder.reset();
  if (!status.ok()) {
    if (setting_->harmless()) {
      simulation_->Violation("process ", process.id(), " holds '", name,
                             "', and its completion is refused: ", status.ToString());
    }
    return;
  }
  const bool one_line = !setting_->split && !setting_->leftovers && !setting_->hostile;
  const uint64_t highest = highest_when_completed_[token];
  if (one_line && highest > token) {
    simulation_->Violation("process ", process.id(), " completes '", name, "' under token ", token,
                           ", after ", highest);
  }
  CheckCompletedOnce(name, token);
}

void LeaseChecks::CheckCompletedOnce(const std::string& name, uint64_t token) {
  Lease& lease = leases_[name];
  if (setting_->harmless() && lease.completed && *lease.completed != token) {
    simulation_->Violation("'", name, "' is completed under token ", token, ", and was under ",
                           *lease.completed);
  }
  lease.completed = token;
}

void LeaseChecks::Released(const Process& process, const std::string& name) {
  Lease& lease = leases_[name];
  if (lease.holder == process.id()) lease.holder.reset();
}

void LeaseChecks::Gone(const Process& process) {
  for (auto& [name, lease] : leases_) Released(process, name);
}

void LeaseChecks::Learned(const Process& process, const std::string& name, uint64_t token,
                          const absl::StatusOr<std::string>& outcome) {
  Lease& lease = leases_[name];
  const auto published = lease.published.find(token);
  if (published == lease.published.end() || Describe(published->second) != Describe(outcome)) {
    simulation_->Violation("process ", process.id(), " is told that '", name, "' came to ",
                           Describe(outcome), " under token ", token, ", which nobody published");
  }
  CheckCompletedOnce(name, token);
}

}  // namespace muster::simulation
