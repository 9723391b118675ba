#include "core/pool.hpp"

#include <pthread.h>

#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/float_mode.hpp"

namespace sapwood {
namespace {

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

constexpr int kRegions = 64;  // regions open at once; a caller that finds none free works alone
constexpr int kMaxWorkers = 255;
constexpr int kSpins = 4000;  // of an idle worker before it sleeps

// `state` counts the workers inside, in the low bits, above `kOpen` while others may still enter.
struct Region {
  static constexpr uint32_t kOpen = 1u << 31;
  std::atomic<bool> taken{false};
  std::atomic<uint32_t> state{0};
  std::atomic<int> seats{0};  // how many more workers are wanted
  std::atomic<int> participants{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // of the first participant that failed: read by the caller when all have left
  int n_ranges = 0;
  int64_t n_tasks = 0;
  Body body = nullptr;
  void* context = nullptr;
  Next next[kMaxWorkers + 1];

  bool enter() {
    uint32_t seen = state.load(std::memory_order_acquire);
    while (seen & kOpen) {
      if (state.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  void leave() { state.fetch_sub(1, std::memory_order_release); }

  // No exception leaves it: the first is kept for the caller, and no further task is claimed.
  void work(int participant) noexcept {
    try {
      Tasks tasks(next, n_ranges, participant, n_tasks, &failed);
      body(context, participant, tasks);
    } catch (...) {
      if (!failed.exchange(true, std::memory_order_relaxed)) error = std::current_exception();
      for (int i = 0; i < n_ranges; ++i) next[i].task.store(n_tasks, std::memory_order_relaxed);
    }
  }
};

struct Pool {
  Region regions[kRegions];
  std::atomic<uint32_t> epoch{0};  // changes with every region: sleeping workers wait for it
  std::atomic<int> sleepers{0};
  std::atomic<int> n_workers{0};
  std::mutex growing;

  // Works in the open regions that want more workers. Returns whether there was one.
  bool join_regions() {
    bool joined = false;
    for (Region& region : regions) {
      if (region.seats.load(std::memory_order_relaxed) <= 0 || !region.enter()) continue;
      if (region.seats.fetch_sub(1, std::memory_order_relaxed) > 0) {
        region.work(region.participants.fetch_add(1, std::memory_order_relaxed));
        joined = true;
      }
      region.leave();
    }
    return joined;
  }

  void run_worker() {
    set_float_mode(kDefaultFloatMode);  // a thread inherits that of the one that started it
    for (;;) {
      uint32_t seen = epoch.load(std::memory_order_acquire);
      bool awake = false;
      for (int spin = 0; spin < kSpins && !awake; ++spin) {
        if ((awake = join_regions() || epoch.load(std::memory_order_acquire) != seen)) break;
        for (int i = 0; i < 8; ++i) relax();
      }
      if (!awake) {
        sleepers.fetch_add(1);
        epoch.wait(seen);
        sleepers.fetch_sub(1);
      }
    }
  }

  void grow(int wanted) {
    if (n_workers.load(std::memory_order_relaxed) >= wanted) return;
    std::lock_guard<std::mutex> lock(growing);
    while (n_workers < wanted && n_workers < kMaxWorkers) {
      try {
        std::thread([this] { run_worker(); }).detach();
      } catch (...) {
        return;  // no thread to be had: the caller works with those there are
      }
      ++n_workers;
    }
  }
};

std::atomic<Pool*> the_pool{nullptr};

// The child of a fork has none of the threads: it leaves the old pool alone and makes a new one when it needs it.
void forget_pool() { the_pool.store(nullptr); }

Pool* pool() {
  Pool* current = the_pool.load(std::memory_order_acquire);
  if (current) return current;
  static std::once_flag registered;
  std::call_once(registered, [] { pthread_atfork(nullptr, nullptr, forget_pool); });
  Pool* made = new Pool;
  if (the_pool.compare_exchange_strong(current, made)) return made;
  delete made;
  return current;
}

void run_alone(int64_t n_tasks, Body body, void* context) {
  Next next;
  Tasks tasks(&next, 1, 0, n_tasks);
  body(context, 0, tasks);
}

}  // namespace

void run_region(int n_threads, int64_t n_tasks, Body body, void* context) {
  if (n_threads > n_tasks) n_threads = int(n_tasks);
  if (n_threads > kMaxWorkers + 1) n_threads = kMaxWorkers + 1;
  if (n_threads <= 1) return run_alone(n_tasks, body, context);
  Pool* p = pool();
  p->grow(n_threads - 1);
  Region* region = nullptr;
  for (Region& r : p->regions) {
    bool free = false;
    if (!r.taken.load(std::memory_order_relaxed) && r.taken.compare_exchange_strong(free, true)) {
      region = &r;
      break;
    }
  }
  if (!region) return run_alone(n_tasks, body, context);
  region->n_tasks = n_tasks;
  region->body = body;
  region->context = context;
  region->n_ranges = n_threads;
  region->failed.store(false, std::memory_order_relaxed);
  for (int i = 0; i < n_threads; ++i) region->next[i].task.store(Tasks::begin(i, n_threads, n_tasks), std::memory_order_relaxed);
  region->participants.store(1, std::memory_order_relaxed);
  region->seats.store(n_threads - 1, std::memory_order_relaxed);
  region->state.store(Region::kOpen, std::memory_order_release);
  p->epoch.fetch_add(1);
  if (p->sleepers.load()) p->epoch.notify_all();
  region->work(0);
  region->seats.store(0, std::memory_order_relaxed);
  region->state.fetch_and(~Region::kOpen, std::memory_order_acq_rel);
  // Those inside are at their last task.
  for (int spin = 0; region->state.load(std::memory_order_acquire) != 0; ++spin) {
    relax();
    if (spin > 1000) std::this_thread::yield();
  }
  const std::exception_ptr error = std::exchange(region->error, nullptr);
  region->taken.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

}  // namespace sapwood
