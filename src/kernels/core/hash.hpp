// Randomness as a function of (key, row id): the same for every thread, page and machine.
#pragma once
#include <cstdint>

namespace sapwood {

inline uint32_t mix32(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

inline uint64_t mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// 32 random bits of a row. The upper half of its id belongs into the key: see row_key.
inline uint32_t hash_row(uint32_t key, uint32_t row) { return mix32(row * 0x9e3779b1u + key); }
inline uint32_t row_key(uint64_t key, uint64_t row) { return uint32_t(mix64(key + 0x9e3779b97f4a7c15ull * (row >> 32)) >> 16); }

}  // namespace sapwood
