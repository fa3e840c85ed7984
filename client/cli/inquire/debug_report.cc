#include "client/cli/inquire/debug_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/cli/text/text_table.h"
#include "client/launcher/outcome/rank_ranges.h"
#include "client/observe/bundle/bundle_folder.h"
#include "common/names/store_waits.h"
#include "common/rpc/process_condition.h"
#include "common/rpc/wire_condition.h"
#include "common/text/reflow.h"
#include "common/text/utf8.h"

namespace muster::cli {
namespace {

using muster::v1::GetInquiryResponse;
using muster::v1::GetStatusResponse;
using muster::v1::LauncherReport;
using muster::v1::MemberStatus;
using muster::v1::RankObservation;

constexpr size_t kMaxSeparateRows = 16;  // with at most this many, each rank gets a row
constexpr size_t kMaxRows = 40;

std::string StateText(ProcessCondition condition) {
  switch (condition) {
    case ProcessCondition::kComputing:
      return "computes";
    case ProcessCondition::kSleeping:
      return "sleeps";
    case ProcessCondition::kUninterruptible:
      return "blocked (D)";
    case ProcessCondition::kStopped:
      return "stopped";
    case ProcessCondition::kTraced:
      return "in a debugger";
    case ProcessCondition::kEnded:
      return "has ended";
    case ProcessCondition::kUnknown:
      break;
  }
  return "unknown";
}

std::string ProcessKey(const std::string& node, int64_t pid) {
  return absl::StrCat(node, " ", pid);
}

// Finds the member that an observation is about, by rank, or by process if there are no ranks yet;
// and what a member waits in.
class MemberIndex {
 public:
  explicit MemberIndex(const GetStatusResponse& status) {
    for (const MemberStatus& member : status.members()) {
      if (member.has_rank()) by_rank_[member.rank()] = &member;
      const std::string& node = member.member().node_id();
      const std::string& host = member.member().hostname();
      Add(ProcessKey(node, member.member().pid()), &member);
      if (host != node) Add(ProcessKey(host, member.member().pid()), &member);
    }
    for (const muster::v1::StoreWaiters& waiters : status.store_waits()) {
      for (const uint32_t rank : waiters.ranks()) missing_in_store_.emplace(rank, waiters.what());
    }
  }

  // Returns nullptr if there is none, or several match.
  const MemberStatus* Find(const RankObservation& observation, const std::string& node) const {
    if (observation.has_rank()) {
      const auto found = by_rank_.find(observation.rank());
      if (found != by_rank_.end()) return found->second;
    }
    const auto found = by_process_.find(ProcessKey(node, observation.pid()));
    return found == by_process_.end() ? nullptr : found->second;
  }

  // Returns the parked call, or else "the store (key 'a' has not been set)". Empty if the member
  // waits in neither.
  std::string WaitOf(const MemberStatus& member) const {
    if (!member.waiting_in().empty()) {
      return std::string(absl::StripSuffix(member.waiting_in(), " of the world"));
    }
    const auto missing = missing_in_store_.find(member.rank());
    const bool in_store = member.has_rank() && missing != missing_in_store_.end();
    return in_store ? DescribeWaitInStore(missing->second) : "";
  }

 private:
  // Containers on one host may share a node name and use the same process ids.
  void Add(const std::string& process, const MemberStatus* member) {
    const auto [known, is_new] = by_process_.emplace(process, member);
    if (!is_new) known->second = nullptr;
  }

  std::map<uint32_t, const MemberStatus*> by_rank_;
  std::map<std::string, const MemberStatus*> by_process_;
  std::map<uint32_t, std::string> missing_in_store_;  // by rank; of the longest wait
};

// Returns "in read() of /data/shard-7".
std::string DescribeObservation(const RankObservation& observation) {
  std::string text = observation.thread().empty() ? "" : absl::StrCat(observation.thread(), " ");
  if (observation.dead_lock()) {
    absl::StrAppend(&text, "deadlock with ", observation.blocked_by());
  } else if (!observation.call().empty()) {
    absl::StrAppend(&text, "in ", observation.call(), "()",
                    observation.target().empty() ? "" : absl::StrCat(" of ", observation.target()));
  } else if (observation.condition() == muster::v1::PROCESS_CONDITION_COMPUTING) {
    absl::StrAppend(&text, observation.cpu_percent(), " % of a processor");
  }
  return ReplaceUnprintable(text);
}

// Returns " for 4m", or "" if the time is not known.
std::string DurationText(const RankObservation& observation) {
  if (!observation.has_in_call_for()) return "";
  return absl::StrCat(" for ",
                      absl::FormatDuration(absl::Seconds(observation.in_call_for().seconds())));
}

// A row of the table: a process, or several that do the same.
struct Row {
  std::vector<int> ranks;  // of the processes that have a rank
  std::set<std::string> nodes;
  std::vector<int64_t> pids;
  std::string state;
  std::string activity;
  std::string duration;
  std::string waits_in;
};

Row RowOf(const RankObservation& observation, const std::string& node, const MemberIndex& members) {
  const MemberStatus* const member = members.Find(observation, node);
  Row row;
  if (observation.has_rank()) {
    row.ranks = {static_cast<int>(observation.rank())};
  } else if (member != nullptr && member->has_rank()) {
    row.ranks = {static_cast<int>(member->rank())};
  }
  row.nodes = {node};
  row.pids = {observation.pid()};
  row.state = StateText(FromWire(observation.condition()));
  row.activity = DescribeObservation(observation);
  row.duration = DurationText(observation);
  if (member != nullptr) row.waits_in = ReplaceUnprintable(members.WaitOf(*member));
  return row;
}

bool ComesBefore(const Row& a, const Row& b) {
  if (a.ranks.empty() || b.ranks.empty()) return b.ranks.empty() && !a.ranks.empty();
  return a.ranks.front() < b.ranks.front();
}

// Returns one row for each process, by rank. Processes without a rank come last.
std::vector<Row> RowsOf(const GetInquiryResponse& inquiry, const GetStatusResponse& status) {
  const MemberIndex members(status);
  std::vector<Row> rows;
  for (const LauncherReport& report : inquiry.reports()) {
    const std::string& node = report.launcher().node();
    for (const RankObservation& observation : report.ranks()) {
      rows.push_back(RowOf(observation, node, members));
    }
  }
  std::stable_sort(rows.begin(), rows.end(), ComesBefore);
  return rows;
}

void MergeInto(const Row& other, Row* row) {
  row->ranks.insert(row->ranks.end(), other.ranks.begin(), other.ranks.end());
  row->nodes.insert(other.nodes.begin(), other.nodes.end());
  row->pids.insert(row->pids.end(), other.pids.begin(), other.pids.end());
  row->duration.clear();  // differs between the joined processes
}

// Joins rows that do the same, each at the place of its first row.
std::vector<Row> MergeRows(const std::vector<Row>& rows) {
  std::vector<Row> merged;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> known;
  for (const Row& row : rows) {
    const auto [at, is_new] =
        known.emplace(std::tie(row.state, row.activity, row.waits_in), merged.size());
    if (is_new) {
      merged.push_back(row);
    } else {
      MergeInto(row, &merged[at->second]);
    }
  }
  return merged;
}

std::vector<std::string> Cells(const Row& row) {
  return {launcher::RankRanges(row.ranks),
          row.nodes.size() == 1 ? *row.nodes.begin() : absl::StrCat(row.nodes.size(), " nodes"),
          row.pids.size() == 1 ? absl::StrCat(row.pids[0])
                               : absl::StrCat(row.pids.size(), " processes"),
          row.state,
          absl::StrCat(row.activity, row.duration),
          row.waits_in};
}

// Returns the first `max_rows` rows, and a line with the number of the others.
std::string Table(const std::vector<Row>& rows, size_t max_rows, int width) {
  if (rows.empty()) return "";
  TextTable table({"rank", "node", "pid", "state", "is doing", "waits in"});
  for (size_t i = 0; i < std::min(rows.size(), max_rows); ++i) table.AddRow(Cells(rows[i]));
  std::string text = absl::StrCat("\n", table.ToString(width));
  if (rows.size() > max_rows) {
    absl::StrAppend(&text, "and ", rows.size() - max_rows,
                    " more rows: verdict.txt, in the bundle, has one for each rank\n");
  }
  return text;
}

std::string Report(const GetInquiryResponse& inquiry, const std::string& table, int width) {
  const std::string verdict = ReplaceUnprintable(inquiry.inquiry().verdict());
  std::string text =
      absl::StrCat(width == TextTable::kUnbounded ? verdict : Reflow(verdict, width), "\n", table);
  if (inquiry.inquiry().awaited_nodes_size() > 0) {
    absl::StrAppend(&text, "\nno answer from the launchers of: ",
                    ReplaceUnprintable(absl::StrJoin(inquiry.inquiry().awaited_nodes(), ", ")),
                    "\n");
  }
  return text;
}

}  // namespace

std::string LauncherFolder(const LauncherReport& report, const GetInquiryResponse& inquiry) {
  int number = 0;
  for (const LauncherReport& other : inquiry.reports()) {
    if (other.launcher().id() == report.launcher().id()) break;
    number +=
        observe::PathPart(other.launcher().node()) == observe::PathPart(report.launcher().node());
  }
  return absl::StrCat("nodes/", observe::PathPart(report.launcher().node()),
                      number == 0 ? "" : absl::StrCat("-", number + 1), "/");
}

std::string FullDebugReport(const GetInquiryResponse& inquiry, const GetStatusResponse& status) {
  const std::vector<Row> rows = RowsOf(inquiry, status);
  return Report(inquiry, Table(rows, rows.size(), TextTable::kUnbounded), TextTable::kUnbounded);
}

std::string DebugReport(const GetInquiryResponse& inquiry, const GetStatusResponse& status,
                        int width) {
  std::vector<Row> rows = RowsOf(inquiry, status);
  if (rows.size() > kMaxSeparateRows) rows = MergeRows(rows);
  return Report(inquiry, Table(rows, kMaxRows, width), width);
}

}  // namespace muster::cli
