#include "core/buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace sapwood {
namespace {

constexpr size_t kHugePage = size_t(1) << 21;

}  // namespace

Buffer::Buffer(size_t size) {
  const size_t unit = size < 2 * kHugePage ? kCacheLine : kHugePage;
  size = (size / unit + 1) * unit;
  memory_.reset(std::aligned_alloc(unit, size));
  if (!memory_) throw std::bad_alloc();
  if (unit == kHugePage) madvise(memory_.get(), size, MADV_HUGEPAGE);  // rows are visited far apart: fewer pages to look up
}

void Buffer::Free::operator()(void* p) const { std::free(p); }

}  // namespace sapwood
