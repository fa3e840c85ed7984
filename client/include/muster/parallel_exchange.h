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

namespace muster {

namespace internal {
class ExchangeScope;
}  // namespace internal

// What the first of some ranks sees of the others, as long as this object lives. Where it ends, by
// its destructor or by Release(), all ranks of the group meet in a barrier, and the memory or the
// files are given back.
template <class T>
class ParallelExchange {
 public:
  // At the first rank: one value for each of `ranks`, in that order, its own included, which points
  // to the caller's memory as it was passed. Elsewhere: empty. What the other values point to is
  // gone with this object.
  const std::vector<T>& values() const { return values_; }

  // Ends the scope now and says how its barrier ended; errors as in Group. The values are gone
  // after it. The destructor does the same, and logs an error.
  absl::Status Release();

  // What was moved from has ended.
  ParallelExchange(ParallelExchange&&) noexcept;
  ParallelExchange& operator=(ParallelExchange&&) noexcept;
  ~ParallelExchange();

  // Not for programs.
  ParallelExchange(std::vector<T> values, std::unique_ptr<internal::ExchangeScope> scope);

 private:
  std::vector<T> values_;
  std::unique_ptr<internal::ExchangeScope> scope_;
};

// Taken by GetConfigsParallel() and GetTensorsParallel().
struct ExchangeOptions {
  // A folder that all of `ranks` share. Empty: shared memory, for ranks of one node. Files are
  // written to a folder of this exchange below it, which is removed at the end; after a crash it
  // stays behind.
  std::string folder;

  // For each of the waits. The one at the end of the scope takes the time-out alone: a cancellation
  // need not live so long.
  CallOptions call;
};

// What GetConfigsParallel() and GetTensorsParallel() return.
using ConfigurationExchange = ParallelExchange<std::optional<Configuration>>;
using TensorExchange = ParallelExchange<TensorView>;

// Each of `ranks` offers a configuration, or nothing; the first of them, as the list is given, sees
// all. `ranks` are ranks of the world and members of `group`. A collective of the group: every rank
// of it calls, with the same list, also those that are not on it, which offer nothing and see
// nothing. Blocks until the first rank can see everything.
//
// Configurations pass through shared memory or the folder, never through the coordinator; they are
// checked with checksums where they are read. Shared memory is reserved before anything is written
// to it and has no name: whenever and however processes end, nothing is left behind.
//
// An error of one rank is returned to all, with that rank's name:
//   INVALID_ARGUMENT     the list is empty, names a rank twice or one outside the group, or is not
//                        the same everywhere; a configuration is malformed (see Workspace::Write);
//   FAILED_PRECONDITION  shared memory, and ranks are on different nodes: names them;
//   RESOURCE_EXHAUSTED   /dev/shm is too small: says what is needed, what there is, and how to make
//                        it larger (a container's --shm-size);
//   DATA_LOSS            what was read is damaged;
// and those of Group's collectives. After a time-out the exchange cannot be repeated on this group.
absl::StatusOr<ConfigurationExchange> GetConfigsParallel(
    const std::optional<Configuration>& configuration, const std::vector<int>& ranks,
    const Group& group, const ExchangeOptions& options = {});

// The same for one tensor of each of `ranks`, all of the same type and size, through shared memory
// on one node. INVALID_ARGUMENT also where sizes or types differ, naming the ranks. What a rank
// that is not on the list passes is not looked at.
absl::StatusOr<TensorExchange> GetTensorsParallel(const TensorView& tensor,
                                                  const std::vector<int>& ranks, const Group& group,
                                                  const CallOptions& options = {});

}  // namespace muster

#endif  // MUSTER_PARALLEL_EXCHANGE_H_
