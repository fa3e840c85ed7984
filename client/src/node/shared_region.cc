#include "client/src/node/shared_region.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/credentials/random_bytes.h"

namespace muster::internal {
namespace {

constexpr size_t kNameBytes = 16;

constexpr char kPrefix[] = "muster-data-";
constexpr char kFolder[] = "/dev/shm";

std::string PathOf(absl::string_view name) { return absl::StrCat(kFolder, "/", name); }

bool IsName(absl::string_view name) {
  return absl::ConsumePrefix(&name, kPrefix) && name.size() == 2 * kNameBytes &&
         std::all_of(name.begin(), name.end(), absl::ascii_isxdigit);
}

}  // namespace

std::string SharedRegion::NewName() {
  return absl::StrCat(kPrefix, absl::BytesToHexString(RandomBytes(kNameBytes)));
}

std::string SharedRegion::NameOf(uint64_t high, uint64_t low) {
  return absl::StrCat(kPrefix, absl::Hex(high, absl::kZeroPad16), absl::Hex(low, absl::kZeroPad16));
}

absl::StatusOr<std::unique_ptr<SharedRegion>> SharedRegion::Make(absl::string_view name,
                                                                 size_t size) {
  SharedMemoryFile::RemoveAbandoned(kFolder, IsName);
  return Map(SharedMemoryFile::Make(PathOf(name), size, size, ""), size);
}

absl::StatusOr<std::unique_ptr<SharedRegion>> SharedRegion::Open(absl::string_view name,
                                                                 size_t size) {
  return Map(SharedMemoryFile::Open(PathOf(name), size), size);
}

// Maps the region and populates its pages, so that no operation has page faults later.
absl::StatusOr<std::unique_ptr<SharedRegion>> SharedRegion::Map(
    absl::StatusOr<SharedMemoryFile> file, size_t size) {
  if (!file.ok()) return file.status();
  absl::StatusOr<MappedMemory> memory = file->Map(size, MAP_POPULATE);
  if (!memory.ok()) {
    file->Unlink();
    return memory.status();
  }
  return std::unique_ptr<SharedRegion>(new SharedRegion(*std::move(file), *std::move(memory)));
}

SharedRegion::SharedRegion(SharedMemoryFile file, MappedMemory memory)
    : file_(std::move(file)), memory_(std::move(memory)) {}

SharedRegion::~SharedRegion() { Unlink(); }

void SharedRegion::Unlink() {
  if (!file_) return;
  file_->Unlink();
  file_.reset();
}

}  // namespace muster::internal
