#include "server/web/page/status_json.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/names/store_waits.h"
#include "nlohmann/json.hpp"
#include "server/core/api/describe.h"

namespace muster::web {
namespace {

using nlohmann::json;

// The most open leases that are listed. A job may have tens of thousands.
constexpr size_t kMaxLeases = 200;
// The most waits in the store that are listed, the longest first.
constexpr size_t kMaxStoreWaits = 20;

const char* JobStateName(core::JobState state) {
  switch (state) {
    case core::JobState::kForming:
      return "forming";
    case core::JobState::kRunning:
      return "running";
    case core::JobState::kFailed:
      return "failed";
    case core::JobState::kFinished:
      return "finished";
    case core::JobState::kRecovering:
      return "recovering";
    case core::JobState::kReforming:
      return "reforming";
  }
  return "";
}

// Returns the names of core::MemberState, in the order of its values.
const std::vector<std::string>& MemberStates() {
  static const std::vector<std::string> states = {"attached", "joining", "running",
                                                  "detached", "leaving", "left",
                                                  "lost",     "stopped", "awaited"};
  return states;
}
static_assert(static_cast<int>(core::MemberState::kAttached) == 0 &&
              static_cast<int>(core::MemberState::kAwaited) == 8);

int KindOf(core::Severity severity) {
  if (severity == core::Severity::kError) return 2;
  return severity == core::Severity::kWarning ? 1 : 0;
}

// Returns sorted ranks as the first and last rank of each run: "[[0,6],[8,8]]".
json Ranges(const std::vector<uint32_t>& ranks) {
  json ranges = json::array();
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    ranges.push_back({ranks[i], ranks[end - 1]});
    i = end;
  }
  return ranges;
}

json OrNull(const std::optional<uint32_t>& rank) { return rank ? json(*rank) : json(); }

double Milliseconds(absl::Duration duration) {
  return static_cast<double>(absl::ToInt64Microseconds(duration)) / 1000;
}

// A writer of the parts of one snapshot as JSON.
class StatusWriter {
 public:
  explicit StatusWriter(const service::CoordinatorDriver::Snapshot& snapshot)
      : snapshot_(snapshot), start_(snapshot.now - snapshot.uptime) {
    for (const core::MemberStatus& member : snapshot.job.members) {
      names_.Add(member.member.node_id);
    }
  }

  json Members() {
    json rows = json::array();
    for (const core::MemberStatus& member : snapshot_.job.members) rows.push_back(Row(member));
    return rows;
  }
  // Returns the names of nodes whose ids are not their names: {"vm/58b986b6-...": "vm"}.
  json ShownNodes() const {
    json names = json::object();
    const auto add = [&](const std::string& id) {
      if (std::string name = names_.NameOf(id); name != id) names[id] = std::move(name);
    };
    for (const core::MemberStatus& member : snapshot_.job.members) add(member.member.node_id);
    for (const core::Failure& failure : snapshot_.job.recent_failures) add(failure.member.node_id);
    return names;
  }
  // Returns the texts that rows refer to. Call it last.
  json Texts() && { return std::move(texts_); }

  json Pending() const {
    json all = json::array();
    for (const core::PendingCollective& pending : snapshot_.job.pending) {
      all.push_back(
          {{"title", core::DescribeStep(pending.operation, pending.sequence, pending.group)},
           {"arrived", Ranges(pending.arrived)},
           {"missing", Ranges(pending.missing)},
           {"gaveUp", Ranges(pending.gave_up)},
           {"first", At(snapshot_.now - pending.age)},
           {"latest", At(snapshot_.now - pending.since_last_arrival)}});
    }
    return all;
  }

  json LauncherNodes(const core::StoreWaiters& waiters) const {
    json nodes = json::array();
    for (const std::string& node : waiters.launcher_nodes) nodes.push_back(names_.NameOf(node));
    return nodes;
  }
  // Returns what clients of the store wait for, the longest wait first.
  json StoreWaits() const {
    json all = json::array();
    for (const core::StoreWaiters& waiters : snapshot_.job.store_waits) {
      if (all.size() == kMaxStoreWaits) break;
      all.push_back({{"what", waiters.what},
                     {"ranks", Ranges(waiters.ranks)},
                     {"launchers", LauncherNodes(waiters)},
                     {"others", waiters.others},
                     {"since", At(snapshot_.now - waiters.age)}});
    }
    return all;
  }

  // Returns the leases that are held or waited for. Counts the further ones that are not listed,
  // and the completed ones.
  json Leases(int* unlisted, int* completed) const {
    json all = json::array();
    for (const core::LeaseStatus& lease : snapshot_.job.leases) {
      if (lease.completed) {
        ++*completed;
      } else if (all.size() == kMaxLeases) {
        ++*unlisted;
      } else if (lease.holder || lease.waiters > 0) {
        all.push_back(LeaseJson(lease));
      }
    }
    return all;
  }

  json Losses() const {
    json all = json::array();
    for (const core::Failure& failure : snapshot_.job.recent_failures) {
      all.push_back({{"rank", OrNull(failure.rank)},
                     {"node", failure.member.node_id},
                     {"host", failure.member.hostname},
                     {"pid", failure.member.pid},
                     {"cause", failure.cause},
                     {"story", failure.activity},
                     {"when", At(failure.when)}});
    }
    return all;
  }

  json Late() const {
    json all = json::array();
    for (const core::Straggler& straggler : snapshot_.job.stragglers) {
      all.push_back({{"rank", straggler.rank},
                     {"node", straggler.node_id},
                     {"operation", straggler.operation},
                     {"collectives", straggler.collectives},
                     {"last", straggler.last},
                     {"median", Milliseconds(straggler.median)},
                     {"p95", Milliseconds(straggler.p95)},
                     {"waited", Milliseconds(straggler.waited_for)}});
    }
    return all;
  }

  // Returns the verdict of the latest inquiry, or null if it has none.
  json Verdict() const {
    const std::optional<core::InquiryStatus>& inquiry = snapshot_.job.inquiry;
    if (!inquiry || inquiry->verdict.empty()) return {};
    return {{"text", inquiry->verdict}, {"when", At(snapshot_.now - inquiry->age)}};
  }

  json Timeline() const {
    json all = json::array();
    for (const core::TimelineEntry& entry : snapshot_.timeline) {
      all.push_back({At(entry.when), KindOf(entry.severity), entry.text});
    }
    return all;
  }

  int64_t StartOfDaemon() const { return absl::ToUnixMillis(start_); }

 private:
  int64_t At(core::Time time) const { return absl::ToInt64Milliseconds(time - start_); }

  // Returns the index of the text among the texts that are sent once.
  size_t Text(const std::string& text) {
    const auto [entry, is_new] = text_indices_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return entry->second;
  }

  struct Wait {
    std::string in;  // empty: the member waits neither in a call nor in the store
    absl::Duration age;
  };
  static Wait WaitOf(const core::MemberStatus& member) {
    if (!member.waiting_in.empty()) return {member.waiting_in, member.waiting_for};
    if (member.missing_in_store.empty()) return {};
    return {DescribeWaitInStore(member.missing_in_store), member.in_store_for};
  }

  json Row(const core::MemberStatus& member) {
    const core::Activity::Summary story = member.latest.Summarize();
    const Wait wait = WaitOf(member);
    return json::array_t{OrNull(member.rank),
                         Text(member.member.node_id),
                         member.local_rank,
                         static_cast<int>(member.state),
                         Text(member.member.hostname),
                         member.member.pid,
                         Text(member.last_collective),
                         Text(wait.in),
                         wait.in.empty() ? json() : json(At(snapshot_.now - wait.age)),
                         At(snapshot_.now - member.since_last_call),
                         Text(story.text),
                         story.since ? json(At(*story.since)) : json(),
                         story.goes_on ? 1 : 0};
  }

  json LeaseJson(const core::LeaseStatus& lease) const {
    json out = {{"title", core::DescribeLease(lease.name, lease.scope, lease.node_id, names_)},
                {"holderRank", OrNull(lease.holder_rank)},
                {"waiters", lease.waiters}};
    out["holder"] =
        lease.holder ? core::DescribeMember(lease.holder_rank, *lease.holder, names_) : "";
    out["since"] = lease.holder ? json(At(snapshot_.now - lease.held_for)) : json();
    return out;
  }

  const service::CoordinatorDriver::Snapshot& snapshot_;
  const core::Time start_;
  muster::NodeNames names_;
  json texts_ = json::array();
  absl::flat_hash_map<std::string, size_t> text_indices_;
};

}  // namespace

std::string StatusJson(const service::CoordinatorDriver::Snapshot& snapshot,
                       const core::Options& options, uint64_t refused_calls) {
  const core::JobStatus& job = snapshot.job;
  StatusWriter writer(snapshot);
  int unlisted = 0;
  int completed = 0;
  json all = {{"job", options.job_id},
              {"daemon", options.daemon_version},
              {"state", JobStateName(job.state)},
              {"reason", job.reason},
              {"world", job.world_size},
              {"least", job.min_world_size},
              {"most", job.max_world_size},
              {"newcomers", job.newcomers_waiting},
              {"stop", job.stop_requested},
              {"refused", refused_calls},
              {"states", MemberStates()},
              {"started", writer.StartOfDaemon()}};
  // Epoch numbers are sent as text: JavaScript's numbers are exact only up to 2^53.
  all["epoch"] = job.epoch ? json(absl::StrCat(job.epoch->number)) : json();
  all["oddities"] = job.oddities;
  all["disagreements"] = job.finished_groups;
  all["verdict"] = writer.Verdict();
  all["members"] = writer.Members();
  all["nodeNames"] = writer.ShownNodes();
  all["pending"] = writer.Pending();
  all["storeWaits"] = writer.StoreWaits();
  all["leases"] = writer.Leases(&unlisted, &completed);
  all["unlistedLeases"] = unlisted;
  all["completedLeases"] = completed;
  all["losses"] = writer.Losses();
  all["late"] = writer.Late();
  all["timeline"] = writer.Timeline();
  all["texts"] = std::move(writer).Texts();
  // Names come from outside. Bytes that are not UTF-8 are replaced; the default would throw.
  const std::string text = all.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.substr(1, text.size() - 2);
}

}  // namespace muster::web
