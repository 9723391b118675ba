// Memory on the boundary of a cache line, not initialised.
#pragma once
#include <cstddef>
#include <memory>

namespace sapwood {

inline constexpr size_t kCacheLine = 64;

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t size);
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  std::unique_ptr<void, Free> memory_;
};

}  // namespace sapwood
