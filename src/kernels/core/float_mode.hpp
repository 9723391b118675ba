// The way that the CPU rounds floating-point results and treats subnormal numbers.
//
// Kernels give the same bits on every thread only if all threads compute in the same mode. A caller may have changed that of its thread (a
// library compiled with -ffast-math sets flush-to-zero, fesetround() sets the rounding), and a new thread inherits it.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sapwood {

#if defined(__x86_64__)
inline constexpr uint64_t kDefaultFloatMode = 0x1f80;  // MXCSR: round to nearest, subnormal numbers kept, all exceptions masked
inline constexpr uint64_t kFloatModeMask = 0xffc0;     // without the flags of exceptions that occurred
inline uint64_t float_mode() { return _mm_getcsr() & kFloatModeMask; }
inline void set_float_mode(uint64_t mode) { _mm_setcsr((_mm_getcsr() & ~uint32_t(kFloatModeMask)) | uint32_t(mode)); }
#elif defined(__aarch64__)
inline constexpr uint64_t kDefaultFloatMode = 0;  // FPCR: round to nearest, subnormal numbers kept, no traps
inline constexpr uint64_t kFloatModeMask = ~uint64_t(0);
inline uint64_t float_mode() {
  uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void set_float_mode(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
inline constexpr uint64_t kDefaultFloatMode = 0;
inline uint64_t float_mode() { return 0; }
inline void set_float_mode(uint64_t) {}
#endif

// Sets the default float mode of this thread, and restores the one before at the end.
class DefaultFloatMode {
 public:
  DefaultFloatMode() : before_(float_mode()) {
    if (before_ != kDefaultFloatMode) set_float_mode(kDefaultFloatMode);
  }
  ~DefaultFloatMode() {
    if (before_ != kDefaultFloatMode) set_float_mode(before_);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
  uint64_t before_;
};

}  // namespace sapwood
