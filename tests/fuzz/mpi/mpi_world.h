#ifndef MUSTER_TESTS_FUZZ_MPI_MPI_WORLD_H_
#define MUSTER_TESTS_FUZZ_MPI_MPI_WORLD_H_

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/text/utf8.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/mpi/world_store.h"

namespace muster::fuzz {

// The state that the launchers of a fuzzed MPI world share. The input chooses it.
struct MpiWorld {
  static constexpr int kMostNodes = 3;
  static constexpr int kMostRanksOfNode = 3;

  // `name` is WorldShape::name.
  MpiWorld(ByteSource* input, std::string the_name) : bytes(input), name(std::move(the_name)) {
    const size_t node_count = 1 + bytes->Below(kMostNodes);
    for (size_t i = 0; i < node_count; ++i) {
      sizes.push_back(1 + static_cast<int>(bytes->Below(kMostRanksOfNode)));
    }
    hostile_keys = node_count > 1 && bytes->OneIn(4);
    launchers_die = node_count > 1 && bytes->OneIn(4);
    may_put_much = bytes->OneIn(16);
    const bool some_are_dishonest = bytes->OneIn(2);
    for (int i = 0; i < size(); ++i) honest.push_back(!some_are_dishonest || bytes->OneIn(2));
    for (int i = 0; i < size(); ++i) ends_well.push_back(bytes->OneIn(2));
  }

  int node_count() const { return static_cast<int>(sizes.size()); }
  int size() const { return std::accumulate(sizes.begin(), sizes.end(), 0); }
  int first_rank(int node) const { return std::accumulate(sizes.begin(), sizes.begin() + node, 0); }
  int NodeOf(int rank) const {
    int node = 0;
    while (rank >= first_rank(node) + sizes[node]) ++node;
    return node;
  }
  bool all_are_honest() const { return std::count(honest.begin(), honest.end(), false) == 0; }
  // Returns whether every rank must do its part and succeed.
  bool undisturbed() const { return all_are_honest() && !hostile_keys && !launcher_was_killed; }

  // Prints what happens, if a single seed runs.
  void Log(int node, const std::string& what) const {
    if (!prints) return;
    constexpr size_t kMostBytes = 200;
    std::fprintf(stderr, "node %d: %s\n", node,
                 ReplaceUnprintable(what.substr(0, kMostBytes)).c_str());
  }

  const bool prints = std::getenv("MUSTER_TEST_SEED") != nullptr;
  ByteSource* const bytes;
  const std::string name;
  std::vector<int> sizes;       // by node
  std::vector<bool> honest;     // by rank
  std::vector<bool> ends_well;  // by rank: at the end, a dishonest one exits with status 0
  bool hostile_keys;            // a client of the store sets keys that no launcher sets
  bool launchers_die;           // some launchers are killed
  bool may_put_much;            // a rank puts more than it may, once, which takes long
  bool launcher_was_killed = false;
  WorldStore store;
  std::vector<std::string> gone_clients;  // of the store
  absl::Time now = absl::UnixEpoch();
  int launchers_started = 0;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_MPI_WORLD_H_
