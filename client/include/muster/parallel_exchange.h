#ifndef MUSTER_PARALLEL_EXCHANGE_H_
#define MUSTER_PARALLEL_EXCHANGE_H_

#include "muster/cxx17.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/call_options.h"
#include "muster/group.h"
#include "muster/tensor.h"
#include "muster/workspace.h"

// Large values of some ranks that one of them reads, through shared memory or files:
//
//   muster::Configuration mine;
//   mine.json = "{\"layer\": 3}";
//   mine.tensors["weights"] = muster::ViewOf(weights);
//   absl::StatusOr<muster::ConfigurationExchange> all =
//       muster::GetConfigsParallel(mine, {0, 1}, job.world());
//   if (!all.ok()) return all.status();
//   for (const std::optional<muster::Configuration>& config : all->values()) Save(config);
//   return all->Release();
namespace muster {

namespace internal {
class ExchangeScope;
}  // namespace internal

// The values of an exchange. They are valid as long as this object lives. Its destructor, or
// Release(), ends the exchange: all ranks of the group meet in a barrier, and the shared memory or
// the files are removed.
template <class T>
class ParallelExchange {
 public:
  // Returns, on the first of `ranks`, one value for each of `ranks`, in their order. The caller's
  // own value is included and points to the caller's memory. Returns an empty list on other ranks.
  const std::vector<T>& values() const { return values_; }

  // Ends the exchange now, and returns the status of its barrier; errors as in Group. Afterwards
  // the values are invalid. The destructor does the same, and logs an error.
  absl::Status Release();

  // A moved-from exchange has ended.
  ParallelExchange(ParallelExchange&&) noexcept;
  ParallelExchange& operator=(ParallelExchange&&) noexcept;
  ~ParallelExchange();

  // Not for programs.
  ParallelExchange(std::vector<T> values, std::unique_ptr<internal::ExchangeScope> scope);

 private:
  std::vector<T> values_;
  std::unique_ptr<internal::ExchangeScope> scope_;
};

// Options of GetConfigsParallel() and GetTensorsParallel().
struct ExchangeOptions {
  // A folder that all of `ranks` share. Empty: shared memory, for ranks on one node. Files are
  // written to a subfolder, which is removed at the end of the exchange. A crash leaves it behind.
  std::string folder;

  // Options of each wait. The barrier at the end uses the time-out only, so the cancellation need
  // not live until then.
  CallOptions call;
};

// The exchanges that GetConfigsParallel() and GetTensorsParallel() return.
using ConfigurationExchange = ParallelExchange<std::optional<Configuration>>;
using TensorExchange = ParallelExchange<TensorView>;

// Gives the configurations of `ranks` to the first rank of the list. `ranks` are ranks of the world
// and members of `group`. A collective of the group: all its ranks call it with the same list.
// Ranks that are not on the list pass nothing and get nothing; a rank on the list may pass nothing
// too. Blocks until the first rank can read all configurations.
//
// Configurations travel through shared memory or the folder, never through the coordinator, and the
// reader verifies their checksums. Shared memory is reserved before it is written, and has no name.
// So nothing is left behind, however the processes end.
//
// An error of one rank is returned on all ranks, with that rank's name:
//   INVALID_ARGUMENT     the list is empty, names a rank twice or a rank outside the group, or
//                        differs between ranks; or a configuration is malformed (Workspace::Write);
//   FAILED_PRECONDITION  the ranks are on different nodes, and no folder is given; names them;
//   RESOURCE_EXHAUSTED   /dev/shm is too small; says how much is needed, how much there is, and how
//                        to enlarge it (a container's --shm-size);
//   DATA_LOSS            the data that was read is damaged;
// or the errors of Group's collectives. After a time-out, the exchange cannot be retried on this
// group.
absl::StatusOr<ConfigurationExchange> GetConfigsParallel(
    const std::optional<Configuration>& configuration, const std::vector<int>& ranks,
    const Group& group, const ExchangeOptions& options = {});

// Does the same with one tensor of each of `ranks`, through shared memory of one node. All tensors
// have the same type and size. Ignores the tensor of a rank that is not on the list.
//   INVALID_ARGUMENT  also if types or sizes differ; names the ranks.
absl::StatusOr<TensorExchange> GetTensorsParallel(const TensorView& tensor,
                                                  const std::vector<int>& ranks, const Group& group,
                                                  const CallOptions& options = {});

}  // namespace muster

#endif  // MUSTER_PARALLEL_EXCHANGE_H_
