#ifndef MUSTER_TESTS_FUZZ_MPI_WORLD_DRIVER_H_
#define MUSTER_TESTS_FUZZ_MPI_WORLD_DRIVER_H_

#include <functional>
#include <memory>
#include <vector>

#include "tests/fuzz/mpi/fuzzed_launcher.h"
#include "tests/fuzz/mpi/mpi_world.h"

namespace muster::fuzz {

// Drives the launchers of a world by an input, then lets everything happen that is bound to, and
// checks the end.
class WorldDriver {
 public:
  using Start = std::function<std::unique_ptr<FuzzedLauncher>(int node)>;

  // `start` starts the launcher of a node. `world` must outlive this object.
  WorldDriver(MpiWorld* world, Start start);

  void Run();

 private:
  void Step();
  void SettleAll();
  void CheckStore() const;
  // Lets a client of the store set a key that no launcher sets so.
  void SetHostileKey();
  void SetKeysOfEarlierRun();
  // Kills a launcher, or starts another one in its place.
  void KillOrStart(int node);

  MpiWorld* const world_;
  const Start start_;
  std::vector<std::unique_ptr<FuzzedLauncher>> launchers_;  // by node
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_WORLD_DRIVER_H_
