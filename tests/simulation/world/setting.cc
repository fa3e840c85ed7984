#include "tests/simulation/world/setting.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::simulation {
namespace {

// Returns conditions that need every rule about retries, with outages shorter than any grace.
NetworkConditions FairConditions(Random& random) {
  NetworkConditions conditions;
  conditions.drop = random.Chance(0.5) ? 0.05 : 0;
  conditions.duplicate = random.Chance(0.5) ? 0.1 : 0;
  conditions.slow = random.Chance(0.5) ? 0.1 : 0;
  conditions.slowest = absl::Milliseconds(300);
  conditions.notice = absl::Milliseconds(300);
  conditions.lost_notice = absl::Milliseconds(100);
  return conditions;
}

// Returns conditions as bad as networks and kernels get: a cut is noticed only when a keepalive
// ping gets no answer.
NetworkConditions HarshConditions(Random& random) {
  NetworkConditions conditions = FairConditions(random);
  conditions.slowest = absl::Seconds(3);
  conditions.notice = random.Chance(0.5) ? absl::Milliseconds(50) : absl::Seconds(17);
  conditions.lost_notice = absl::Seconds(1);
  return conditions;
}

// Turns other faults off. In a job that is started again, only the new run's success matters.
void BeStartedAgain(Setting* setting) {
  setting->restarts = setting->losses = setting->split = setting->elastic = false;
  setting->mismatches = setting->early_leave = setting->stops = setting->clock_goes_back = false;
  setting->replacements = setting->large_answers = setting->churn = setting->fewer_places = false;
}

// Draws the rest of the setting, from a stream of its own.
void DrawMore(Setting* setting) {
  Random random(setting->seed, "more of the setting");
  setting->rank_requests = static_cast<Setting::RankRequests>(random.Pick(3));
  setting->replacements = random.Chance(0.2);
  setting->large_answers = random.Chance(0.15);
  setting->churn = setting->elastic && setting->losses && random.Chance(0.2);
  setting->leftovers = random.Chance(0.1);
  setting->hostile = !setting->leftovers && random.Chance(0.15);
  setting->many_leases = random.Chance(0.1);
  setting->fewer_places = setting->elastic && random.Chance(0.2);
  if (setting->many_leases) setting->size += 4;
  if (setting->leftovers) BeStartedAgain(setting);
  setting->clock_goes_back &= setting->harmless();
  Random limit(setting->seed, "limit of restarts");
  if (setting->elastic && limit.Chance(0.6)) setting->max_restarts_total = 1 + limit.Pick(3);
  Random node(setting->seed, "node");
  setting->node_fanin = node.Chance(0.7);
  setting->apart = node.Chance(0.1);
  Random commits(setting->seed, "commits");
  setting->node_commits = commits.Chance(0.6);
  Random refusals(setting->seed, "refusals");
  setting->overlong_labels = !setting->leftovers && refusals.Chance(0.2);
  Random starts(setting->seed, "starts");
  setting->slow_starts = !setting->leftovers && starts.Chance(0.2);
  Random passing(setting->seed, "passing");
  setting->passing_groups = !setting->leftovers && !setting->hostile && !setting->split &&
                            !setting->early_leave && passing.Chance(0.5);
  Random endless(setting->seed, "endless groups");
  setting->endless_groups = setting->passing_groups && endless.Chance(0.3);
  Random liar(setting->seed, "lying launcher");
  setting->lying_launcher = !setting->leftovers && liar.Chance(0.2);
  Random store(setting->seed, "store");
  setting->store = !setting->leftovers && !setting->split && store.Chance(0.5);
}

}  // namespace

Setting DrawSetting(uint64_t seed) {
  Random random(seed, "setting");
  Setting setting;
  setting.seed = seed;
  setting.size = 2 + random.Pick(3);
  setting.nodes = 1 + random.Pick(2);
  setting.restarts = random.Chance(0.6);
  setting.losses = random.Chance(0.4);
  setting.split = random.Chance(0.1);
  setting.elastic = random.Chance(0.4);
  setting.least_size = 1 + random.Pick(setting.size);
  setting.mismatches = random.Chance(0.15);
  setting.early_leave = random.Chance(0.1);
  setting.stops = random.Chance(0.2);
  setting.clock_goes_back = setting.harmless() && random.Chance(0.5);
  DrawMore(&setting);
  setting.conditions =
      !setting.losses && !setting.split ? FairConditions(random) : HarshConditions(random);
  setting.faults = random.Pick(7);
  setting.faults_until = absl::Seconds(2 + random.Pick(8));
  return setting;
}

std::string Setting::Describe() const {
  std::vector<std::string> words;
  if (restarts) words.push_back("restarts of the daemon");
  if (losses) words.push_back("losses");
  if (split) words.push_back("two daemons");
  if (elastic) words.push_back(absl::StrCat("elastic from ", least_size));
  if (mismatches) words.push_back("mismatches");
  if (early_leave) words.push_back("early leavers");
  if (stops) words.push_back("stop requests");
  if (clock_goes_back) words.push_back("clock goes back");
  if (rank_requests == RankRequests::kRanks) words.push_back("ranks asked for");
  if (rank_requests == RankRequests::kLocalRanks) words.push_back("local ranks asked for");
  if (replacements) words.push_back("replacements");
  if (large_answers) words.push_back("large answers");
  if (overlong_labels) words.push_back("overlong labels");
  if (churn) words.push_back("comers and goers");
  if (leftovers) words.push_back("leftovers of an earlier run");
  if (hostile) words.push_back("a hostile member");
  if (many_leases) words.push_back("many leases");
  if (fewer_places) words.push_back("fewer places");
  if (node_fanin) words.push_back(apart ? "one apart from its node" : "arrivals by node");
  if (node_fanin && node_commits) words.push_back("commits on the node");
  if (slow_starts) words.push_back("slow starts");
  if (passing_groups) words.push_back(endless_groups ? "groups without end" : "passing groups");
  if (lying_launcher) words.push_back("a lying launcher");
  if (store) words.push_back("the store");
  if (max_restarts_total != 0) words.push_back(absl::StrCat("restarts up to ", max_restarts_total));
  return absl::StrCat(size, " processes on ", nodes, " nodes, ", faults, " faults: ",
                      words.empty() ? "a bad network only" : absl::StrJoin(words, ", "));
}

}  // namespace muster::simulation
