// Rows of a page by node: start of a tree, splits of nodes, leaves.

static inline uint mix32(uint x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

// Rounds a gradient and a hessian up or down by random bits of the row.
#if MODE == NARROW
static inline uint2 narrowed(uint2 r, uint bits) {
  const int g = (int)r.x;
  const int narrow_g = (g + (int)(bits & 0xffffu)) >> 16;
  const uint narrow_h = (r.y + ((bits >> 16) << 2)) >> 18;
  return (uint2)(((uint)narrow_g << 17) + ((uint)g - ((uint)narrow_g << 16)) + (1u << 16),
                 (narrow_h << 19) + (r.y - (narrow_h << 18)) + (1u << 18));
}
#endif

// Copies the bins of a page from groups of columns to columns.
//   codes    (n_groups, n_rows, stride)   IN
//   columns  (n_columns, n_rows)          OUT
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void copy_columns(
    __global const uchar* codes, const ulong n_rows, const uint chunk_rows, const uint width, const uint stride, const uint n_columns,
    __global uchar* columns) {
  const ulong first = (ulong)get_group_id(0) * chunk_rows, end = min(n_rows, first + chunk_rows);
  for (uint c = 0; c < n_columns; ++c) {
    __global const uchar* from = codes + (ulong)(c / width) * n_rows * stride + c % width;
    for (ulong i = first + get_local_id(0); i < end; i += GROUP_SIZE) columns[c * n_rows + i] = from[i * stride];
  }
}

// Begins a tree: rounds the gradients of the rows, and sums them in the units of histograms. With a sample, copies its rows.
//   given      (n_rows,)                                   IN
//   sample     (n,): rows of the page; if `sampled`        IN
//   rows, gradients  (n,) of the root                      OUT   may be `given`, without a sample
//   sums       (n_chunks, 2): gradient, hessian            OUT
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void start_rows(
    __global const Gradient* given, __global const uint* sample, const uint sampled, const uint n, const uint chunk_rows, const Format format,
    const uint low, const uint key, const uint next_key, const uint passing, __global uint* rows, __global Gradient* gradients,
    __global long2* sums) {
  __local long2 scratch[GROUP_SIZE];
  const uint chunk = get_group_id(0), first = chunk * chunk_rows, end = min(n, first + chunk_rows);
  long2 sum = (long2)(0, 0);
  for (uint i = first + get_local_id(0); i < end; i += GROUP_SIZE) {
    const uint row = sampled ? sample[i] : i;
    Gradient r = given[row];
#if MODE == NARROW
    // Rows from `passing` on have ids beyond a multiple of 2^32.
    r = narrowed(r, mix32((low + row) * 0x9e3779b1u + (row < passing ? key : next_key)));
#endif
    gradients[i] = r;
    if (sampled) rows[i] = row;
    sum += units_of(r, format);
  }
  sum = sum_group(sum, scratch);
  if (get_local_id(0) == 0) sums[chunk] = sum;
}

// Stored bin of a feature in the list of a row, or n_stored if the row is in the default bin.
static inline uint find_listed(const Job job, __global const uint* begin, __global const uint* bins, uint row) {
  uint low = begin[row], n = begin[row + 1] - low;
  while (n > 0) {
    const uint half_size = n / 2;
    const bool below = bins[low + half_size] < job.first;
    low = below ? low + half_size + 1 : low;
    n = below ? n - half_size - 1 : half_size;
  }
  return low < begin[row + 1] && bins[low] - job.first < job.n_stored ? bins[low] - job.first : job.n_stored;
}

// Whether a row goes left.
//   sides  (SIDE_CODES,) of the split
static inline uchar side_of(const Job job, __global const uchar* sides, __global const uchar* columns, const ulong n_rows,
                     __global const uint* list_begin, __global const uint* list_bins, uint row) {
  if (job.column != ROW_LIST) return sides[columns[job.column * n_rows + row]];
  const uint stored = find_listed(job, list_begin, list_bins, row);
  return sides[stored < job.n_stored ? min(stored, 255u) : SIDE_CODES - 1];
}

// Finds the side of each row of nodes to split, and counts the rows on the left.
//   step    chunks, (n_chunks,): owner is the split; from jobs_at on, Job (n_splits,); from sides_at on, (n_splits, SIDE_CODES)   IN
//   left    (n_rows,): by position                  OUT
//   n_left  (n_chunks,)                             OUT
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void decide(
    __global const uint* step, const uint jobs_at, const uint sides_at, __global const uint* rows0, __global const uint* rows1,
    __global const uchar* columns, const ulong n_rows, __global const uint* list_begin, __global const uint* list_bins,
    __global uchar* left, __global uint* n_left) {
  __local long2 scratch[GROUP_SIZE];
  const Chunk c = ((__global const Chunk*)step)[get_group_id(0)];
  const Job job = ((__global const Job*)(step + jobs_at))[c.owner];
  __global const uchar* sides = (__global const uchar*)(step + sides_at);
  __global const uint* rows = c.buffer & 1 ? rows1 : rows0;
  __global const uchar* own = sides + c.owner * SIDE_CODES;
  uint count = 0;
  if (job.column != ROW_LIST) {
    __global const uchar* column = columns + job.column * n_rows;
    if (c.buffer & LISTED) {
      for (uint i = c.begin + get_local_id(0); i < c.begin + c.n; i += GROUP_SIZE) {
        const uchar side = own[column[rows[i]]];
        left[i] = side;
        count += side;
      }
    } else {
      for (uint i = c.begin + get_local_id(0); i < c.begin + c.n; i += GROUP_SIZE) {
        const uchar side = own[column[i]];
        left[i] = side;
        count += side;
      }
    }
  } else {
    for (uint i = c.begin + get_local_id(0); i < c.begin + c.n; i += GROUP_SIZE) {
      const uchar side = side_of(job, own, columns, n_rows, list_begin, list_bins, row_at(rows, c, i));
      left[i] = side;
      count += side;
    }
  }
  const long2 total = sum_group((long2)(count, 0), scratch);
  if (get_local_id(0) == 0) n_left[get_group_id(0)] = (uint)total.x;
}

// Moves rows to the children of their nodes, in their order.
//   chunks  (n_chunks,), as for `decide`                                                       IN
//   places  (n_chunks, 2): where the rows of a chunk go, left and right                        IN
//   left    (n_rows,): by position                                                             IN
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void move_rows(
    __global const Chunk* chunks, __global const uint2* places, __global const uchar* left, __global uint* rows0, __global uint* rows1,
    __global Gradient* gradients0, __global Gradient* gradients1) {
  const Chunk c = chunks[get_group_id(0)];
  const bool second = c.buffer & 1;
  __global const uint* from_rows = second ? rows1 : rows0;
  __global const Gradient* from = second ? gradients1 : gradients0;
  __global uint* to_rows = second ? rows0 : rows1;
  __global Gradient* to = second ? gradients0 : gradients1;
  uint2 at = places[get_group_id(0)];
#if GROUP_SIZE == 1
  for (uint i = c.begin; i < c.begin + c.n; ++i) {
    const uint side = left[i], to_at = side ? at.x : at.y;
    to_rows[to_at] = row_at(from_rows, c, i);
    to[to_at] = from[i];
    at.x += side;
    at.y += 1 - side;
  }
#else
  __local uint before[GROUP_SIZE];  // number of rows on the left, up to and with each work-item's
  const uint lid = get_local_id(0);
  for (uint tile = 0; tile < c.n; tile += GROUP_SIZE) {
    const uint i = c.begin + tile + lid, n = min((uint)GROUP_SIZE, c.n - tile);
    const uint side = lid < n ? left[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    before[lid] = side;
    for (uint step = 1; step < GROUP_SIZE; step *= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint more = lid >= step ? before[lid - step] : 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      before[lid] += more;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < n) {
      const uint n_before = before[lid] - side, to_at = side ? at.x + n_before : at.y + lid - n_before;
      to_rows[to_at] = row_at(from_rows, c, i);
      to[to_at] = from[i];
    }
    at.x += before[n - 1];
    at.y += n - before[n - 1];
  }
#endif
}

// Sums rows in the units of histograms: those that `left` marks, and all of them.
//   sums  (n_chunks, 2, 2): gradient, hessian   OUT
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void sum_sides(
    __global const Chunk* chunks, __global const uchar* left, __global const Gradient* gradients0, __global const Gradient* gradients1,
    const Format format, __global long2* sums) {
  __local long2 scratch[GROUP_SIZE];
  const Chunk c = chunks[get_group_id(0)];
  __global const Gradient* gradients = c.buffer & 1 ? gradients1 : gradients0;
  long2 on_left = (long2)(0, 0), all = (long2)(0, 0);
  for (uint i = c.begin + get_local_id(0); i < c.begin + c.n; i += GROUP_SIZE) {
    const long2 units = units_of(gradients[i], format);
    all += units;
    on_left += left[i] ? units : (long2)(0, 0);
  }
  on_left = sum_group(on_left, scratch);
  all = sum_group(all, scratch);
  if (get_local_id(0) == 0) {
    sums[2 * get_group_id(0)] = on_left;
    sums[2 * get_group_id(0) + 1] = all;
  }
}

static inline void write_leaf(__global uchar* leaf_of_row, const uint leaf_size, uint row, uint leaf) {
  if (leaf_size == 1) leaf_of_row[row] = (uchar)leaf;
  if (leaf_size == 2) ((__global ushort*)leaf_of_row)[row] = (ushort)leaf;
  if (leaf_size == 4) ((__global uint*)leaf_of_row)[row] = leaf;
}

// Sums the exact gradients of the rows of leaves. Writes the leaf of each row, unless the tree was grown on a sample.
//   chunks       (n_chunks,): owner is the number of the leaf   IN
//   leaf_of_row  (n_rows,) of `leaf_size` bytes                 OUT
//   sums         (n_chunks, 2): gradient, hessian               OUT
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void sum_leaves(
    __global const Chunk* chunks, __global const uint* rows0, __global const uint* rows1, __global const Gradient* gradients0,
    __global const Gradient* gradients1, const uint sampled, const uint leaf_size, __global uchar* leaf_of_row, __global long2* sums) {
  __local long2 scratch[GROUP_SIZE];
  const Chunk c = chunks[get_group_id(0)];
  __global const uint* rows = c.buffer & 1 ? rows1 : rows0;
  __global const Gradient* gradients = c.buffer & 1 ? gradients1 : gradients0;
  long2 sum = (long2)(0, 0);
  for (uint i = c.begin + get_local_id(0); i < c.begin + c.n; i += GROUP_SIZE) {
    sum += exact_of(gradients[i]);
    if (!sampled) write_leaf(leaf_of_row, leaf_size, row_at(rows, c, i), c.owner);
  }
  sum = sum_group(sum, scratch);
  if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;
}

// Sends all rows down a tree that was grown on a sample.
//   step  children, (n_nodes, 2): left and right, of a leaf ROW_LIST and its number; from jobs_at on, Job (n_nodes,); from sides_at on,
//         (n_nodes, SIDE_CODES)   IN
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void find_leaves(
    __global const uint* step, const uint jobs_at, const uint sides_at, __global const uchar* columns, const ulong n_rows,
    const uint chunk_rows, __global const uint* list_begin, __global const uint* list_bins, const uint leaf_size,
    __global uchar* leaf_of_row) {
  __global const uint2* children = (__global const uint2*)step;
  __global const Job* jobs = (__global const Job*)(step + jobs_at);
  __global const uchar* sides = (__global const uchar*)(step + sides_at);
  const ulong first = (ulong)get_group_id(0) * chunk_rows, end = min(n_rows, first + chunk_rows);
  for (ulong row = first + get_local_id(0); row < end; row += GROUP_SIZE) {
    uint node = 0;
    while (children[node].x != ROW_LIST) {
      const uchar left = side_of(jobs[node], sides + node * SIDE_CODES, columns, n_rows, list_begin, list_bins, (uint)row);
      node = left ? children[node].x : children[node].y;
    }
    write_leaf(leaf_of_row, leaf_size, (uint)row, children[node].y);
  }
}
