#include "common/memory/activity_publisher.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/text/fnv1a.h"

namespace muster {

using activity::Board;
using activity::Slot;
using activity::State;

namespace {

// Maps the memory that the launcher has named. Returns null if there is none, or it cannot be
// mapped, for example because the launcher has gone.
Board* Map() {
  const char* const path = std::getenv(activity::kVariable);
  if (path == nullptr) return nullptr;
  const int descriptor = open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat info = {};
  void* memory = MAP_FAILED;
  if (fstat(descriptor, &info) == 0 && info.st_size == sizeof(Board)) {
    memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  close(descriptor);
  if (memory == MAP_FAILED) return nullptr;
  auto* const board = static_cast<Board*>(memory);
  if (board->magic.load(std::memory_order_relaxed) == activity::kMagic) return board;
  munmap(memory, sizeof(Board));
  return nullptr;
}

// Returns this process's board. A fork maps its own, since its parent's belongs to the parent.
Board* OwnBoard() {
  struct Mapped {
    pid_t process;
    Board* board;
  };
  static std::atomic<Mapped*> mapped{nullptr};
  Mapped* known = mapped.load(std::memory_order_acquire);
  if (known != nullptr && known->process == getpid()) return known->board;
  auto* const fresh = new Mapped{getpid(), Map()};  // never freed if it is stored
  if (mapped.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh->board;
  if (fresh->board != nullptr) munmap(fresh->board, sizeof(Board));
  delete fresh;
  return known->board;
}

void CopyText(std::string_view text, char* out, size_t size) {
  const size_t length = std::min(text.size(), size);
  std::memcpy(out, text.data(), length);
  std::memset(out + length, 0, size - length);
}

// Copies the name, with a fingerprint of it if it is too long. Tools that compare ranks identify a
// communicator by its name alone. So the fingerprint must be the same on all ranks, whatever they
// were built with.
void CopyName(std::string_view name, char (&out)[activity::kNameBytes]) {
  CopyText(name, out, sizeof(out));
  if (name.size() <= sizeof(out)) return;
  char end[24];
  const int length = std::snprintf(end, sizeof(end), "...#%016llx",
                                   static_cast<unsigned long long>(Fnv1a64(name)));
  size_t kept = sizeof(out) - static_cast<size_t>(length);
  // Does not cut a character of UTF-8 in two.
  while (kept > 0 && (static_cast<unsigned char>(name[kept]) & 0xc0) == 0x80) --kept;
  CopyText(end, out + kept, sizeof(out) - kept);
}

// Changes a slot so that a reader sees the whole change or nothing of it.
template <typename F>
void Update(Slot* slot, F change) {
  const uint64_t version = slot->version.load(std::memory_order_relaxed);
  State& next = slot->states[(version + 1) % 2];
  // Orders the writes below after the last store of `version`, which made this state the old one. A
  // reader that sees a part of these writes then sees that version too, and reads again.
  std::atomic_thread_fence(std::memory_order_release);
  next = slot->states[version % 2];
  change(&next);
  next.since = activity::MonotonicNow();
  slot->version.store(version + 1, std::memory_order_release);
}

// Takes a free slot under a new communicator number. Returns null if there is none.
Slot* ClaimSlot(Board* board) {
  if (board == nullptr) return nullptr;
  const uint64_t number = board->last.fetch_add(1, std::memory_order_relaxed) + 1;
  for (Slot& slot : board->slots) {
    uint64_t free = 0;
    if (slot.taken.compare_exchange_strong(free, number, std::memory_order_acquire)) return &slot;
  }
  return nullptr;
}

}  // namespace

ActivityPublisher::ActivityPublisher(std::string_view name) : slot_(ClaimSlot(OwnBoard())) {
  if (slot_ == nullptr) return;
  Update(slot_, [&](State* state) {
    CopyName(name, state->name);
    CopyText("", state->operation, sizeof(state->operation));
    state->begun = state->ended = state->bytes = 0;
  });
}

ActivityPublisher::~ActivityPublisher() {
  if (slot_ == nullptr) return;
  Update(slot_, [](State* state) { CopyText("", state->name, sizeof(state->name)); });
  slot_->taken.store(0, std::memory_order_release);
}

void ActivityPublisher::Begin(std::string_view operation, uint64_t bytes) {
  if (slot_ == nullptr) return;
  Update(slot_, [&](State* state) {
    CopyText(operation, state->operation, sizeof(state->operation));
    state->bytes = bytes;
    ++state->begun;
  });
}

void ActivityPublisher::End() {
  if (slot_ == nullptr) return;
  Update(slot_, [](State* state) { ++state->ended; });
}

}  // namespace muster
