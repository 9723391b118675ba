// A small pool of threads that share out numbered tasks.
//
// Every participant has a range of the tasks, the same one whenever there are as many of them, so that what it wrote last time is still in
// its cache; when it is done it takes from the others' ranges, so a slow thread simply does fewer. The caller works too, as participant 0,
// and never waits for a thread that has not started: when the tasks are gone it closes the region, and a late worker goes back to sleep.
// Many callers may run regions at once; after fork() the child starts with a new pool.
#pragma once
#include <atomic>
#include <cstdint>

namespace sapwood {

// The next task of a participant's range, on a cache line of its own.
struct alignas(64) Next {
  std::atomic<int64_t> task{0};
};

// What a participant of a region sees: the next task.
class Tasks {
 public:
  Tasks(Next* next, int n_ranges, int own, int64_t n_tasks) : next_(next), n_ranges_(n_ranges), range_(own), n_tasks_(n_tasks) {}

  // The next unclaimed task, or -1 when there is none left.
  int64_t claim() {
    for (; n_done_ < n_ranges_; ++n_done_, range_ = range_ + 1 < n_ranges_ ? range_ + 1 : 0) {
      const int64_t task = next_[range_].task.fetch_add(1, std::memory_order_relaxed);
      if (task < begin(range_ + 1, n_ranges_, n_tasks_)) return task;
    }
    return -1;
  }

  static int64_t begin(int range, int n_ranges, int64_t n_tasks) { return n_tasks * range / n_ranges; }

 private:
  Next* next_;
  int n_ranges_, range_;
  int n_done_ = 0;  // ranges found empty
  int64_t n_tasks_;
};

using Body = void (*)(void* context, int participant, Tasks& tasks);

// Runs `body` on up to n_threads threads, each with its own participant number below n_threads, until all tasks are done.
void run_region(int n_threads, int64_t n_tasks, Body body, void* context);

template <class F>
void parallel(int n_threads, int64_t n_tasks, F&& f) {
  run_region(n_threads, n_tasks, [](void* context, int participant, Tasks& tasks) { (*static_cast<F*>(context))(participant, tasks); }, &f);
}

}  // namespace sapwood
