#include "client/nccl/communicator/stop_board.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text/fnv1a.h"

namespace muster::internal {
namespace {

constexpr size_t kBytes = 4096;  // the smallest mapping
constexpr int kCodeShift = 32;

static_assert(std::atomic<uint64_t>::is_always_lock_free, "the word is shared by processes");

}  // namespace

std::string StopBoard::NameOf(absl::string_view secret) {
  return SharedRegion::NameOf(Fnv1a64(absl::StrCat("stop board ", secret)),
                              Fnv1a64(absl::StrCat("of NCCL ", secret)));
}

// Another rank may make the board between Open() and Make(), so Open() is tried again. The name
// stays until all ranks have opened it, or one has failed, and then all fail.
absl::StatusOr<std::unique_ptr<StopBoard>> StopBoard::Open(const std::string& name) {
  auto region = SharedRegion::Open(name, kBytes);
  if (absl::IsNotFound(region.status())) region = SharedRegion::Make(name, kBytes);
  if (absl::IsAlreadyExists(region.status())) region = SharedRegion::Open(name, kBytes);
  if (!region.ok()) return region.status();
  return std::unique_ptr<StopBoard>(new StopBoard(name, *std::move(region)));
}

StopBoard::StopBoard(std::string name, std::unique_ptr<SharedRegion> region)
    : name_(std::move(name)),
      region_(std::move(region)),
      word_(static_cast<std::atomic<uint64_t>*>(region_->data())) {}

// Sequentially consistent, because NCCL stores to another word next, and that must come later.
void StopBoard::Announce(int rank, absl::StatusCode why) {
  uint64_t none = 0;
  const uint64_t word =
      (static_cast<uint64_t>(why) << kCodeShift) | static_cast<uint32_t>(rank + 1);
  word_->compare_exchange_strong(none, word, std::memory_order_seq_cst);
}

std::optional<StopBoard::Stop> StopBoard::First() const {
  const uint64_t word = word_->load(std::memory_order_acquire);
  if (word == 0) return std::nullopt;
  return Stop{static_cast<int>(static_cast<uint32_t>(word)) - 1,
              static_cast<absl::StatusCode>(word >> kCodeShift)};
}

}  // namespace muster::internal
