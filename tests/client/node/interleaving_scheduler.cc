#include "tests/client/node/interleaving_scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::internal {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr int kMaxSteps = 200'000;
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

InterleavingScheduler* InterleavingScheduler::current_ = nullptr;

// Unwinds the tasks that have not ended. That touches nothing that is shared.
InterleavingScheduler::~InterleavingScheduler() {
  for (const auto& task : tasks_) {
    task->killed = true;
    if (task->started && !task->ended) Resume(task.get());
    if (task->stack != nullptr) SpareStacks().push_back(std::move(task->stack));
  }
}

void InterleavingScheduler::Add(std::function<void()> run) {
  tasks_.push_back(std::make_unique<Task>());
  tasks_.back()->run = std::move(run);
}

void InterleavingScheduler::Enter() {
  InterleavingScheduler* const scheduler = current_;
  Task* const task = scheduler->running_;
  try {
    task->run();
  } catch (const Killed&) {
  }
  task->ended = true;
  swapcontext(&task->context, &scheduler->scheduler_);
}

void InterleavingScheduler::Resume(Task* task) {
  current_ = this;
  running_ = task;
  if (!std::exchange(task->started, true)) {
    task->stack = TakeStack();
    getcontext(&task->context);
    task->context.uc_stack.ss_sp = task->stack.get();
    task->context.uc_stack.ss_size = kStackBytes;
    task->context.uc_link = nullptr;
    makecontext(&task->context, &InterleavingScheduler::Enter, 0);
  }
  swapcontext(&scheduler_, &task->context);
  running_ = nullptr;
}

void InterleavingScheduler::Yield() {
  Task* const task = running_;
  swapcontext(&task->context, &scheduler_);
  if (task->killed) throw Killed();
}

bool InterleavingScheduler::Runnable(const Task& task) const {
  return !task.ended && !task.killed && task.paused_until <= now_ && task.wakes <= now_;
}

int64_t InterleavingScheduler::NextTime() const {
  int64_t next = kNever;
  for (const auto& task : tasks_) {
    if (task->ended || task->killed) continue;
    next = std::min(next, std::max(task->wakes, task->paused_until));
  }
  return next;
}

bool InterleavingScheduler::Run(const std::function<void()>& between) {
  for (int step = 0; step < kMaxSteps; ++step) {
    between();
    std::vector<Task*> runnable;
    for (const auto& task : tasks_) {
      if (Runnable(*task)) runnable.push_back(task.get());
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

void InterleavingScheduler::Pause(size_t task, int64_t nanos) {
  Task& a = *tasks_[task];
  if (a.paused_until > now_) return;
  a.paused_until = now_ + nanos;
  a.paused += nanos;
}

void InterleavingScheduler::Step() {
  if (current_ != nullptr && current_->running_ != nullptr) current_->Yield();
}

void InterleavingScheduler::Wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t nanos) {
  if (word->load() != expected) return;
  Task* const task = current_->running_;
  task->waits_for = word;
  Sleep(nanos);
  task->waits_for = nullptr;
}

void InterleavingScheduler::Sleep(int64_t nanos) {
  Task* const task = current_->running_;
  task->wakes = current_->now_ + nanos;
  current_->Yield();
}

void InterleavingScheduler::Wake(std::atomic<uint32_t>* word) {
  for (const auto& task : current_->tasks_) {
    if (task->waits_for == word) task->wakes = 0;
  }
}

}  // namespace muster::internal
