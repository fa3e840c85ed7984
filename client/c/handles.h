#ifndef MUSTER_CLIENT_C_HANDLES_H_
#define MUSTER_CLIENT_C_HANDLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/src/environment/variables.h"
#include "muster/c.h"
#include "muster/communicator.h"
#include "muster/error_facts.h"
#include "muster/job.h"

// The definitions of muster/c.h's opaque types.

struct muster_status {
  explicit muster_status(absl::Status error)
      : status(std::move(error)), message(status.message()), facts(muster::FactsOf(status)) {}

  absl::Status status;
  std::string message;
  muster::ErrorFacts facts;
};

struct muster_options {
  muster::internal::Variables variables;
};

struct muster_cancellation {
  muster::Cancellation cancellation;
};

struct muster_group {
  muster::Group group;
};

struct muster_lease {
  muster::Lease lease;
};

struct muster_values {
  std::vector<std::string> values;
};

struct muster_subscription {
  muster::Subscription subscription;
};

struct muster_communicator {
  std::unique_ptr<muster::Communicator> communicator;
};

struct muster_job {
  explicit muster_job(std::unique_ptr<muster::Job> joined) : job(std::move(joined)) {}

  struct World {
    uint64_t epoch;
    std::unique_ptr<muster_group> group;
  };

  const std::unique_ptr<muster::Job> job;
  absl::Mutex mutex;
  // The world of each epoch that was requested. Pointers to them stay valid as long as the job.
  std::vector<World> worlds ABSL_GUARDED_BY(mutex);
};

#endif  // MUSTER_CLIENT_C_HANDLES_H_
