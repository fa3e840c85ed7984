#include "client/src/node/shared_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/src/node/segment_file.h"
#include "common/random_bytes.h"

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
  RemoveAbandonedSegmentFiles(kFolder, IsName);
  const std::string path = PathOf(name);
  const absl::StatusOr<int> made = MakeSegmentFile(path, size, size, "");
  if (!made.ok()) return made.status();
  return Map(*made, path, size);
}

absl::StatusOr<std::unique_ptr<SharedRegion>> SharedRegion::Open(absl::string_view name,
                                                                 size_t size) {
  const std::string path = PathOf(name);
  const absl::StatusOr<int> opened = OpenSegmentFile(path, size);
  if (!opened.ok()) return opened.status();
  return Map(*opened, path, size);
}

// Pages are looked up now, and not in the middle of an operation.
absl::StatusOr<std::unique_ptr<SharedRegion>> SharedRegion::Map(int descriptor, std::string path,
                                                                size_t size) {
  std::unique_ptr<SharedRegion> region(new SharedRegion(descriptor, std::move(path), size));
  const absl::StatusOr<void*> data = MapSegmentFile(descriptor, region->path_, size, MAP_POPULATE);
  if (!data.ok()) return data.status();
  region->data_ = *data;
  return region;
}

SharedRegion::SharedRegion(int descriptor, std::string path, size_t size)
    : descriptor_(descriptor), path_(std::move(path)), size_(size) {}

SharedRegion::~SharedRegion() {
  Unlink();
  if (data_ != nullptr) munmap(data_, size_);
}

void SharedRegion::Unlink() {
  if (path_.empty()) return;
  unlink(std::exchange(path_, "").c_str());
  close(std::exchange(descriptor_, -1));
}

}  // namespace muster::internal
