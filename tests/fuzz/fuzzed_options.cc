#include "tests/fuzz/fuzzed_options.h"

namespace muster::fuzz {

core::Limits SmallLimits() {
  core::Limits limits;
  limits.max_payload_bytes = 16 * 1024;
  limits.max_held_bytes = 64 * 1024;
  limits.max_members = 4;
  limits.max_waiters = 16;
  limits.max_groups = 4;
  limits.max_group_ranks = 6;
  limits.max_leases = 4;
  limits.max_name_bytes = 64;
  return limits;
}

FuzzedJob ChooseJob(ByteSource* bytes) {
  FuzzedJob job;
  core::Options& options = job.options;
  options.job_id = "job";
  options.world_size = static_cast<uint32_t>(bytes->Below(4));
  if (bytes->OneIn(2)) {
    options.min_world_size = 1 + static_cast<uint32_t>(bytes->Below(2));
    options.max_world_size = options.min_world_size + static_cast<uint32_t>(bytes->Below(3));
    options.world_size = 0;
  }
  const bool few = bytes->OneIn(4);
  const uint8_t choice = bytes->Byte();
  if (choice / 4 % 4 == 3) options.limits = SmallLimits();
  if (choice % 4 == 3) options.limits.max_payload_bytes = 16;
  if (choice / 16 % 4 == 3) {
    options.store.max_key_bytes = 16;
    options.store.max_value_bytes = 256;
    options.store.max_keys = 4;
  }
  options.store.answers_wait_for_copy = choice / 64 == 3;
  if (few) options.limits.max_members = 4;
  job.commits_on_node = choice / 16 % 4 == 2;
  job.on_one_node = job.commits_on_node && choice / 64 != 0;
  return job;
}

}  // namespace muster::fuzz
