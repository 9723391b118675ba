// Interrupts of long kernels: the thread that called a kernel checks from time to time whether it has to stop.
#pragma once
#include <time.h>

#include <cstdint>

namespace sapwood {

// Throws if the kernel has to stop.
using InterruptCheck = void (*)();

// The check of the kernel that this thread runs, or null.
inline InterruptCheck& interrupt_check() {
  static thread_local InterruptCheck check = nullptr;
  return check;
}

// Sets the check of this thread, and restores the one before at the end.
class InterruptScope {
 public:
  explicit InterruptScope(InterruptCheck check) : before_(interrupt_check()) { interrupt_check() = check; }
  ~InterruptScope() { interrupt_check() = before_; }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  InterruptCheck before_;
};

// Calls the check of this thread, if it has one, at most once in 50 ms.
inline void poll_interrupt() {
  constexpr int64_t kInterval = 50'000'000;
  static thread_local int64_t last = 0;
  const InterruptCheck check = interrupt_check();
  if (!check) return;
#if defined(CLOCK_MONOTONIC_COARSE)
  constexpr clockid_t kClock = CLOCK_MONOTONIC_COARSE;  // some milliseconds are precise enough, and it takes no system call
#else
  constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
  timespec now;
  clock_gettime(kClock, &now);
  const int64_t nanoseconds = int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  if (nanoseconds - last < kInterval) return;
  last = nanoseconds;
  check();
}

}  // namespace sapwood
