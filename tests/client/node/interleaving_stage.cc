#include "tests/client/node/interleaving_stage.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::internal {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr int kMostSteps = 200'000;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Returns the stacks that can be reused: making one costs more than a whole schedule.
std::vector<std::unique_ptr<char[]>>& SpareStacks() {
  static auto* const stacks = new std::vector<std::unique_ptr<char[]>>();
  return *stacks;
}

std::unique_ptr<char[]> TakeStack() {
  auto& spare = SpareStacks();
  if (spare.empty()) return std::make_unique<char[]>(kStackBytes);
  std::unique_ptr<char[]> stack = std::move(spare.back());
  spare.pop_back();
  return stack;
}

}  // namespace

Stage* Stage::current_ = nullptr;

// Unwinds the actors that have not ended. That touches nothing that is shared.
Stage::~Stage() {
  for (const auto& actor : actors_) {
    actor->killed = true;
    if (actor->started && !actor->ended) Resume(actor.get());
    if (actor->stack != nullptr) SpareStacks().push_back(std::move(actor->stack));
  }
}

void Stage::Add(std::function<void()> run) {
  actors_.push_back(std::make_unique<Actor>());
  actors_.back()->run = std::move(run);
}

void Stage::Enter() {
  Stage* const stage = current_;
  Actor* const actor = stage->running_;
  try {
    actor->run();
  } catch (const Killed&) {
  }
  actor->ended = true;
  swapcontext(&actor->context, &stage->scheduler_);
}

void Stage::Resume(Actor* actor) {
  current_ = this;
  running_ = actor;
  if (!std::exchange(actor->started, true)) {
    actor->stack = TakeStack();
    getcontext(&actor->context);
    actor->context.uc_stack.ss_sp = actor->stack.get();
    actor->context.uc_stack.ss_size = kStackBytes;
    actor->context.uc_link = nullptr;
    makecontext(&actor->context, &Stage::Enter, 0);
  }
  swapcontext(&scheduler_, &actor->context);
  running_ = nullptr;
}

void Stage::Yield() {
  Actor* const actor = running_;
  swapcontext(&actor->context, &scheduler_);
  if (actor->killed) throw Killed();
}

bool Stage::Runnable(const Actor& actor) const {
  return !actor.ended && !actor.killed && actor.paused_until <= now_ && actor.wakes <= now_;
}

int64_t Stage::NextTime() const {
  int64_t next = kNever;
  for (const auto& actor : actors_) {
    if (actor->ended || actor->killed) continue;
    next = std::min(next, std::max(actor->wakes, actor->paused_until));
  }
  return next;
}

bool Stage::Run(const std::function<void()>& between) {
  for (int step = 0; step < kMostSteps; ++step) {
    between();
    std::vector<Actor*> runnable;
    for (const auto& actor : actors_) {
      if (Runnable(*actor)) runnable.push_back(actor.get());
    }
    if (runnable.empty()) {
      if (NextTime() == kNever) return true;
      now_ = NextTime();
      continue;
    }
    now_ += 100;
    Resume(runnable[Pick(static_cast<uint32_t>(runnable.size()))]);
  }
  return false;
}

void Stage::Pause(size_t actor, int64_t nanos) {
  Actor& a = *actors_[actor];
  if (a.paused_until > now_) return;
  a.paused_until = now_ + nanos;
  a.paused += nanos;
}

void Stage::Step() {
  if (current_ != nullptr && current_->running_ != nullptr) current_->Yield();
}

void Stage::Wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t nanos) {
  if (word->load() != expected) return;
  Actor* const actor = current_->running_;
  actor->waits_for = word;
  Sleep(nanos);
  actor->waits_for = nullptr;
}

void Stage::Sleep(int64_t nanos) {
  Actor* const actor = current_->running_;
  actor->wakes = current_->now_ + nanos;
  current_->Yield();
}

void Stage::Wake(std::atomic<uint32_t>* word) {
  for (const auto& actor : current_->actors_) {
    if (actor->waits_for == word) actor->wakes = 0;
  }
}

}  // namespace muster::internal
