// Turns numbers into bins: the bin of x is the number of cut points below x, so that x <= cuts[b] exactly where its bin is at most b.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sapwood {

// The cut points of some features, end to end; a missing value falls in the bin after the last.
struct Cuts {
  const double* values;
  const int64_t* begin;  // (n_features + 1,)
};

inline constexpr int kLanes = 8;  // searches in flight: a step of one hides behind the others'

// Searches kLanes values at once, without branches. (Gathers would be slower: each step is one load, one comparison, one addition.)
inline void search(const double* cuts, int n_cuts, const double* x, int* bins) {
  const double* at[kLanes];
  for (int k = 0; k < kLanes; ++k) at[k] = cuts;
  for (int length = n_cuts; length > 1;) {
    const int half = length / 2;
#pragma GCC unroll 8
    for (int k = 0; k < kLanes; ++k) {
      const double* middle = at[k] + half;
      at[k] = middle[-1] < x[k] ? middle : at[k];
    }
    length -= half;
  }
  for (int k = 0; k < kLanes; ++k) {
    const int bin = n_cuts ? int(at[k] - cuts) + (*at[k] < x[k]) : 0;
    bins[k] = x[k] != x[k] ? n_cuts + 1 : bin;
  }
}

// Bins n_rows x n_features values.
//   x        strides in elements                                         IN
//   out      bin of (row, feature) at out[row * row_step + feature * feature_step]   OUT
//   missing  (n_features,) uint8: set to 1 where a value was missing     OUT
template <class T>
inline void bin_values_of(const void* x_, int64_t row_stride, int64_t feature_stride, int64_t n_rows, int n_features, const Cuts& cuts,
                          uint8_t* out, int64_t row_step, int64_t feature_step, uint8_t* missing) {
  auto* x = static_cast<const T*>(x_);
  constexpr int64_t kTile = 8 * kLanes;  // rows whose values stay in the nearest cache while all features are binned
  for (int64_t tile = 0; tile < n_rows; tile += kTile) {
    const int64_t end = tile + kTile < n_rows ? tile + kTile : n_rows;
    for (int f = 0; f < n_features; ++f) {
      const double* values = cuts.values + cuts.begin[f];
      const int n_cuts = int(cuts.begin[f + 1] - cuts.begin[f]);
      const T* column = x + f * feature_stride;
      for (int64_t i = tile; i < end; i += kLanes) {
        const int count = end - i < kLanes ? int(end - i) : kLanes;
        double lanes[kLanes];
        int bins[kLanes];
        for (int k = 0; k < kLanes; ++k) lanes[k] = double(column[(i + (k < count ? k : 0)) * row_stride]);
        search(values, n_cuts, lanes, bins);
        bool any = false;
        for (int k = 0; k < count; ++k) {
          any |= bins[k] == n_cuts + 1;
          out[(i + k) * row_step + f * feature_step] = uint8_t(bins[k]);
        }
        if (any) missing[f] = 1;
      }
    }
  }
}

// Calls f with a zero of the type that a NumPy character code names.
template <class F>
inline void with_number(char type, F&& f) {
  switch (type) {
    case 'f': return f(float{});
    case 'd': return f(double{});
    case 'b': return f(int8_t{});
    case 'B': return f(uint8_t{});
    case 'h': return f(int16_t{});
    case 'H': return f(uint16_t{});
    case 'i': return f(int32_t{});
    case 'I': return f(uint32_t{});
    case 'l': return f(int64_t{});
    case 'L': return f(uint64_t{});
  }
}

inline void bin_values(char type, const void* x, int64_t row_stride, int64_t feature_stride, int64_t n_rows, int n_features,
                       const Cuts& cuts, uint8_t* out, int64_t row_step, int64_t feature_step, uint8_t* missing) {
  with_number(type, [&](auto zero) {
    bin_values_of<decltype(zero)>(x, row_stride, feature_stride, n_rows, n_features, cuts, out, row_step, feature_step, missing);
  });
}

}  // namespace sapwood
