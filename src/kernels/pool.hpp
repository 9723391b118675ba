// A small pool of threads that share out numbered tasks.
//
// Tasks are claimed from an atomic counter, so a slow thread simply claims fewer. The caller works too, and never waits for a
// thread that has not started: when the tasks are gone it closes the region, and a late worker goes back to sleep. Many callers may
// run regions at once; after fork() the child starts with a new pool.
#pragma once
#include <atomic>
#include <cstdint>

namespace sapwood {

// What a participant of a region sees: its own number, and the next task.
class Tasks {
 public:
  Tasks(std::atomic<int64_t>* next, int64_t n_tasks) : next_(next), n_tasks_(n_tasks) {}
  // The next unclaimed task, or -1 when there is none left.
  int64_t claim() {
    int64_t task = next_->fetch_add(1, std::memory_order_relaxed);
    return task < n_tasks_ ? task : -1;
  }

 private:
  std::atomic<int64_t>* next_;
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
