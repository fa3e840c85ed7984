#include "server/journal/narration/trace_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/names/node_names.h"
#include "nlohmann/json.hpp"

namespace muster::journal {
namespace {

using nlohmann::json;

// The most lanes of a process. Further overlapping calls share the last lane.
constexpr int kMaxLanes = 64;
constexpr double kMinSliceMicros = 0.001;  // microseconds; slices without a length are not shown

}  // namespace

TraceWriter::TraceWriter(std::ostream* out) : out_(out) {
  *out_ << R"({"displayTimeUnit":"ms","traceEvents":[)";
}

void TraceWriter::Write(const json& event) {
  *out_ << (empty_ ? "\n" : ",\n") << event.dump(-1, ' ', false, json::error_handler_t::replace);
  empty_ = false;
}

// Returns the time since the first event. A double cannot hold nanoseconds since 1970.
double TraceWriter::Micros(core::Time time) {
  if (!begin_) begin_ = time;
  return absl::ToDoubleMicroseconds(time - *begin_);
}

TraceWriter::Track TraceWriter::TrackOf(const ReplayedMember& member, int lane) {
  const int next = kMusterd.process + 1 + static_cast<int>(processes_.size());
  const int process = processes_.try_emplace(member.identity.node_id, next).first->second;
  const Track track{process, 1 + member.number * kMaxLanes + lane};
  if (lane == 0) tracks_[member.identity.incarnation] = track;
  max_lane_[member.number] = std::max(max_lane_[member.number], lane);
  return track;
}

// Writes an instant for its own track ("s": "t"). Perfetto puts instants of a process, or of the
// whole trace, on tracks without a name.
void TraceWriter::WriteInstant(core::Time now, const std::string& name, const Track& track) {
  Write({{"name", name},
         {"ph", "i"},
         {"s", "t"},
         {"ts", Micros(now)},
         {"pid", track.process},
         {"tid", track.thread}});
}

// Writes a slice for the end of an arrow. An arrow can only begin and end at a slice.
void TraceWriter::WriteArrowSlice(double micros, const std::string& name, const Track& track) {
  Write({{"name", name},
         {"cat", "loss"},
         {"ph", "X"},
         {"ts", micros},
         {"dur", 1.0},
         {"pid", track.process},
         {"tid", track.thread}});
}

void TraceWriter::WriteArrowEnd(double micros, const Track& track, const std::string& phase) {
  json arrow = {{"name", "loss"}, {"cat", "loss"},        {"ph", phase},        {"id", arrows_},
                {"ts", micros},   {"pid", track.process}, {"tid", track.thread}};
  if (phase == "f") arrow["bp"] = "e";
  Write(arrow);
}

// Returns when the member was lost. Writes the loss at its first use; many processes may be told of
// one loss, at different times.
double TraceWriter::WriteLoss(core::Time now, const core::Failure& failure, const Track& track) {
  const auto [loss, is_new] = losses_.try_emplace(failure.member.incarnation, Micros(now));
  if (is_new) {
    const std::string name = absl::StrCat("lost: ", failure.cause);
    WriteInstant(now, name, track);  // the slice is too small to be seen
    WriteArrowSlice(loss->second, name, track);
  }
  return loss->second;
}

void TraceWriter::WriteName(const std::string& what, const Track& track, const std::string& name,
                            int64_t order) {
  const json ids = {{"ph", "M"}, {"pid", track.process}, {"tid", track.thread}};
  json named = ids;
  named["name"] = what + "_name";
  named["args"] = {{"name", name}};
  Write(named);
  json sorted = ids;
  sorted["name"] = what + "_sort_index";
  sorted["args"] = {{"sort_index", order}};
  Write(sorted);
}

void TraceWriter::Finish(const std::vector<std::unique_ptr<ReplayedMember>>& members) {
  WriteName("process", {kMusterd.process, 0}, "coordinator", 0);
  WriteName("thread", kMusterd, "musterd", 0);
  int64_t place = 0;
  NodeNames names;
  for (const auto& [node, process] : processes_) names.Add(node);
  for (const auto& [node, process] : processes_) {
    WriteName("process", {process, 0}, names.Describe(node), ++place);
  }
  for (const auto& member : members) {
    if (tracks_.count(member->identity.incarnation) == 0) continue;
    const std::string who = member->rank ? absl::StrCat("rank ", *member->rank) : "process";
    const int64_t order =
        member->rank ? int64_t{*member->rank} : (int64_t{1} << 30) + member->number;
    for (int lane = 0; lane <= max_lane_[member->number]; ++lane) {
      WriteName("thread", TrackOf(*member, lane),
                absl::StrCat(who, " (pid ", member->identity.pid, ")"), order);
    }
  }
  *out_ << "\n]}\n";
}

void TraceWriter::OnDaemonStart(core::Time now, const core::Options& options) {
  WriteInstant(now, absl::StrCat("musterd ", options.daemon_version, " starts"), kMusterd);
}

void TraceWriter::OnEnd(core::Time now, const End& end) {
  WriteInstant(now, absl::StrCat("the recording ends: ", end.reason()), kMusterd);
}

void TraceWriter::OnAttached(core::Time now, const ReplayedMember& member) {
  WriteInstant(now, "attached", TrackOf(member));
}

void TraceWriter::OnDetached(core::Time now, const ReplayedMember& member) {
  WriteInstant(now, "connection ended", TrackOf(member));
}

void TraceWriter::OnCall(const ReplayedCall& call) {
  Micros(call.since);
  std::set<int>& busy = busy_[call.member->number];
  int lane = 0;
  while (busy.count(lane) > 0 && lane + 1 < kMaxLanes) ++lane;
  busy.insert(lane);
  lanes_[call.id] = lane;
}

void TraceWriter::OnCallEnd(core::Time now, const ReplayedCall& call, const absl::Status& status) {
  const auto lane = lanes_.extract(call.id);
  if (lane.empty()) return;
  busy_[call.member->number].erase(lane.mapped());
  const Track track = TrackOf(*call.member, lane.mapped());
  json args = {{"result", absl::StatusCodeToString(status.code())}};
  if (!status.ok()) args["error"] = std::string(status.message());
  if (!call.group.empty()) {
    args["group"] = call.group;
    args["number"] = call.sequence;
  }
  const double begin = Micros(call.since);
  Write({{"name", call.operation},
         {"cat", call.group.empty() ? "call" : "collective"},
         {"ph", "X"},
         {"ts", begin},
         {"dur", std::max(kMinSliceMicros, Micros(now) - begin)},
         {"pid", track.process},
         {"tid", track.thread},
         {"args", std::move(args)}});
}

void TraceWriter::OnEpochBroken(core::Time now, const ReplayedMember& member,
                                const core::EpochBroken& broken) {
  for (const core::Failure& failure : broken.failures) {
    const auto lost = tracks_.find(failure.member.incarnation);
    if (lost == tracks_.end()) continue;
    ++arrows_;
    WriteArrowEnd(WriteLoss(now, failure, lost->second), lost->second, "s");
    const double heard_at = Micros(now) + 1;
    WriteArrowSlice(heard_at, "hears of a loss", TrackOf(member));
    WriteArrowEnd(heard_at, TrackOf(member), "f");
  }
}

void TraceWriter::OnLog(core::Time now, const core::LogLine& line) {
  if (line.severity != core::Severity::kDebug) WriteInstant(now, line.text, kMusterd);
}

}  // namespace muster::journal
