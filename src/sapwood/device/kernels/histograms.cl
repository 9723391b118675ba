// Histograms of nodes. A work-group adds some rows of a node to a table of its own, in local memory, for a block of columns; it moves the
// table to its part of the histogram before a sum can overflow. Parts are summed at the end. Sums are integers: no order matters.

#if GROUP_SIZE == 1
static inline void add_word(__local ulong* word, ulong value) { *word += value; }
static inline void add_global(__global ulong* word, ulong value) { *word += value; }
#elif INT64_ATOMICS
static inline void add_word(__local ulong* word, ulong value) { atom_add(word, value); }
static inline void add_global(__global ulong* word, ulong value) { atom_add(word, value); }
#else
// A 64-bit add as two of 32 bits: each carry is seen once, by the work-item whose add overflows the lower half.
static inline void add_word(__local ulong* word, ulong value) {
  __local uint* halves = (__local uint*)word;
  const uint low = (uint)value, before = atomic_add(halves, low);
  const uint high = (uint)(value >> 32) + (before + low < before);
  if (high) atomic_add(halves + 1, high);
}
static inline void add_global(__global ulong* word, ulong value) {
  __global uint* halves = (__global uint*)word;
  const uint low = (uint)value, before = atomic_add(halves, low);
  const uint high = (uint)(value >> 32) + (before + low < before);
  if (high) atomic_add(halves + 1, high);
}
#endif

// Columns of a work-group.
typedef struct {
  uint group, first, n_columns, first_column;  // first: in its group; n_columns: without padding
} Block;

#if MODE == NARROW
// gradient | hessian | count in one word.
static inline ulong packed_of(uint2 r) { return ((ulong)(long)narrow_gradient(r) << 37) + ((ulong)narrow_hessian(r) << 12) + 1; }
#endif

// Moves the table of a work-group to its part of a histogram, and clears it.
//   is_first  whether nothing was moved there before
static inline void spill(__local ulong* table, const Block block, __global const uint* column_begin, const Format format, bool is_first,
                  __global long* part) {
#if GROUP_SIZE > 1
  barrier(CLK_LOCAL_MEM_FENCE);
#else
  mem_fence(CLK_LOCAL_MEM_FENCE);  // the table was written as words of another type
#endif
  for (uint c = 0; c < block.n_columns; ++c) {
    const uint begin = column_begin[block.first_column + c], n = column_begin[block.first_column + c + 1] - begin;
    __local ulong* from = table + c * COLUMN_CELLS * TABLE_WORDS;
    __global long* to = part + (ulong)begin * WORDS;
#if MODE == NARROW
    for (uint i = get_local_id(0); i < n; i += GROUP_SIZE) {
      const ulong sum = from[i];
      from[i] = 0;
      const long g = (long)sum >> 37, word = (long)(((sum >> 12) & ((1ul << 25) - 1)) << format.count_bits) + (long)(sum & BLOCK_ROWS);
      to[2 * i] = is_first ? g : to[2 * i] + g;
      to[2 * i + 1] = is_first ? word : to[2 * i + 1] + word;
    }
#else
    for (uint i = get_local_id(0); i < n * WORDS; i += GROUP_SIZE) {
      to[i] = is_first ? (long)from[i] : to[i] + (long)from[i];
      from[i] = 0;
    }
#endif
  }
#if GROUP_SIZE > 1
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

#if GROUP_SIZE == 1
#define TILE_ROWS 512     // whose bins stay in the nearest cache while one block of columns after the other is added
#define TILE_COLUMNS 16u  // whose sums nearly fit there too

#if MODE == WIDE
typedef ulong2 Value;
#else
typedef ulong Value;
#endif

// Adds up to TILE_ROWS rows to four columns after the other.
static inline void add_tile(__local Value* table, __global const uchar* codes, uint stride, const uint* rows, const Value* values, uint n,
                     uint n_columns) {
  for (uint first = 0; first < n_columns; first += TILE_COLUMNS) {
    const uint last = min(first + TILE_COLUMNS, n_columns);
    for (uint i = 0; i < n; ++i) {
      __global const uint* own = (__global const uint*)(codes + (ulong)rows[i] * stride + first);
      const Value value = values[i];
      __local Value* column = table + first * COLUMN_CELLS;
      for (uint c = first; c < last; c += 4, ++own, column += 4 * COLUMN_CELLS) {
        const uint four = *own;
        column[four & 255u] += value;
        column[COLUMN_CELLS + (four >> 8 & 255u)] += value;
        column[2 * COLUMN_CELLS + (four >> 16 & 255u)] += value;
        column[3 * COLUMN_CELLS + (four >> 24)] += value;
      }
    }
  }
}
#endif

// Adds rows to parts of histograms.
//   step          from chunks_at on, (n_parts,): owner is the part of a histogram   IN
//   blocks        (n_blocks,)                                            IN
//   codes         (n_groups, n_rows, stride)                             IN
//   column_begin  (n_columns + 1,): first cell of each column            IN
//   parts         (n_parts, n_words): written, except row lists          OUT
//   table         (columns of a block + 3, COLUMN_CELLS, TABLE_WORDS)
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void add_columns(
    __global const uint* step, const uint chunks_at, __global const Block* blocks, __global const uint* rows0, __global const uint* rows1,
    __global const Gradient* gradients0, __global const Gradient* gradients1, __global const uchar* codes, const ulong n_rows,
    const uint stride, __global const uint* column_begin, const Format format, const ulong n_words, __global long* parts,
    __local ulong* table) {
  const Chunk c = ((__global const Chunk*)(step + chunks_at))[get_group_id(0)];
  const Block block = blocks[get_group_id(1)];
  __global const uint* rows = c.buffer & 1 ? rows1 : rows0;
  __global const Gradient* gradients = c.buffer & 1 ? gradients1 : gradients0;
  __global const uchar* own = codes + (ulong)block.group * n_rows * stride + block.first;
  __global long* part = parts + c.owner * n_words;
  const uint n_padded = (block.n_columns + 3) / 4 * 4;
  for (uint i = get_local_id(0); i < n_padded * COLUMN_CELLS * TABLE_WORDS; i += GROUP_SIZE) table[i] = 0;
#if GROUP_SIZE == 1
  Value values[TILE_ROWS];
  uint tile_rows[TILE_ROWS];
  uint pending = 0;
  bool is_first = true;
  for (uint begin = 0; begin < c.n; begin += TILE_ROWS) {
    const uint n = min((uint)TILE_ROWS, c.n - begin), at = c.begin + begin;
#if MODE == NARROW
    if (pending + n > BLOCK_ROWS) {
      spill(table, block, column_begin, format, is_first, part);
      is_first = false;
      pending = 0;
    }
    for (uint i = 0; i < n; ++i) values[i] = packed_of(gradients[at + i]);
#elif MODE == WIDE
    for (uint i = 0; i < n; ++i) values[i] = as_ulong2(cell_of(gradients[at + i], format));
#else
    for (uint i = 0; i < n; ++i) values[i] = as_ulong(cell_of(gradients[at + i], format).x);
#endif
    if (c.buffer & LISTED) {
      for (uint i = 0; i < n; ++i) tile_rows[i] = rows[at + i];
    } else {
      for (uint i = 0; i < n; ++i) tile_rows[i] = at + i;
    }
    add_tile((__local Value*)table, own, stride, tile_rows, values, n, n_padded);
    pending += n;
  }
  spill(table, block, column_begin, format, is_first, part);
#else
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint lid = get_local_id(0), n_fours = n_padded / 4;
  for (uint begin = 0; begin < c.n || begin == 0; begin += BLOCK_ROWS) {
    const uint end = min(begin + BLOCK_ROWS, c.n);
    for (uint i = begin + lid; i < end; i += GROUP_SIZE) {
      const uint row = row_at(rows, c, c.begin + i);
      const Gradient r = gradients[c.begin + i];
#if MODE == NARROW
      const ulong value = packed_of(r);
#else
      const ulong2 value = as_ulong2(cell_of(r, format));
#endif
      __global const uint* fours = (__global const uint*)(own + (ulong)row * stride);
      for (uint k = 0; k < n_fours; ++k) {
        const uint four_at = (k + lid) % n_fours;  // neighbours add to different columns: fewer of them to the same word
        uint four = fours[four_at];
        for (uint column = 4 * four_at; column < 4 * four_at + 4; ++column, four >>= 8) {
          __local ulong* cell = table + (column * COLUMN_CELLS + (four & 255u)) * TABLE_WORDS;
#if MODE == NARROW
          add_word(cell, value);
#else
          add_word(cell, value.x);
#if MODE == WIDE
          add_word(cell + 1, value.y);
#endif
#endif
        }
      }
    }
    spill(table, block, column_begin, format, begin == 0, part);
  }
#endif
}

// Adds rows to the bins of their row lists. Parts are in global memory: there can be many bins.
//   list_begin  (n_rows + 1,)          IN
//   list_bins   bins of the lists      IN
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void add_lists(
    __global const uint* step, const uint chunks_at, __global const uint* rows0, __global const uint* rows1,
    __global const Gradient* gradients0, __global const Gradient* gradients1, __global const uint* list_begin, __global const uint* list_bins, const uint first_cell,
    const uint n_list_bins, const Format format, const ulong n_words, __global long* parts) {
  const Chunk c = ((__global const Chunk*)(step + chunks_at))[get_group_id(0)];
  __global const uint* rows = c.buffer & 1 ? rows1 : rows0;
  __global const Gradient* gradients = c.buffer & 1 ? gradients1 : gradients0;
  __global ulong* cells = (__global ulong*)(parts + c.owner * n_words) + (ulong)first_cell * WORDS;
  for (ulong i = get_local_id(0); i < (ulong)n_list_bins * WORDS; i += GROUP_SIZE) cells[i] = 0;
#if GROUP_SIZE > 1
  barrier(CLK_GLOBAL_MEM_FENCE);
#endif
  for (uint i = c.begin + get_local_id(0); i < c.begin + c.n; i += GROUP_SIZE) {
    const uint row = row_at(rows, c, i);
    const ulong2 value = as_ulong2(cell_of(gradients[i], format));
    for (uint k = list_begin[row]; k < list_begin[row + 1]; ++k) {
      const uint bin = list_bins[k];
      if (bin >= n_list_bins) continue;
      add_global(cells + bin * WORDS, value.x);
#if WORDS == 2
      add_global(cells + bin * WORDS + 1, value.y);
#endif
    }
  }
}

// Sums the parts of each histogram.
//   step   from part_begin_at on, (n_histograms + 1,): first part of each   IN
//   words  (n_histograms, n_words); the last cell is 0                       OUT
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void sum_parts(
    __global const uint* step, const uint part_begin_at, __global const long* parts, const ulong n_words, const uint chunk_words,
    __global long* words) {
  const ulong begin = (ulong)get_group_id(0) * chunk_words, end = min(begin + chunk_words, n_words - WORDS), h = get_group_id(1);
  const uint first = step[part_begin_at + h], last = step[part_begin_at + h + 1];
  __global long* to = words + h * n_words;
  for (ulong i = begin + get_local_id(0); i < end; i += GROUP_SIZE) to[i] = first < last ? parts[first * n_words + i] : 0;
  for (uint p = first + 1; p < last; ++p) {
    for (ulong i = begin + get_local_id(0); i < end; i += GROUP_SIZE) to[i] += parts[p * n_words + i];
  }
  if (get_group_id(0) == 0 && get_local_id(0) == 0) {
    for (uint w = 1; w <= WORDS; ++w) to[n_words - w] = 0;
  }
}
