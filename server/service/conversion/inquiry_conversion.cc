// Converts inquiries between the wire and the core: what launchers report of their ranks.

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"
#include "common/rpc/wire_condition.h"
#include "server/service/conversion/request_conversion.h"
#include "server/service/conversion/request_reader.h"
#include "server/service/conversion/response_conversion.h"
#include "server/service/conversion/response_writer.h"

namespace muster::service {
namespace {

// Reads the identity of a launcher. Its id is as secret as a process's secret, so others are told
// a hash of it.
core::LauncherIdentity Read(const v1::LauncherIdentity& in, RequestReader& r) {
  r.Require(in.id().size() == kProcessSecretBytes, "launcher.id", [&] {
    return absl::StrCat("has ", in.id().size(), " bytes; expected ", kProcessSecretBytes);
  });
  core::LauncherIdentity out = {IncarnationOf(in.id()), in.node(), in.pid()};
  for (const std::string& secret : in.process_secrets()) {
    out.processes.push_back(ReadSecret(secret, r));
  }
  return out;
}

core::CommunicatorCount Read(const v1::CommunicatorCount& in, RequestReader& r) {
  return {in.name(), in.operation(), in.begun(), in.ended(),
          ReadDuration(in.since(), "ranks.communicators.since", r)};
}

core::RankObservation Read(v1::RankObservation&& in, RequestReader& r) {
  core::RankObservation out;
  out.incarnation = ReadSecret(in.secret(), r);
  if (in.has_rank()) out.rank = in.rank();
  out.pid = in.pid();
  out.condition = FromWire(in.condition());
  out.call = std::move(*in.mutable_call());
  out.target = std::move(*in.mutable_target());
  if (in.has_in_call_for()) {
    out.in_call_for = ReadDuration(in.in_call_for(), "ranks.in_call_for", r);
  }
  out.cpu_percent = in.cpu_percent();
  out.thread = std::move(*in.mutable_thread());
  out.blocked_by = std::move(*in.mutable_blocked_by());
  out.dead_lock = in.dead_lock();
  out.kernel_function = std::move(*in.mutable_kernel_function());
  for (const v1::CommunicatorCount& count : in.communicators()) {
    out.communicators.push_back(Read(count, r));
  }
  return out;
}

void Fill(const core::LauncherIdentity& in, v1::LauncherIdentity* out) {
  out->set_id(in.id);
  out->set_node(in.node);
  out->set_pid(in.pid);
}

void Fill(const core::CommunicatorCount& in, v1::CommunicatorCount* out) {
  out->set_name(in.name);
  out->set_operation(in.operation);
  out->set_begun(in.begun);
  out->set_ended(in.ended);
  ToProto(in.since, out->mutable_since());
}

void Fill(const core::RankObservation& in, v1::RankObservation* out) {
  if (in.rank) out->set_rank(*in.rank);
  out->set_pid(in.pid);
  out->set_condition(ToWire(in.condition));
  out->set_call(in.call);
  out->set_target(in.target);
  if (in.in_call_for) ToProto(*in.in_call_for, out->mutable_in_call_for());
  out->set_cpu_percent(in.cpu_percent);
  out->set_thread(in.thread);
  out->set_blocked_by(in.blocked_by);
  out->set_dead_lock(in.dead_lock);
  out->set_kernel_function(in.kernel_function);
  for (const core::CommunicatorCount& count : in.communicators) {
    Fill(count, out->add_communicators());
  }
}

void Fill(const core::LauncherReport& in, v1::LauncherReport* out) {
  Fill(in.launcher, out->mutable_launcher());
  for (const core::RankObservation& seen : in.ranks) Fill(seen, out->add_ranks());
  for (const core::BundleFile& file : in.files) out->add_files(file.name);
  out->set_complete(in.complete);
}

}  // namespace

absl::StatusOr<core::InquiryRequest> FromProto(v1::RequestInquiryRequest&& in) {
  return core::InquiryRequest{in.job_id(), in.reason()};
}

absl::StatusOr<core::InquiryReport> FromProto(v1::ReportInquiryRequest&& in) {
  RequestReader r("ReportInquiryRequest");
  core::InquiryReport out;
  out.job_id = in.job_id();
  out.number = in.number();
  out.report.launcher = Read(in.launcher(), r);
  out.report.complete = in.complete();
  for (v1::RankObservation& seen : *in.mutable_ranks()) {
    out.report.ranks.push_back(Read(std::move(seen), r));
  }
  for (v1::BundleFile& file : *in.mutable_files()) {
    out.report.files.push_back({file.name(), service::Convert(std::move(*file.mutable_content()))});
  }
  return r.Result(std::move(out));
}

absl::StatusOr<core::InquiryQuery> FromProto(v1::GetInquiryRequest&& in) {
  RequestReader r("GetInquiryRequest");
  core::InquiryQuery out;
  out.job_id = in.job_id();
  out.after = in.after();
  if (in.has_wait_timeout()) out.wait_timeout = ReadDuration(in.wait_timeout(), "wait_timeout", r);
  if (in.has_launcher()) out.launcher = Read(in.launcher(), r);
  out.files_of = in.files_of();
  out.without_reports = in.without_reports();
  return r.Result(std::move(out));
}

void ToProto(const core::InquiryStatus& status, v1::Inquiry* out) {
  out->set_number(status.number);
  out->set_reason(status.reason);
  out->set_wants_files(status.wants_files);
  out->set_open(status.open);
  ToProto(status.age, out->mutable_age());
  out->set_verdict(status.verdict);
  out->set_kind(status.kind);
  for (const std::string& node : status.awaited_nodes) out->add_awaited_nodes(node);
  out->set_complete(status.complete);
}

void ToProto(const core::Answer& answer, v1::RequestInquiryResponse* out) {
  out->set_number(std::get<core::InquiryAnswer>(answer).status->number);
}

void ToProto(const core::Answer& answer, v1::GetInquiryResponse* out) {
  const auto& inquiry = std::get<core::InquiryAnswer>(answer);
  ToProto(*inquiry.status, out->mutable_inquiry());
  for (const auto& report : inquiry.reports) Fill(*report, out->add_reports());
  if (inquiry.files_of == nullptr) return;
  for (const core::BundleFile& file : inquiry.files_of->files) {
    v1::BundleFile* const sent = out->add_files();
    sent->set_name(file.name);
    sent->set_content(*file.content);
  }
}

}  // namespace muster::service
