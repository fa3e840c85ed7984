#include "tests/simulation/setting.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::simulation {
namespace {

// Bad enough that every rule about retries is needed; short enough that no grace ends.
Weather Unsettled(Random& random) {
  Weather weather;
  weather.drop = random.Chance(0.5) ? 0.05 : 0;
  weather.duplicate = random.Chance(0.5) ? 0.1 : 0;
  weather.slow = random.Chance(0.5) ? 0.1 : 0;
  weather.slowest = absl::Milliseconds(300);
  weather.notice = absl::Milliseconds(300);
  weather.lost_notice = absl::Milliseconds(100);
  return weather;
}

// As bad as networks and kernels get: a cut is noticed when a keepalive ping is not answered.
Weather Stormy(Random& random) {
  Weather weather = Unsettled(random);
  weather.slowest = absl::Seconds(3);
  weather.notice = random.Chance(0.5) ? absl::Milliseconds(50) : absl::Seconds(15);
  weather.lost_notice = absl::Seconds(1);
  return weather;
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
  setting.weather = !setting.losses && !setting.split ? Unsettled(random) : Stormy(random);
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
  return absl::StrCat(size, " processes on ", nodes, " nodes, ", faults,
                      " faults: ", words.empty() ? "bad weather only" : absl::StrJoin(words, ", "));
}

}  // namespace muster::simulation
