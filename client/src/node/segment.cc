#include "client/src/node/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/digest.h"

namespace muster::internal {
namespace {

constexpr uint64_t kMagic = 0x3130'6564'6f6e'756d;  // and the version of what stands below
constexpr size_t kCacheLine = 64;
constexpr size_t kPage = 4096;

constexpr size_t RoundedUp(size_t size, size_t to) { return (size + to - 1) / to * to; }

absl::Status Errno(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " shared memory at ", path));
}

absl::Status NotOurs(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("the shared memory at ", path, " ", why));
}

std::string NameOf(const SegmentOptions& options) {
  return absl::StrCat("muster-", absl::Hex(options.epoch_nonce, absl::kZeroPad16), "-",
                      absl::Hex(Digest(absl::StrCat(options.job_id, "\n", options.epoch_number,
                                                    "\n", options.node_id)),
                                absl::kZeroPad16));
}

// A file beyond the limit would end the process (SIGXFSZ).
bool MayBeSoLarge(size_t size) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         size <= limit.rlim_cur;
}

}  // namespace

// What stands at the beginning. The numbers are written before the file gets its name.
struct NodeSegment::Header {
  uint64_t magic;
  uint32_t members;
  uint32_t groups;
  uint32_t content_bytes;
  uint32_t result_bytes;
  std::atomic<uint32_t> ready;
  std::atomic<uint32_t> mapped[SlotWord::kMaxMembers];
};

NodeSegment::Layout::Layout(const SegmentOptions& options) {
  const size_t slots = size_t{options.groups} * options.members;
  groups = RoundedUp(sizeof(Header), kCacheLine);
  words = RoundedUp(groups + options.groups * sizeof(uint64_t), kCacheLine);
  areas = RoundedUp(words + slots * kCacheLine, kPage);
  area = RoundedUp(options.content_bytes, kPage) + RoundedUp(options.result_bytes, kPage);
  total = areas + slots * area;
}

absl::StatusOr<std::unique_ptr<NodeSegment>> NodeSegment::Open(const SegmentOptions& options) {
  if (options.members > SlotWord::kMaxMembers || options.self >= options.members) {
    return absl::InvalidArgumentError(absl::StrCat("member ", options.self, " of ", options.members,
                                                   " of a node; at most ", SlotWord::kMaxMembers,
                                                   " can meet in shared memory"));
  }
  const std::string path = absl::StrCat(options.folder, "/", NameOf(options));
  std::unique_ptr<NodeSegment> segment(new NodeSegment(options, path));
  if (absl::Status s = segment->OpenOrMake(); !s.ok()) return s;
  if (absl::Status s = segment->Map(); !s.ok()) return s;
  if (absl::Status s = segment->Enter(); !s.ok()) return s;
  return segment;
}

NodeSegment::NodeSegment(const SegmentOptions& options, std::string path)
    : options_(options), layout_(options), path_(std::move(path)), reserved_(options.groups) {}

NodeSegment::~NodeSegment() {
  if (memory_ != nullptr) {
    if (header()->ready.load(std::memory_order_acquire) == 0) unlink(path_.c_str());
    munmap(memory_, layout_.total);
  }
  if (fd_ >= 0) close(fd_);
}

// Another one may make it, or take the name away, between any two of these calls.
absl::Status NodeSegment::OpenOrMake() {
  constexpr int kAttempts = 4;
  for (int i = 0; i < kAttempts; ++i) {
    fd_ = open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd_ >= 0) return CheckFile();
    if (errno != ENOENT) return Errno("open", path_);
    absl::Status made = Make();
    if (!absl::IsAlreadyExists(made)) return made;
  }
  return absl::UnavailableError(absl::StrCat("the shared memory at ", path_, " comes and goes"));
}

// The file gets its name when it is whole, and only if nothing has that name.
absl::Status NodeSegment::Make() {
  if (!MayBeSoLarge(layout_.total)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the processes' limit of file sizes (ulimit -f) is below ", layout_.total, " bytes"));
  }
  fd_ = open(options_.folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0) return Errno("make", options_.folder);
  Header header = {};
  header.magic = kMagic;
  header.members = options_.members;
  header.groups = options_.groups;
  header.content_bytes = options_.content_bytes;
  header.result_bytes = options_.result_bytes;
  if (ftruncate(fd_, static_cast<off_t>(layout_.total)) != 0 || !Reserve(0, layout_.areas) ||
      pwrite(fd_, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) {
    const absl::Status status = Errno("reserve", path_);
    close(std::exchange(fd_, -1));
    return status;
  }
  const std::string self = absl::StrCat("/proc/self/fd/", fd_);
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return absl::OkStatus();
  }
  const absl::Status status = Errno("name", path_);
  close(std::exchange(fd_, -1));
  return status;
}

absl::Status NodeSegment::CheckFile() const {
  struct stat info;
  if (fstat(fd_, &info) != 0) return Errno("inspect", path_);
  if (!S_ISREG(info.st_mode)) return NotOurs(path_, "is no file");
  if (info.st_uid != geteuid()) return NotOurs(path_, "belongs to another user");
  if ((info.st_mode & 077) != 0) return NotOurs(path_, "is open to other users");
  if (static_cast<size_t>(info.st_size) == layout_.total) return absl::OkStatus();
  return NotOurs(path_, absl::StrCat("has ", info.st_size, " bytes; expected ", layout_.total));
}

absl::Status NodeSegment::Map() {
  void* const memory =
      mmap(nullptr, layout_.total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
  if (memory == MAP_FAILED) return Errno("map", path_);
  memory_ = memory;
  return absl::OkStatus();
}

absl::Status NodeSegment::Enter() {
  Header* const h = header();
  if (h->magic != kMagic || h->members != options_.members || h->groups != options_.groups ||
      h->content_bytes != options_.content_bytes || h->result_bytes != options_.result_bytes) {
    return NotOurs(path_, "was made by another version");
  }
  if (h->mapped[options_.self].exchange(1, std::memory_order_seq_cst) == 0) {
    return absl::OkStatus();
  }
  return NotOurs(path_, absl::StrCat("has a member ", options_.self, " already"));
}

NodeSegment::Header* NodeSegment::header() const { return reinterpret_cast<Header*>(memory_); }

bool NodeSegment::Ready() {
  Header* const h = header();
  if (h->ready.load(std::memory_order_acquire) != 0) return true;
  for (uint32_t member = 0; member < options_.members; ++member) {
    if (h->mapped[member].load(std::memory_order_seq_cst) == 0) return false;
  }
  if (h->ready.exchange(1, std::memory_order_acq_rel) == 0) unlink(path_.c_str());
  return true;
}

uint32_t NodeSegment::Mapped() const {
  const auto& mapped = header()->mapped;
  return static_cast<uint32_t>(std::count_if(mapped, mapped + options_.members,
                                             [](const auto& one) { return one.load() != 0; }));
}

// Names are put in, and never taken out or moved, so all find a name at the same place.
std::optional<uint32_t> NodeSegment::FindEntry(uint64_t name) {
  name = std::max<uint64_t>(name, 1);  // 0: free
  auto* const names = reinterpret_cast<std::atomic<uint64_t>*>(At(layout_.groups));
  for (uint32_t i = 0; i < options_.groups; ++i) {
    const auto entry = static_cast<uint32_t>((name + i) % options_.groups);
    uint64_t there = 0;
    if (names[entry].compare_exchange_strong(there, name, std::memory_order_acq_rel)) return entry;
    if (there == name) return entry;
  }
  return std::nullopt;
}

SharedSlot NodeSegment::SlotOf(uint32_t group, uint32_t member) const {
  const size_t slot = size_t{group} * options_.members + member;
  const size_t content = layout_.areas + slot * layout_.area;
  const size_t content_bytes = RoundedUp(options_.content_bytes, kPage);
  const auto bytes = [this](size_t offset, size_t size) {
    return SharedBytes(reinterpret_cast<SharedWord*>(At(offset)), size / sizeof(SharedWord));
  };
  return {reinterpret_cast<SlotFutex*>(At(layout_.words + slot * kCacheLine)),
          bytes(content, content_bytes),
          bytes(content + content_bytes, layout_.area - content_bytes)};
}

// Without this a full tmpfs would show as SIGBUS at the first touch of a page that it lacks.
bool NodeSegment::Reserve(size_t offset, size_t bytes) const {
  int error;
  do {
    error = posix_fallocate(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  errno = error;
  return error == 0;
}

std::optional<std::vector<SharedSlot>> NodeSegment::FindGroup(uint64_t name) {
  const std::optional<uint32_t> group = FindEntry(name);
  if (!group) return std::nullopt;
  if (!reserved_[*group]) {
    const size_t own = size_t{*group} * options_.members + options_.self;
    if (!Reserve(layout_.areas + own * layout_.area, layout_.area)) return std::nullopt;
    reserved_[*group] = true;
  }
  std::vector<SharedSlot> slots;
  slots.reserve(options_.members);
  for (uint32_t member = 0; member < options_.members; ++member) {
    slots.push_back(SlotOf(*group, member));
  }
  return slots;
}

}  // namespace muster::internal
