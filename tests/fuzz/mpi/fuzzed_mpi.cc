#include "tests/fuzz/mpi/fuzzed_mpi.h"

#include <memory>

#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/mpi/mpi_world.h"
#include "tests/fuzz/mpi/pmi_launcher.h"
#include "tests/fuzz/mpi/pmi_program.h"
#include "tests/fuzz/mpi/pmix_launcher.h"
#include "tests/fuzz/mpi/pmix_program.h"
#include "tests/fuzz/mpi/world_driver.h"

namespace muster::fuzz {

void RunFuzzedPmi(const uint8_t* data, size_t size) {
  ByteSource bytes(data, size);
  MpiWorld world(&bytes, "-");
  PmiRecord record(&world);
  record.rounds = 1 + static_cast<int>(bytes.Below(3));
  WorldDriver driver(
      &world, [&](int node) { return std::make_unique<PmiLauncher>(&world, &record, node); });
  driver.Run();
}

void RunFuzzedPmix(const uint8_t* data, size_t size) {
  ByteSource bytes(data, size);
  MpiWorld world(&bytes, "world");
  PmixRecord record(&world);
  WorldDriver driver(
      &world, [&](int node) { return std::make_unique<PmixLauncher>(&world, &record, node); });
  driver.Run();
}

void RunFuzzedMpi(const uint8_t* data, size_t size) {
  if (size == 0) return;
  return data[0] % 2 == 0 ? RunFuzzedPmi(data + 1, size - 1) : RunFuzzedPmix(data + 1, size - 1);
}

}  // namespace muster::fuzz
