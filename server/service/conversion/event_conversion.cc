#include "server/service/conversion/event_conversion.h"

#include <variant>

#include "server/service/conversion/response_writer.h"

namespace muster::service {
namespace {

using service::Fill;  // the overloads below hide it

void Fill(const core::Attached& in, const core::Options& options, v1::Attached* out) {
  out->mutable_session()->set_daemon_instance(in.session.daemon_instance);
  out->mutable_session()->set_counter(in.session.counter);
  out->mutable_session()->set_key(in.session.key);
  out->set_daemon_version(options.daemon_version);
  out->mutable_limits()->set_max_payload_bytes(options.limits.max_payload_bytes);
  out->mutable_limits()->set_max_name_bytes(options.limits.max_name_bytes);
  ToProto(options.member_grace, out->mutable_member_grace());
  out->set_protocol_version(core::kProtocolVersion);
  out->mutable_standing_tokens()->Add(in.standing_tokens.begin(), in.standing_tokens.end());
  out->set_recovering(in.recovering);
  ToProto(options.recovery_grace, out->mutable_recovery_grace());
  out->set_node_collectives(true);
  out->set_node_commits(true);
  out->set_call_streams(true);
}

void Fill(const core::NeedRoster& in, v1::NeedRoster* out) { Fill(in.epoch, out->mutable_epoch()); }

void Fill(const core::EpochBroken& in, core::Time now, v1::EpochBroken* out) {
  Fill(in.epoch, out->mutable_epoch());
  out->set_reason(in.reason);
  for (const core::Failure& failure : in.failures) {
    Fill(failure, now, out->add_failures());
  }
  out->set_may_rejoin(in.may_rejoin);
}

void Fill(const core::NeedContribution& in, v1::NeedContribution* out) {
  Fill(in.epoch, out->mutable_epoch());
  Fill(in.group, out->mutable_group());
  out->set_sequence(in.sequence);
}

void Fill(const core::GroupFinished& in, v1::GroupFinished* out) {
  Fill(in.epoch, out->mutable_epoch());
  Fill(in.group, out->mutable_group());
  out->set_reason(in.reason);
}

void Fill(const core::MissingMember& in, v1::MissingMember* out) {
  out->set_rank(in.rank);
  if (in.member.has_value()) Fill(*in.member, out->mutable_member());
  out->set_state(Convert(in.state));
  out->set_activity(in.activity);
}

void Fill(const core::StillWaiting& in, v1::StillWaiting* out) {
  if (in.epoch.has_value()) Fill(*in.epoch, out->mutable_epoch());
  out->set_operation(in.operation);
  ToProto(in.waited, out->mutable_waited());
  out->set_text(in.text);
  for (const core::MissingMember& member : *in.missing) Fill(member, out->add_missing());
  for (const core::MissingMember& member : *in.gave_up) Fill(member, out->add_gave_up());
}

void Fill(const core::NewcomersWaiting& in, v1::NewcomersWaiting* out) {
  Fill(in.epoch, out->mutable_epoch());
  out->set_waiting(in.waiting);
  out->set_free_places(in.free_places);
}

void Fill(const core::GroupsClosed& in, v1::GroupsClosed* out) {
  Fill(in.epoch, out->mutable_epoch());
  for (const std::string& digest : in.closed) out->add_closed(digest);
  for (const std::string& digest : in.settled) out->add_settled(digest);
}

struct EventWriter {
  core::Time now;
  const core::Options& options;
  v1::AttachResponse* out;

  void operator()(const core::Attached& e) { Fill(e, options, out->mutable_attached()); }
  void operator()(const core::EpochBroken& e) { Fill(e, now, out->mutable_epoch_broken()); }
  void operator()(const core::NeedContribution& e) { Fill(e, out->mutable_need_contribution()); }
  void operator()(const core::GroupFinished& e) { Fill(e, out->mutable_group_finished()); }
  void operator()(const core::StillWaiting& e) { Fill(e, out->mutable_still_waiting()); }
  void operator()(const core::NeedRoster& e) { Fill(e, out->mutable_need_roster()); }
  void operator()(const core::GroupsClosed& e) { Fill(e, out->mutable_groups_closed()); }
  void operator()(const core::NewcomersWaiting& e) { Fill(e, out->mutable_newcomers_waiting()); }
};

}  // namespace

v1::AttachResponse ToProto(const core::Event& event, core::Time now, const core::Options& options) {
  v1::AttachResponse out;
  std::visit(EventWriter{now, options, &out}, event);
  return out;
}

}  // namespace muster::service
