// A pool of threads that share out numbered tasks.
//
// Every participant of a region has a range of its tasks, the same one whenever there are as many participants, so that what it wrote last
// time is still in its cache; when its range is empty it claims tasks from the other ranges, so that a slow thread does fewer. The caller
// works too, as participant 0, and never waits for a thread that has not started: when all tasks are claimed it closes the region, and a
// late worker goes back to sleep. Many callers may run regions at once; after fork() the child starts with a new pool.
//
// If a task throws in any participant, no further task is claimed; the caller waits until all participants have left the region, and
// rethrows the first exception. The caller polls for interrupts (see interrupt.hpp) before each of its tasks. Worker threads run with the
// default float mode (see float_mode.hpp).
#pragma once
#include <atomic>
#include <cstdint>

#include "core/interrupt.hpp"

namespace sapwood {

// The next task of a participant's range, on a cache line of its own.
struct alignas(64) Next {
  std::atomic<int64_t> task{0};
};

// Thrown in a worker's task when another participant has failed.
struct RegionFailed {};

// The tasks that a participant of a region can claim.
//   failed  whether a participant of the region has failed; null where there is one participant only
class Tasks {
 public:
  Tasks(Next* next, int n_ranges, int own, int64_t n_tasks, const std::atomic<bool>* failed = nullptr)
      : next_(next), n_ranges_(n_ranges), range_(own), is_caller_(own == 0), n_tasks_(n_tasks), failed_(failed) {}

  // The next unclaimed task, or -1 when there is none left. Throws if the kernel is interrupted.
  int64_t claim() {
    poll();
    for (; n_done_ < n_ranges_; ++n_done_, range_ = range_ + 1 < n_ranges_ ? range_ + 1 : 0) {
      const int64_t task = next_[range_].task.fetch_add(1, std::memory_order_relaxed);
      if (task < begin(range_ + 1, n_ranges_, n_tasks_)) return task;
    }
    return -1;
  }

  // Throws if the kernel is interrupted or a participant has failed. For tasks that take long.
  void poll() const {
    if (is_caller_) poll_interrupt();
    if (failed_ && failed_->load(std::memory_order_relaxed)) throw RegionFailed();
  }

  static int64_t begin(int range, int n_ranges, int64_t n_tasks) { return n_tasks * range / n_ranges; }

 private:
  Next* next_;
  int n_ranges_, range_;
  bool is_caller_;
  int n_done_ = 0;  // ranges found empty
  int64_t n_tasks_;
  const std::atomic<bool>* failed_;
};

using Body = void (*)(void* context, int participant, Tasks& tasks);

// Runs `body` on up to n_threads threads, each with its own participant number below n_threads, until all tasks are done or one throws.
void run_region(int n_threads, int64_t n_tasks, Body body, void* context);

template <class F>
void parallel(int n_threads, int64_t n_tasks, F&& f) {
  run_region(n_threads, n_tasks, [](void* context, int participant, Tasks& tasks) { (*static_cast<F*>(context))(participant, tasks); }, &f);
}

}  // namespace sapwood
