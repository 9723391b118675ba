// Fixed-point gradients and integer sums: the same arithmetic as src/kernels/core/fixed.hpp. Integers only, so that every device gives the
// same bits. All kernels of the program begin with this file.
//
// Defined by the host for each program:
//   MODE           0: one gradient, every hessian is one; 1: gradient and hessian; 2: the same, with parts rounded to 15 and 13 bits
//   GROUP_SIZE     work-items of a work-group; 1 on CPUs
//   INT64_ATOMICS  whether the device has atomic 64-bit adds
#define SINGLE 0
#define WIDE 1
#define NARROW 2

#if INT64_ATOMICS && GROUP_SIZE > 1
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif

#if MODE == SINGLE
typedef int Gradient;
#define WORDS 1  // of a cell of a histogram
#else
typedef uint2 Gradient;  // gradient (signed), hessian
#define WORDS 2
#endif
#define TABLE_WORDS (MODE == WIDE ? 2 : 1)  // of a cell in the table of a work-group
#define COLUMN_CELLS 264                    // of a column in the table of a work-group: with 256, columns would share banks and cache lines
#define SIDE_CODES 257                      // codes of a column, and the default bin
#define BLOCK_ROWS 4095                     // packed sums of so many rows do not overflow
#define ROW_LIST 0xffffffffu

// Format of the sums of a tree.
typedef struct {
  int count_bits, gradient_shift, hessian_shift;
} Format;

// A range of rows of one node.
typedef struct {
  uint begin, n;   // positions in the row list of the node's buffer
  uint owner;      // split, leaf or histogram that it belongs to
  uint buffer;     // of the node's rows and gradients: 0 or 1; with LISTED, rows are listed, otherwise row i is at position i
} Chunk;
#define LISTED 2u

// Storage of the feature of a split.
typedef struct {
  uint column, first, n_stored, pad;
} Job;

static inline long round_shift(long x, int shift) { return (x + ((1L << shift) >> 1)) >> shift; }

static inline int narrow_gradient(uint2 r) { return (int)r.x >> 17; }
static inline int narrow_hessian(uint2 r) { return (int)(r.y >> 19); }

// Sums of a row in the units of histograms: gradient, hessian.
static inline long2 units_of(Gradient r, Format f) {
#if MODE == SINGLE
  return (long2)(round_shift(r, f.gradient_shift), 1);
#elif MODE == WIDE
  return (long2)(round_shift((int)r.x, f.gradient_shift), round_shift((long)r.y, f.hessian_shift));
#else
  return (long2)(narrow_gradient(r), narrow_hessian(r));
#endif
}

// Exact gradient and hessian of a row.
static inline long2 exact_of(Gradient r) {
#if MODE == SINGLE
  return (long2)(r, 1);
#elif MODE == WIDE
  return (long2)((int)r.x, (long)r.y);
#else
  const long g = ((long)((int)r.x >> 17) << 16) + (long)(r.x & 0x1ffffu) - (1L << 16);
  const long h = ((long)(r.y >> 19) << 18) + (long)(r.y & 0x7ffffu) - (1L << 18);
  return (long2)(g, h);
#endif
}

// The words that a row adds to a cell of two words (one word if MODE is SINGLE: in .x).
static inline long2 cell_of(Gradient r, Format f) {
  const long2 u = units_of(r, f);
#if MODE == SINGLE
  return (long2)((long)((ulong)u.x << f.count_bits) + 1, 0);
#else
  return (long2)(u.x, (u.y << f.count_bits) + 1);
#endif
}

static inline uint row_at(__global const uint* rows, const Chunk c, uint i) { return c.buffer & LISTED ? rows[i] : i; }

// Sum of a pair over the work-items of a work-group, in all of them.
//   scratch  (GROUP_SIZE,)
static inline long2 sum_group(long2 value, __local long2* scratch) {
#if GROUP_SIZE > 1
  const uint lid = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[lid] = value;
  for (uint half_size = GROUP_SIZE / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < half_size) scratch[lid] += scratch[lid + half_size];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  value = scratch[0];
#endif
  return value;
}
