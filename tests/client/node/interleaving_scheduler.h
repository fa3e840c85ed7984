#ifndef MUSTER_TESTS_CLIENT_NODE_INTERLEAVING_SCHEDULER_H_
#define MUSTER_TESTS_CLIENT_NODE_INTERLEAVING_SCHEDULER_H_

#include <ucontext.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace muster::internal {

// A scheduler that runs tasks with shared memory in one thread, one step of one task at a time. A
// seed decides which task is next. A task can be killed or paused between any two of its steps.
// Time is simulated, and passes on its own while all tasks wait.
class InterleavingScheduler {
 public:
  explicit InterleavingScheduler(uint64_t seed) : random_(seed) {}
  ~InterleavingScheduler();
  InterleavingScheduler(const InterleavingScheduler&) = delete;
  InterleavingScheduler& operator=(const InterleavingScheduler&) = delete;

  // Adds a task. Tasks are numbered in the order in which they are added.
  void Add(std::function<void()> task);
  // Runs until all tasks have ended or were killed. Calls `between` between steps. Returns false
  // if there are too many steps.
  bool Run(const std::function<void()>& between);

  uint32_t Pick(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  int64_t now() const { return now_; }
  // Lets `nanos` pass in which no task makes a step.
  void Pass(int64_t nanos) { now_ += nanos; }

  void Kill(size_t task) { tasks_[task]->killed = true; }
  // Pauses the task: it makes no step for `nanos`.
  void Pause(size_t task, int64_t nanos);
  bool alive(size_t task) const { return !tasks_[task]->killed && !tasks_[task]->ended; }
  // Returns for how long the task has been paused so far.
  int64_t paused(size_t task) const { return tasks_[task]->paused; }

  // ---- For tasks. Elsewhere, Step() does nothing ----
  static void Step();
  // Blocks until the word changes and another task wakes this one, or until the time is over.
  static void Wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t nanos);
  static void Wake(std::atomic<uint32_t>* word);
  static void Sleep(int64_t nanos);
  static InterleavingScheduler* current() { return current_; }

 private:
  struct Task {
    std::function<void()> run;
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool started = false;
    bool ended = false;
    bool killed = false;
    const std::atomic<uint32_t>* waits_for = nullptr;
    int64_t wakes = 0;  // the time before which it stays asleep
    int64_t paused_until = 0;
    int64_t paused = 0;
  };
  struct Killed {};

  static void Enter();
  bool Runnable(const Task& task) const;
  int64_t NextTime() const;
  void Resume(Task* task);
  void Yield();

  static InterleavingScheduler* current_;
  std::mt19937_64 random_;
  int64_t now_ = 1;
  std::vector<std::unique_ptr<Task>> tasks_;
  Task* running_ = nullptr;
  ucontext_t scheduler_;
};

}  // namespace muster::internal

#endif  // MUSTER_TESTS_CLIENT_NODE_INTERLEAVING_SCHEDULER_H_
