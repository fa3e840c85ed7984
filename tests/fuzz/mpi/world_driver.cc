#include "tests/fuzz/mpi/world_driver.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/fuzz/mpi/promise.h"

namespace muster::fuzz {
namespace {

// More than any world needs to come to rest.
constexpr int kMostSettlingSteps = 100000;

}  // namespace

WorldDriver::WorldDriver(MpiWorld* world, Start start) : world_(world), start_(std::move(start)) {
  if (world_->launchers_die) SetKeysOfEarlierRun();
  for (int node = 0; node < world_->node_count(); ++node) launchers_.push_back(start_(node));
}

void WorldDriver::Run() {
  while (!world_->bytes->empty()) Step();
  SettleAll();
  for (const auto& launcher : launchers_) launcher->CheckEnd();
  if (world_->undisturbed()) CheckStore();
}

void WorldDriver::Step() {
  ByteSource* const bytes = world_->bytes;
  const int node = static_cast<int>(bytes->Below(launchers_.size()));
  FuzzedLauncher& launcher = *launchers_[node];
  switch (bytes->Below(16)) {
    case 0:
      return launcher.Read(/*skips=*/true);
    case 1:
      return launcher.Read(/*skips=*/false);
    case 2:
    case 3:
      for (size_t count = bytes->Below(32); count > 0; --count) launcher.Read(/*skips=*/false);
      return;
    case 4:
      return launcher.RepeatEvent();
    case 5:
      return launcher.HearOfClient();
    case 6:
      world_->now += absl::Milliseconds(100) * bytes->Byte();
      return launcher.Warn();
    case 7:
      launcher.EndOne();
      return;
    case 8:
      launcher.ExitIfDone();
      return;
    case 9:
      if (world_->hostile_keys) return SetHostileKey();
      if (world_->launchers_die) return KillOrStart(node);
      [[fallthrough]];
    default:
      return launcher.StepRank(static_cast<int>(bytes->Below(world_->sizes[node])));
  }
}

void WorldDriver::KillOrStart(int node) {
  if (!launchers_[node]->gone()) return launchers_[node]->Kill();
  launchers_[node] = start_(node);
}

// ---- Keys that are not of this world's launchers ----

void WorldDriver::SetHostileKey() {
  static const char* const kKinds[] = {"node", "view", "part", "wait", "left",
                                       "end",  "lost", "ask",  "data", "other"};
  ByteSource* const bytes = world_->bytes;
  const auto& keys = world_->store.keys();
  const auto pick = [&] { return std::next(keys.begin(), bytes->Byte() % keys.size()); };
  std::string key = absl::StrCat(kKinds[bytes->Below(std::size(kKinds))], "/", bytes->Below(4));
  for (size_t words = bytes->Below(4); words > 0; --words) {
    absl::StrAppend(&key, "/", bytes->OneIn(4) ? "barrier" : absl::StrCat(bytes->Below(4)));
  }
  if (!keys.empty() && bytes->OneIn(2)) key = pick()->first;
  if (bytes->OneIn(8)) return world_->store.Delete(key);
  std::string value = keys.empty() || bytes->OneIn(4) ? bytes->Text(8) : pick()->second;
  if (!value.empty() && bytes->OneIn(2)) {
    value[bytes->Byte() % value.size()] = static_cast<char>(bytes->Byte());
  }
  world_->store.Set(key, value);
}

// Their launchers were killed. At some time the clients of the store hear of it.
void WorldDriver::SetKeysOfEarlierRun() {
  ByteSource* const bytes = world_->bytes;
  for (int node = 0; node < world_->node_count(); ++node) {
    if (!bytes->OneIn(4)) continue;
    std::string ranks;
    for (const int size : world_->sizes) absl::StrAppend(&ranks, ranks.empty() ? "" : ",", size);
    world_->store.Set(
        absl::StrCat("node/", node),
        absl::StrCat("old", node, " ", ranks, " ", world_->name, " old-client-", node, " n", node));
    world_->store.Set(absl::StrCat("part/", node, "/barrier/1/0"), "00c0ffee 1 *\nold\nvalue\n");
    if (bytes->OneIn(4)) {
      world_->launcher_was_killed = true;  // its end may count for the new world
      world_->store.Set(absl::StrCat("end/", node),
                        absl::StrCat("old", node, " - \nrank 0 (node n0) ended an earlier run"));
    }
    world_->gone_clients.push_back(absl::StrCat("old-client-", node));
  }
}

// ---- The end ----

void WorldDriver::SettleAll() {
  for (int i = 0; i < kMostSettlingSteps; ++i) {
    bool busy = false;
    for (const auto& launcher : launchers_) busy |= launcher->Settle();
    if (!busy) return;
  }
  Require(false, "a world comes to rest");
}

// Of each kind of exchange, each node keeps the parts of the latest one.
void WorldDriver::CheckStore() const {
  std::string latest;
  for (const auto& [key, value] : world_->store.keys()) {
    if (!absl::StartsWith(key, "part/")) continue;
    const std::string number = key.substr(0, key.rfind('/'));  // without the chunk
    const std::string exchange = number.substr(0, number.rfind('/'));
    Require(exchange != latest, "the parts of earlier exchanges are deleted: " + key);
    latest = exchange;
  }
}

}  // namespace muster::fuzz
