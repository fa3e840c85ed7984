#include "client/gloo/shared_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/src/node/segment_file.h"
#include "common/random_bytes.h"

namespace muster::internal {
namespace {

constexpr size_t kNameBytes = 16;

std::string PathOf(absl::string_view name) { return absl::StrCat("/dev/shm/", name); }

}  // namespace

std::string SharedRegion::NewName() {
  return absl::StrCat("muster-data-", absl::BytesToHexString(RandomBytes(kNameBytes)));
}

absl::StatusOr<std::unique_ptr<SharedRegion>> SharedRegion::Make(absl::string_view name,
                                                                 size_t size) {
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
  std::unique_ptr<SharedRegion> region(new SharedRegion(std::move(path), size));
  const absl::StatusOr<void*> data = MapSegmentFile(descriptor, region->path_, size, MAP_POPULATE);
  close(descriptor);
  if (!data.ok()) return data.status();
  region->data_ = *data;
  return region;
}

SharedRegion::SharedRegion(std::string path, size_t size) : path_(std::move(path)), size_(size) {}

SharedRegion::~SharedRegion() {
  Unlink();
  if (data_ != nullptr) munmap(data_, size_);
}

void SharedRegion::Unlink() {
  if (!path_.empty()) unlink(std::exchange(path_, "").c_str());
}

}  // namespace muster::internal
