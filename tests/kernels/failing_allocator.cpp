// A library to preload: the n-th allocation from now on fails, in whatever thread. For tests/kernels/test_out_of_memory.py.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> left{0};  // allocations until one fails; 0: none does
std::atomic<bool> failed{false};

bool fails() {
  if (left.load(std::memory_order_relaxed) <= 0 || left.fetch_sub(1) != 1) return false;
  failed = true;
  return true;
}

void* allocate(std::size_t size) {
  void* memory = fails() ? nullptr : std::malloc(size ? size : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" {

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  static auto* real = reinterpret_cast<void* (*)(std::size_t, std::size_t)>(dlsym(RTLD_NEXT, "aligned_alloc"));
  return fails() ? nullptr : real(alignment, size);
}

// Lets the n-th allocation fail.
void fail_allocation(long n) {
  failed = false;
  left = n;
}

// Lets all allocations succeed again. Returns whether one has failed.
int stop_failing() {
  left = 0;
  return failed;
}
}
