#include "server/service/conversion/claim_conversion.h"

#include <memory>
#include <utility>

namespace muster::service {
namespace {

core::RosterEntry ReadRosterEntry(const v1::RosterEntry& in, RequestReader& r) {
  core::RosterEntry out{
      ReadIdentity(in.member(), "claim.roster.member", r), in.local_rank(), in.node_rank(), {}};
  if (in.has_previous_rank()) out.previous_rank = in.previous_rank();
  out.topology = in.topology();
  return out;
}

core::FailureClaim ReadFailure(const v1::Failure& in, RequestReader& r) {
  core::FailureClaim out;
  if (in.has_rank()) out.rank = in.rank();
  out.member = ReadIdentity(in.member(), "claim.broken.failures.member", r);
  out.cause = in.cause();
  out.age = ReadDuration(in.age(), "claim.broken.failures.age", r);
  out.activity = in.activity();
  return out;
}

core::BrokenClaim ReadBroken(const v1::BrokenClaim& in, RequestReader& r) {
  core::BrokenClaim out;
  out.reason = in.reason();
  r.Require(!out.reason.empty(), "claim.broken.reason", "is empty");
  for (const v1::Failure& failure : in.failures()) out.failures.push_back(ReadFailure(failure, r));
  return out;
}

void ReadEpochClaim(const v1::Claim& in, RequestReader& r, core::Claim* out) {
  out->epoch = Convert(in.epoch());
  out->rank = in.rank();
  if (in.roster_size() > 0) {
    auto roster = std::make_shared<core::Roster>();
    for (const v1::RosterEntry& entry : in.roster()) roster->push_back(ReadRosterEntry(entry, r));
    out->roster = std::move(roster);
  }
  for (const v1::GroupClaim& group : in.groups()) {
    out->groups.push_back({Convert(group.group()), group.next_sequence(), group.finished()});
  }
  for (const v1::KnownGroup& group : in.known_groups()) {
    out->known_groups.push_back({group.digest(), group.next_sequence(), group.finished(),
                                 group.released(), group.closed()});
  }
  if (in.has_broken()) out->broken = ReadBroken(in.broken(), r);
  out->leaving = in.leaving();
  out->history = {in.history().replacements(), in.history().largest_world_size()};
  if (in.has_stop_sequence()) out->stop_sequence = in.stop_sequence();
}

}  // namespace

core::Claim ReadClaim(v1::Claim&& in, RequestReader& r) {
  core::Claim out;
  if (in.has_epoch()) ReadEpochClaim(in, r, &out);
  for (const v1::HeldLease& held : in.held_leases()) {
    out.held.push_back({held.name(), ReadScope(held.scope(), r), held.token(), held.request_id()});
  }
  for (v1::CompletedLease& done : *in.mutable_completed_leases()) {
    r.RequirePresent(done.has_result(), "claim.completed_leases.result");
    out.completed.push_back({done.name(), ReadScope(done.scope(), r),
                             ReadLeaseResult(std::move(*done.mutable_result()), r)});
  }
  out.highest_token = in.highest_token();
  out.highest_epoch = in.highest_epoch_number();
  out.stop_asked = in.stop_asked();
  return out;
}

}  // namespace muster::service
