#include "client/cli/inquire/status_report.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/cli/text/text_table.h"
#include "client/launcher/outcome/rank_ranges.h"
#include "common/names/node_names.h"
#include "common/names/operation_names.h"
#include "common/names/store_waits.h"
#include "common/text/reflow.h"
#include "common/text/utf8.h"

namespace muster::cli {
namespace {

using muster::v1::GetStatusResponse;

constexpr char kNone[] = "-";

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

std::string OrNone(const std::string& text) { return text.empty() ? kNone : text; }

// Returns "running" for MEMBER_STATE_RUNNING, and the number for a value that this version does not
// know.
std::string Lowercase(const std::string& name, const std::string& prefix, int value) {
  if (name.size() <= prefix.size()) return absl::StrCat("state ", value);
  return absl::AsciiStrToLower(name.substr(prefix.size()));
}

std::string StateOf(const GetStatusResponse& status) {
  return Lowercase(muster::v1::JobState_Name(status.state()), "JOB_STATE_", status.state());
}

std::string StateOf(const muster::v1::MemberStatus& member) {
  return Lowercase(muster::v1::MemberState_Name(member.state()), "MEMBER_STATE_", member.state());
}

std::string ScopeOf(const muster::v1::LeaseStatus& lease) {
  return Lowercase(muster::v1::LeaseScope_Name(lease.scope()), "LEASE_SCOPE_", lease.scope());
}

// Returns "3", "3 (elastic, 2 to 4)" or "not known yet".
std::string WorldSize(const GetStatusResponse& status) {
  const std::string now =
      status.world_size() == 0 ? "not known yet" : absl::StrCat(status.world_size());
  if (status.max_world_size() == 0) return now;
  return absl::StrCat(now, " (elastic, ", status.min_world_size(), " to ", status.max_world_size(),
                      ")");
}

// Returns requests that the running ranks may want to act on.
std::string Requests(const GetStatusResponse& status) {
  std::string text;
  if (status.newcomers_waiting() > 0) {
    absl::StrAppend(&text, "; newcomers waiting: ", status.newcomers_waiting());
  }
  if (status.stop_requested()) absl::StrAppend(&text, "; a stop was requested");
  return text;
}

// Returns the text as one line, or wrapped to `width`.
std::string Lines(const std::string& text, int width) {
  const std::string line = ReplaceUnprintable(text);
  return (width == TextTable::kUnbounded ? line : Reflow(line, width)) + "\n";
}

std::string JobLine(const GetStatusResponse& status, int width) {
  std::string line = absl::StrCat("job ", status.job_id(), ": ", StateOf(status));
  if (!status.reason().empty()) absl::StrAppend(&line, " (", status.reason(), ")");
  if (status.has_epoch()) absl::StrAppend(&line, ", epoch ", status.epoch().number());
  absl::StrAppend(&line, ", world size ", WorldSize(status), Requests(status));
  absl::StrAppend(&line, "; musterd ", status.daemon_version(), ", up ",
                  BriefDuration(FromProto(status.uptime())));
  if (status.unauthenticated_calls() > 0) {
    absl::StrAppend(&line,
                    "; calls refused for their credentials: ", status.unauthenticated_calls());
  }
  return Lines(line, width);
}

NodeNames NamesOf(const GetStatusResponse& status) {
  NodeNames names;
  for (const muster::v1::MemberStatus& member : status.members()) {
    names.Add(member.member().node_id());
  }
  return names;
}

// Returns a line with the nodes that use node fan-in.
std::string FanInNodes(const GetStatusResponse& status, const NodeNames& names, int width) {
  constexpr int kMaxNames = 8;
  const auto& nodes = status.node_collective_nodes();
  if (nodes.empty()) return "";
  const int named = std::min(nodes.size(), kMaxNames);
  const auto append_name = [&](std::string* out, const std::string& id) {
    out->append(names.NameOf(id));
  };
  std::string line = absl::StrCat(
      "ranks arrive together on ", nodes.size(), nodes.size() == 1 ? " node: " : " nodes: ",
      absl::StrJoin(nodes.begin(), nodes.begin() + named, ", ", append_name));
  if (nodes.size() > named) absl::StrAppend(&line, " and ", nodes.size() - named, " more");
  return Lines(line, width);
}

// Shortens the text for a narrow column: a collective without a group name is one of the world.
std::string WithoutWorld(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{" of the world for ", " for "}, {" of the world ", ", "}, {" of the world", ""}});
}

std::string Activity(const muster::v1::MemberStatus& member) {
  if (member.waiting_in().empty()) return OrNone(WithoutWorld(member.activity()));
  return absl::StrCat("in ", WithoutWorld(member.waiting_in()), " for ",
                      BriefDuration(FromProto(member.waiting_for())));
}

// Returns whether a column of hosts would add something to the nodes' names.
bool NeedsHostColumn(const GetStatusResponse& status, const NodeNames& names) {
  std::set<absl::string_view> hosts;
  bool named = true;
  for (const muster::v1::MemberStatus& status_of : status.members()) {
    const muster::v1::MemberIdentity& member = status_of.member();
    hosts.insert(member.hostname());
    named = named && absl::StartsWith(names.NameOf(member.node_id()), member.hostname());
  }
  return !named && hosts.size() > 1;
}

// Returns whether a launcher has bound a member to CPUs.
bool NeedsCpusColumn(const GetStatusResponse& status) {
  return std::any_of(status.members().begin(), status.members().end(),
                     [](const auto& member) { return !member.cpus().empty(); });
}

// `brief` leaves out columns for narrow terminals.
TextTable MembersTable(const GetStatusResponse& status, const NodeNames& names, bool brief) {
  const bool hosts = NeedsHostColumn(status, names);
  const bool has_cpus = NeedsCpusColumn(status);
  const auto row = [&](std::string rank, std::string node, std::string host, std::string pid,
                       std::string cpus, std::string state, std::string activity,
                       std::string call) {
    std::vector<std::string> cells = {std::move(rank), std::move(node)};
    if (hosts) cells.push_back(std::move(host));
    cells.push_back(std::move(pid));
    if (has_cpus) cells.push_back(std::move(cpus));
    cells.insert(cells.end(), {std::move(state), std::move(activity)});
    if (!brief) cells.push_back(std::move(call));
    return cells;
  };
  TextTable table(row("RANK", "NODE", "HOST", "PID", "CPUS", "STATE", "ACTIVITY", "LAST CALL"));
  for (const muster::v1::MemberStatus& member : status.members()) {
    const muster::v1::MemberIdentity& process = member.member();
    std::string activity = Activity(member);
    if (brief) activity = std::string(absl::StripPrefix(activity, "last "));
    table.AddRow(row(member.has_rank() ? absl::StrCat(member.rank()) : kNone,
                     names.NameOf(process.node_id()), process.hostname(),
                     absl::StrCat(process.pid()), OrNone(member.cpus()), StateOf(member),
                     std::move(activity),
                     absl::StrCat(BriefDuration(FromProto(member.since_last_call())), " ago")));
  }
  return table;
}

// On a terminal that is too narrow, leaves out the last call, because the activity has times too.
std::string Members(const GetStatusResponse& status, const NodeNames& names, int width) {
  if (status.members().empty()) return "no members yet\n";
  const TextTable full = MembersTable(status, names, /*brief=*/false);
  return full.Fits(width) ? full.ToString(width)
                          : MembersTable(status, names, /*brief=*/true).ToString(width);
}

std::string Ranks(const google::protobuf::RepeatedField<uint32_t>& ranks) {
  return OrNone(launcher::RankRanges(std::vector<int>(ranks.begin(), ranks.end())));
}

// Returns "world" or "tp (0-3)". Groups with the same name may exist side by side.
std::string GroupOf(const muster::v1::Group& group) {
  if (group.name().empty()) return "world";
  return absl::StrCat(ProgramGroupName(group.name()), " (", Ranks(group.ranks()), ")");
}

std::string PendingCollectives(const GetStatusResponse& status, int width) {
  const auto& all = status.pending_collectives();
  const bool gave_up = std::any_of(
      all.begin(), all.end(), [](const auto& pending) { return !pending.gave_up_ranks().empty(); });
  std::vector<std::string> header = {"GROUP",   "NUMBER", "OPERATION",   "ARRIVED",
                                     "MISSING", "SINCE",  "LAST ARRIVAL"};
  if (gave_up) header.insert(header.begin() + 5, "GAVE UP");
  TextTable table(std::move(header));
  for (const muster::v1::PendingCollective& pending : all) {
    std::vector<std::string> row = {
        GroupOf(pending.group()),
        absl::StrCat("#", pending.sequence()),
        pending.operation(),
        Ranks(pending.arrived_ranks()),
        Ranks(pending.missing_ranks()),
        BriefDuration(FromProto(pending.age())),
        absl::StrCat(BriefDuration(FromProto(pending.since_last_arrival())), " ago")};
    if (gave_up) row.insert(row.begin() + 5, Ranks(pending.gave_up_ranks()));
    table.AddRow(std::move(row));
  }
  return table.empty() ? "" : absl::StrCat("\npending collectives\n", table.ToString(width));
}

std::string Stragglers(const GetStatusResponse& status, const NodeNames& names, int width) {
  TextTable table({"RANK", "NODE", "LAST IN", "OF", "OPERATION", "BEHIND", "P95", "WAITED FOR"});
  for (const muster::v1::Straggler& straggler : status.stragglers()) {
    const uint64_t of = std::max<uint64_t>(1, straggler.collectives());
    table.AddRow({absl::StrCat(straggler.rank()), names.NameOf(straggler.node_id()),
                  absl::StrFormat("%.0f%%", 100.0 * straggler.last() / of),
                  absl::StrCat(straggler.collectives()), WithoutWorld(straggler.operation()),
                  BriefDuration(FromProto(straggler.median())),
                  BriefDuration(FromProto(straggler.p95())),
                  BriefDuration(FromProto(straggler.waited_for()))});
  }
  return table.empty() ? "" : absl::StrCat("\nlate ranks\n", table.ToString(width));
}

std::string Mismatches(const GetStatusResponse& status, int width) {
  std::string text;
  for (const std::string& oddity : status.oddities()) absl::StrAppend(&text, Lines(oddity, width));
  return text.empty() ? "" : absl::StrCat("\ndifferences when the epoch formed\n", text);
}

// Shows the verdict's age, because the wait that it is about may be over.
std::string Verdict(const GetStatusResponse& status, int width) {
  const muster::v1::Inquiry& inquiry = status.inquiry();
  if (inquiry.verdict().empty()) return "";
  return absl::StrCat("\nverdict of ", BriefDuration(FromProto(inquiry.age())), " ago\n",
                      Lines(inquiry.verdict(), width));
}

// Returns "ranks 3,5 and the launcher of n1 have waited 41.0s: key 'k' has not been set".
std::string StoreWait(const muster::v1::StoreWaiters& waiters, const NodeNames& names) {
  std::vector<std::string> nodes;
  for (const std::string& node : waiters.launcher_nodes()) nodes.push_back(names.NameOf(node));
  return absl::StrCat(DescribeStoreClients({waiters.ranks().begin(), waiters.ranks().end()}, nodes,
                                           waiters.others()),
                      " ", BriefDuration(FromProto(waiters.age())), ": ", waiters.what());
}

std::string StoreWaits(const GetStatusResponse& status, const NodeNames& names, int width) {
  constexpr int kMost = 20;
  const auto& all = status.store_waits();
  if (all.empty()) return "";
  std::string text = "\nwaits in the store\n";
  for (int i = 0; i < std::min(all.size(), kMost); ++i) {
    absl::StrAppend(&text, Lines(StoreWait(all[i], names), width));
  }
  const uint32_t more = std::max(all.size() - kMost, 0) + status.unlisted_store_waits();
  if (more > 0) absl::StrAppend(&text, "and ", more, " more\n");
  return text;
}

std::string HolderOf(const muster::v1::LeaseStatus& lease) {
  if (!lease.has_holder()) return kNone;
  const std::string pid = absl::StrCat("pid ", lease.holder().pid());
  return lease.has_holder_rank() ? absl::StrCat("rank ", lease.holder_rank(), " (", pid, ")") : pid;
}

std::string StateOf(const muster::v1::LeaseStatus& lease) {
  if (lease.completed()) return "completed";
  if (!lease.has_holder()) return "free";
  return absl::StrCat("held for ", BriefDuration(FromProto(lease.held_for())));
}

std::string Leases(const GetStatusResponse& status, const NodeNames& names, int width) {
  TextTable table({"LEASE", "SCOPE", "NODE", "HOLDER", "TOKEN", "STATE", "WAITERS"});
  for (const muster::v1::LeaseStatus& lease : status.leases()) {
    table.AddRow({lease.name(), ScopeOf(lease), OrNone(names.NameOf(lease.node_id())),
                  HolderOf(lease), absl::StrCat(lease.token()), StateOf(lease),
                  absl::StrCat(lease.waiters())});
  }
  return table.empty() ? "" : absl::StrCat("\nleases\n", table.ToString(width));
}

std::string RecentFailures(const GetStatusResponse& status, const NodeNames& names, int width) {
  TextTable table({"RANK", "NODE", "PID", "CAUSE", "ACTIVITY", "WHEN"});
  for (const muster::v1::Failure& failure : status.recent_failures()) {
    table.AddRow({failure.has_rank() ? absl::StrCat(failure.rank()) : kNone,
                  names.NameOf(failure.member().node_id()), absl::StrCat(failure.member().pid()),
                  failure.cause(), OrNone(WithoutWorld(failure.activity())),
                  absl::StrCat(BriefDuration(FromProto(failure.age())), " ago")});
  }
  return table.empty() ? "" : absl::StrCat("\nrecent failures\n", table.ToString(width));
}

}  // namespace

std::string StatusReport(const GetStatusResponse& status, int width) {
  const NodeNames names = NamesOf(status);
  return absl::StrCat(JobLine(status, width), FanInNodes(status, names, width), "\n",
                      Members(status, names, width), PendingCollectives(status, width),
                      StoreWaits(status, names, width), Verdict(status, width),
                      Mismatches(status, width), Stragglers(status, names, width),
                      Leases(status, names, width), RecentFailures(status, names, width));
}

absl::StatusOr<std::string> StatusJson(const GetStatusResponse& status) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(status, &json, options);
  if (printed.ok()) return json;
  return absl::InternalError(
      absl::StrCat("cannot print the status as JSON: ", std::string(printed.message())));
}

std::string BriefDuration(absl::Duration duration) {
  constexpr absl::Duration kDay = absl::Hours(24);
  const double seconds = absl::ToDoubleSeconds(duration);
  if (duration < absl::Seconds(1)) return absl::StrCat(absl::ToInt64Milliseconds(duration), "ms");
  if (duration < absl::Minutes(1)) return absl::StrFormat("%.1fs", seconds);
  const int64_t minutes = absl::ToInt64Minutes(duration);
  if (duration < absl::Hours(1)) {
    return absl::StrCat(minutes, "m", absl::ToInt64Seconds(duration) % 60, "s");
  }
  if (duration < kDay) return absl::StrCat(minutes / 60, "h", minutes % 60, "m");
  return absl::StrCat(duration / kDay, "d", absl::ToInt64Hours(duration) % 24, "h");
}

}  // namespace muster::cli
