#include "muster/group.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/checks.h"
#include "client/src/group/group_access.h"
#include "client/src/group/group_state.h"
#include "common/names/operation_names.h"
#include "common/text/utf8.h"

namespace muster {
namespace {

using internal::CollectiveCall;
using internal::CollectiveKind;
using Payloads = absl::StatusOr<std::vector<std::string>>;

absl::Status CheckRoot(const internal::GroupState& group, const CollectiveCall& call) {
  const int size = static_cast<int>(group.ranks.size());
  if (call.root >= 0 && call.root < size) return absl::OkStatus();
  const char* const kind = call.kind == CollectiveKind::kGather ? "Gather" : "Broadcast";
  return absl::InvalidArgumentError(
      absl::StrCat(DescribeCollective({kind, "", std::nullopt, call.type_name, std::nullopt}),
                   ": root ", call.root, " is out of range: ",
                   group.name.empty() ? "the world" : absl::StrCat("group '", group.name, "'"),
                   " has ", size, " ranks, 0 to ", size - 1));
}

absl::Status CheckCall(const internal::GroupState& group, const CollectiveCall& call) {
  const internal::ControlPlane& control = *group.control;
  absl::Status status = internal::CheckText("label", call.label, control.max_name_bytes());
  status.Update(internal::CheckText("type name", call.type_name, control.max_name_bytes()));
  status.Update(CheckRoot(group, call));
  status.Update(internal::CheckText("call site", call.call_site, internal::kMaxCallSiteBytes));
  status.Update(internal::CheckPayload(control, "payload", call.payload.size()));
  return status;
}

// Describes a collective. `contributes` says whether `bytes` travel: in a broadcast, only the
// root's do.
CollectiveCall Describe(CollectiveKind kind, int root, absl::string_view type_name,
                        absl::string_view bytes, bool contributes) {
  CollectiveCall call;
  call.kind = kind;
  call.root = root;
  call.type_name = std::string(type_name);
  if (contributes) call.payload = std::string(bytes);
  return call;
}

// Converts "src/train.cc", 42 to "train.cc:42". Returns an empty string if the call site is
// unknown.
std::string ToString(const CallSite& site) {
  if (*site.file == '\0') return "";
  const absl::string_view file = site.file;
  return absl::StrCat(file.substr(file.rfind('/') + 1), ":", site.line);
}

bool PreventsBlock(const internal::GroupState& group) {
  return group.block_preventions != nullptr && group.block_preventions->AnyOpen();
}

// Returns the result of a collective inside a PreventBlock scope: the caller's own value.
Payloads RunAlone(CollectiveCall call) {
  if (call.kind == CollectiveKind::kBarrier) return std::vector<std::string>();
  return std::vector<std::string>{std::move(call.payload)};
}

Payloads Run(const internal::GroupState& group, CollectiveCall call, const CallOptions& options,
             const CallSite& site) {
  absl::StatusOr<CallOptions> admitted = internal::CheckCall(*group.control, options);
  if (!admitted.ok()) return admitted.status();
  call.call_site = ReplaceUnprintable(ToString(site));
  if (absl::Status status = CheckCall(group, call); !status.ok()) return status;
  if (PreventsBlock(group)) return RunAlone(std::move(call));
  const bool many = call.kind == CollectiveKind::kGather || call.kind == CollectiveKind::kAllGather;
  if (options.require_equal_sizes && many) call.payload_size = call.payload.size();
  // Calls of the world do not list the ranks.
  const std::vector<int> ranks = group.name.empty() ? std::vector<int>() : group.ranks;
  return group.control->RunCollective(group.name, ranks, std::move(call), *admitted);
}

}  // namespace

int Group::rank() const { return state_->rank; }
int Group::size() const { return static_cast<int>(state_->ranks.size()); }
const std::vector<int>& Group::ranks() const { return state_->ranks; }
const std::string& Group::name() const { return state_->name; }

absl::StatusOr<std::vector<std::string>> internal::GroupAccess::Run(const Group& group,
                                                                    CollectiveCall call,
                                                                    const CallOptions& options,
                                                                    CallSite site) {
  return muster::Run(*group.state_, std::move(call), options, site);
}

absl::Status Group::Barrier(absl::string_view label, const CallOptions& options,
                            CallSite site) const {
  CollectiveCall call;
  call.label = std::string(label);
  return Run(*state_, std::move(call), options, site).status();
}

absl::StatusOr<std::string> Group::BroadcastBytes(absl::string_view bytes, int root,
                                                  absl::string_view type_name,
                                                  const CallOptions& options, CallSite site) const {
  Payloads payloads = Run(*state_,
                          Describe(CollectiveKind::kBroadcast, root, type_name, bytes,
                                   rank() == root || prevents_block()),
                          options, site);
  if (!payloads.ok()) return payloads.status();
  return std::move(payloads->front());
}

absl::StatusOr<std::vector<std::string>> Group::GatherBytes(absl::string_view bytes, int root,
                                                            absl::string_view type_name,
                                                            const CallOptions& options,
                                                            CallSite site) const {
  return Run(*state_, Describe(CollectiveKind::kGather, root, type_name, bytes, true), options,
             site);
}

absl::StatusOr<std::vector<std::string>> Group::AllGatherBytes(absl::string_view bytes,
                                                               absl::string_view type_name,
                                                               const CallOptions& options,
                                                               CallSite site) const {
  return Run(*state_, Describe(CollectiveKind::kAllGather, 0, type_name, bytes, true), options,
             site);
}

bool Group::prevents_block() const { return PreventsBlock(*state_); }

const Member& Group::member(int index) const {
  return state_->control->members()[state_->ranks[index]];
}

absl::Status Group::health() const {
  const absl::Status forked = state_->control->CheckProcess();
  return forked.ok() ? state_->control->health() : forked;
}

absl::Status Group::AwaitFailure(absl::Duration timeout) const {
  const absl::Status forked = state_->control->CheckProcess();
  return forked.ok() ? state_->control->AwaitFailure(timeout) : forked;
}

absl::Status Group::AwaitLoss(const CallOptions& options) const {
  if (absl::Status forked = state_->control->CheckProcess(); !forked.ok()) return forked;
  CallOptions resolved = options;
  resolved.timeout = options.timeout.value_or(default_timeout());
  return state_->control->AwaitLoss(resolved);
}

Subscription Group::OnFailure(std::function<void(const absl::Status&)> callback) const {
  const absl::Status forked = state_->control->CheckProcess();
  if (forked.ok()) return state_->control->OnFailure(std::move(callback));
  callback(forked);
  return Subscription();
}

absl::Duration Group::default_timeout() const { return state_->control->default_timeout(); }
std::string Group::local_address() const { return state_->control->local_address(); }

}  // namespace muster
