#include "client/src/node/segment.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/text/fnv1a.h"

namespace muster::internal {
namespace {

// "munode03", where 03 is the version of the layout and of the contents.
constexpr uint64_t kMagic = 0x3330'6564'6f6e'756d;
constexpr size_t kCacheLine = 64;
constexpr size_t kPage = 4096;

constexpr size_t RoundedUp(size_t size, size_t to) { return (size + to - 1) / to * to; }

absl::Status NotOurs(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("the shared memory at ", path, " ", why));
}

std::string NameOf(const SegmentOptions& options) {
  return absl::StrCat("muster-", absl::Hex(options.epoch_nonce, absl::kZeroPad16), "-",
                      absl::Hex(Fnv1a64(absl::StrCat(options.job_id, "\n", options.epoch_number,
                                                     "\n", options.node_id)),
                                absl::kZeroPad16));
}

// Returns whether NameOf() can have made this name.
bool IsName(absl::string_view name) {
  constexpr size_t kDigits = 16;
  if (!absl::ConsumePrefix(&name, "muster-") || name.size() != 2 * kDigits + 1) return false;
  return name[kDigits] == '-' && std::count_if(name.begin(), name.end(), absl::ascii_isxdigit) ==
                                     static_cast<ptrdiff_t>(2 * kDigits);
}

}  // namespace

// The beginning of the segment. Its plain fields are written before the file gets its name, and
// never change.
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
  shared = RoundedUp(groups + options.groups * sizeof(uint64_t), kCacheLine);
  words = shared + options.groups * kCacheLine;
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
  SharedMemoryFile::RemoveAbandoned(options.folder, IsName);
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
  if (memory_.data() == nullptr) return;
  if (header()->ready.load(std::memory_order_acquire) == 0) file_->Unlink();
}

// Retries, because another member may create the file or remove its name between any two of these
// calls.
absl::Status NodeSegment::OpenOrMake() {
  constexpr int kAttempts = 4;
  for (int i = 0; i < kAttempts; ++i) {
    absl::StatusOr<SharedMemoryFile> file = SharedMemoryFile::Open(path_, layout_.total);
    if (absl::IsNotFound(file.status())) file = Make();
    const absl::Status status = file.status();
    if (status.ok()) file_ = *std::move(file);
    if (!absl::IsAlreadyExists(status)) return status;
  }
  return absl::UnavailableError(
      absl::StrCat("the shared memory at ", path_,
                   " was created and removed again and again; other processes use the same name"));
}

absl::StatusOr<SharedMemoryFile> NodeSegment::Make() const {
  Header header = {};
  header.magic = kMagic;
  header.members = options_.members;
  header.groups = options_.groups;
  header.content_bytes = options_.content_bytes;
  header.result_bytes = options_.result_bytes;
  return SharedMemoryFile::Make(path_, layout_.total, layout_.areas,
                                {reinterpret_cast<const char*>(&header), sizeof header});
}

absl::Status NodeSegment::Map() {
  absl::StatusOr<MappedMemory> memory = file_->Map(layout_.total, MAP_NORESERVE);
  if (!memory.ok()) return memory.status();
  memory_ = *std::move(memory);
  return absl::OkStatus();
}

absl::Status NodeSegment::Enter() {
  Header* const h = header();
  if (h->magic != kMagic || h->members != options_.members || h->groups != options_.groups ||
      h->content_bytes != options_.content_bytes || h->result_bytes != options_.result_bytes) {
    return NotOurs(path_, "was made by another version");
  }
  if (h->mapped[options_.self].exchange(1, std::memory_order_seq_cst) == 0) {
    Ready();  // the last member removes the name, so that it does not stay if all are killed
    return absl::OkStatus();
  }
  return NotOurs(path_, absl::StrCat("has a member ", options_.self, " already"));
}

NodeSegment::Header* NodeSegment::header() const { return static_cast<Header*>(memory_.data()); }

// Two members may map the segment last, at the same time. Each sets its own flag and then scans all
// flags, both seq_cst, so at least one of them sees all flags set.
bool NodeSegment::Ready() {
  Header* const h = header();
  if (h->ready.load(std::memory_order_acquire) != 0) return true;
  for (uint32_t member = 0; member < options_.members; ++member) {
    if (h->mapped[member].load(std::memory_order_seq_cst) == 0) return false;
  }
  if (h->ready.exchange(1, std::memory_order_acq_rel) == 0) file_->Unlink();
  return true;
}

uint32_t NodeSegment::Mapped() const {
  const auto& mapped = header()->mapped;
  return static_cast<uint32_t>(std::count_if(mapped, mapped + options_.members,
                                             [](const auto& one) { return one.load() != 0; }));
}

// Inserts the name, or finds it. Names are never moved or removed, so all members find a name at
// the same index.
std::optional<uint32_t> NodeSegment::FindEntry(uint64_t name) {
  name = std::max<uint64_t>(name, 1);  // 0 marks a free entry
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

std::optional<SharedGroup> NodeSegment::FindGroup(uint64_t name) {
  const std::optional<uint32_t> group = FindEntry(name);
  if (!group) return std::nullopt;
  if (!reserved_[*group]) {
    const size_t own = size_t{*group} * options_.members + options_.self;
    if (!file_->Reserve(layout_.areas + own * layout_.area, layout_.area).ok()) {
      return std::nullopt;
    }
    reserved_[*group] = true;
  }
  const size_t shared = layout_.shared + *group * kCacheLine;
  SharedGroup found;
  found.commits = reinterpret_cast<SharedWord*>(At(shared));
  found.bell = reinterpret_cast<SlotFutex*>(At(shared + sizeof(SharedWord)));
  found.slots.reserve(options_.members);
  for (uint32_t member = 0; member < options_.members; ++member) {
    found.slots.push_back(SlotOf(*group, member));
  }
  return found;
}

}  // namespace muster::internal
