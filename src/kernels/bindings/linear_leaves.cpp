// Linear leaves in training: the sums that their slopes come from, and the predictions of rows whose leaves are known.
#include <atomic>
#include <mutex>

#include "bindings/bindings.hpp"
#include "bindings/leaf_arrays.hpp"
#include "grow/slope_sums.hpp"

namespace sapwood {
namespace {

// Calls f(leaf) with a pointer to the numbers of leaves.
template <class F>
void with_leaves(const Bytes& leaves, int leaf_size, F&& f) {
  if (leaf_size == 1) f(reinterpret_cast<const uint8_t*>(leaves.data()));
  if (leaf_size == 2) f(reinterpret_cast<const uint16_t*>(leaves.data()));
  if (leaf_size == 4) f(reinterpret_cast<const uint32_t*>(leaves.data()));
}

void check_leaves(const Bytes& leaves, int leaf_size, int64_t n_rows, int64_t n_leaves) {
  require(leaf_size == 1 || leaf_size == 2 || leaf_size == 4, "leaf_size must be 1, 2 or 4");
  require(int64_t(leaves.size()) == n_rows * leaf_size, "leaves must have one number for each row of the page");
  with_leaves(leaves, leaf_size, [&](auto* leaf) {
    int64_t most = -1;
    for (int64_t i = 0; i < n_rows; ++i) most = std::max(most, int64_t(leaf[i]));
    require(most < n_leaves, "leaf out of range");
  });
}

// Rows of a page with their gradients, and the inputs of the leaves that they are in.
struct SlopeCall {
  const OwnedPage& page;
  Bytes records, leaves;
  int leaf_size;
  std::optional<In<int64_t>> rows;
  In2<int32_t> slots;
  std::vector<CodeTable<int32_t>> levels;

  SlopeCall(const OwnedPage& page_, Bytes records_, Bytes leaves_, int leaf_size_, std::optional<In<int64_t>> rows_,
            const In<int32_t>& features, const In<int32_t>& all_levels, In2<int32_t> slots_)
      : page(page_), records(records_), leaves(leaves_), leaf_size(leaf_size_), rows(rows_), slots(slots_), levels(features.size()) {
    const int64_t n_rows = page.page.n_rows;
    const BinLayout& layout = *page.layout;
    require(slots.shape(1) >= 1 && slots.shape(1) <= size_t(kMaxSlots), "a leaf has 1 to 8 inputs");
    check_leaves(leaves, leaf_size, n_rows, n_leaves());
    require(records.size() == size_t(n_rows) * sizeof(Pair) || records.size() == size_t(n_rows) * sizeof(Single),
            "records must have 4 or 8 bytes for each row of the page");
    for (size_t i = 0; rows && i < rows->size(); ++i) require(rows->data()[i] >= 0 && rows->data()[i] < n_rows, "row out of range");
    for (size_t i = 0; i < slots.size(); ++i) require(slots.data()[i] >= -1 && slots.data()[i] < int(levels.size()), "input out of range");
    size_t at = 0;
    for (size_t i = 0; i < levels.size(); ++i) {
      const int32_t f = features.data()[i];
      require(f >= 0 && f < layout.n_features, "a feature is out of range");
      const int missing = layout.missing_bin[f];
      require(at + missing <= all_levels.size(), "there must be a level for each bin");
      const int32_t* own = all_levels.data() + at;
      for (int b = 0; b < missing; ++b) require(own[b] >= -kMaxLevel && own[b] <= kMaxLevel, "level out of range");
      levels[i].fill(layout.columns.features[f], missing + 1, [&](int b) { return b == missing ? kMissingLevel : own[b]; });
      at += size_t(missing);
    }
    require(at == all_levels.size(), "there are more levels than bins");
  }

  int64_t n_leaves() const { return int64_t(slots.shape(0)); }
  int n_slots() const { return int(slots.shape(1)); }
  SlopeRows slope_rows() const { return {page.page, page.layout->width, page.layout->stride, levels, slots.data(), n_slots()}; }

  // Calls add(row, leaf, record, sums) for all rows, with sums, (n_sums,) zeros, of each thread; then join(sums) of each, one at a time.
  template <class Sum, class Add, class Join>
  void over_rows(int64_t n_sums, int n_threads, Add&& add, Join&& join) const {
    const int64_t n = rows ? int64_t(rows->size()) : page.page.n_rows;
    std::mutex joining;
    auto with_record = [&](auto* record) {
      with_leaves(leaves, leaf_size, [&](auto* leaf) {
        parallel(n < 2 * kRowBlock ? 1 : n_threads, (n + kRowBlock - 1) / kRowBlock, [&](int, Tasks& tasks) {
          std::vector<Sum> sums;
          for (int64_t task; (task = tasks.claim()) >= 0;) {
            if (sums.empty()) sums.resize(size_t(n_sums));
            for (int64_t i = task * kRowBlock; i < std::min(n, (task + 1) * kRowBlock); ++i) {
              const int64_t row = rows ? rows->data()[i] : i;
              add(row, int64_t(leaf[row]), record[row], sums.data());
            }
          }
          if (sums.empty()) return;
          std::lock_guard<std::mutex> guard(joining);
          join(sums.data());
        });
      });
    };
    if (records.size() == size_t(page.page.n_rows) * sizeof(Pair)) {
      with_record(reinterpret_cast<const Pair*>(records.data()));
    } else {
      with_record(reinterpret_cast<const Single*>(records.data()));
    }
  }
};

using Out3 = nb::ndarray<int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void slope_means(const OwnedPage& page, Bytes records, Bytes leaves, int leaf_size, In<int32_t> features, In<int32_t> levels,
                 In2<int32_t> slots, Out3 sums, Out3 most, int n_threads, std::optional<In<int64_t>> rows) {
  const SlopeCall call(page, records, leaves, leaf_size, rows, features, levels, slots);
  const int64_t n = call.n_leaves() * call.n_slots();
  require(sums.shape(0) == slots.shape(0) && sums.shape(1) == slots.shape(1) && sums.shape(2) == kMeanWords, "sums do not fit");
  require(most.shape(0) == slots.shape(0) && most.shape(1) == slots.shape(1) && most.shape(2) == 2, "most does not fit");
  require(n_threads > 0, "n_threads must be positive");
  const SlopeRows slope_rows = call.slope_rows();
  call.over_rows<MeanSum>(
      n, n_threads, [&](int64_t row, int64_t leaf, auto record, MeanSum* own) { add_to_means(slope_rows, row, leaf, record, own); },
      [&](const MeanSum* own) {
        for (int64_t i = 0; i < n; ++i) {
          if (own[i].count == 0) continue;
          int64_t *words = sums.data() + i * kMeanWords, *range = most.data() + i * 2;
          words[0] += own[i].count;
          words[1] += own[i].hessian;
          add_words(own[i].level, words + 2);
          range[0] = std::max(range[0], -int64_t(own[i].lowest));
          range[1] = std::max(range[1], int64_t(own[i].highest));
        }
      });
}

void slope_products(const OwnedPage& page, Bytes records, Bytes leaves, int leaf_size, In<int32_t> features, In<int32_t> levels,
                    In2<int32_t> slots, In2<int32_t> centers, Out3 sums, int n_threads, std::optional<In<int64_t>> rows) {
  const SlopeCall call(page, records, leaves, leaf_size, rows, features, levels, slots);
  const int64_t width = n_products(call.n_slots()), n = call.n_leaves() * width;
  require(centers.shape(0) == slots.shape(0) && centers.shape(1) == slots.shape(1), "centers do not fit");
  for (size_t i = 0; i < centers.size(); ++i) require(std::abs(int64_t(centers.data()[i])) <= kMaxLevel, "center out of range");
  require(sums.shape(0) == slots.shape(0) && int64_t(sums.shape(1)) == width && sums.shape(2) == kWideWords, "sums do not fit");
  require(n_threads > 0, "n_threads must be positive");
  const SlopeRows slope_rows = call.slope_rows();
  call.over_rows<int128>(
      n, n_threads,
      [&](int64_t row, int64_t leaf, auto record, int128* own) { add_to_products(slope_rows, row, leaf, record, centers.data(), own); },
      [&](const int128* own) {
        for (int64_t i = 0; i < n; ++i) add_words(own[i], sums.data() + i * kWideWords);
      });
}

using In3 = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

auto solve_slopes(In3 a, In2<double> b, In2<double> ridge) {
  const size_t n = b.shape(0), d = b.shape(1);
  require(d >= 1 && d <= size_t(kMaxSlots), "a leaf has 1 to 8 inputs");
  require(a.shape(0) == n && a.shape(1) == d && a.shape(2) == d && ridge.shape(0) == n && ridge.shape(1) == d, "equations do not fit");
  auto* x = new double[std::max<size_t>(1, n * d)];
  nb::capsule owner(x, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  for (size_t i = 0; i < n; ++i) solve_ridge(a.data() + i * d * d, b.data() + i * d, ridge.data() + i * d, int(d), x + i * d);
  return nb::ndarray<nb::numpy, double, nb::ndim<2>>(x, {n, d}, owner);
}

// raw (n_rows,) += what each row's leaf adds; the nodes of the arrays are the leaves.
void add_linear_leaves(const OwnedPage& page, Bytes leaves, int leaf_size, const OwnedLeaves& owned,
                       nb::ndarray<double, nb::device::cpu> raw, int n_threads) {
  const Planes to = as_planes(raw);
  const BinLayout& layout = *page.layout;
  require(to.n_outputs == 1 && to.n == page.page.n_rows, "raw must have one number for each row of the page");
  const int64_t n_leaves = int64_t(owned.value.size());
  check_leaves(leaves, leaf_size, page.page.n_rows, n_leaves);
  const LeafArrays arrays = owned.arrays(n_leaves, 1);
  require(arrays.linear.n_slopes, "leaves must be linear");
  const Slopes slopes(arrays.linear, n_leaves);
  const std::vector<CodeTable<double>> inputs = input_tables(arrays.linear, layout.columns, layout.missing_bin.data(), layout.n_features);
  over_rows(page.page.n_rows, n_threads, [&](int64_t begin, int64_t end) {
    with_leaves(leaves, leaf_size, [&](auto* leaf) {
      for (int64_t row = begin; row < end; ++row) {
        double value = arrays.value[leaf[row]];
        for (const Slope *s = slopes.of(leaf[row]), *last = slopes.end_of(leaf[row]); s < last; ++s) {
          value += s->part(inputs[s->input].read(page.page, layout.width, layout.stride, row));
        }
        to.data[row] += value;
      }
    });
  });
}

}  // namespace

void bind_linear_leaves(nb::module_& m) {
  const auto release = nb::call_guard<Released>();
  m.attr("MAX_LEVEL") = kMaxLevel;
  m.def("slope_means", &slope_means, nb::kw_only(), "page"_a, "records"_a, "leaves"_a, "leaf_size"_a, "features"_a, "levels"_a, "slots"_a,
        "sums"_a, "most"_a, "n_threads"_a, "rows"_a = nb::none(), release,
        "Add the rows of a page to `sums` and `most` of the inputs in each leaf: rows, hessian and hessian * level (three words); the "
        "largest "
        "-level and level.");
  m.def("slope_products", &slope_products, nb::kw_only(), "page"_a, "records"_a, "leaves"_a, "leaf_size"_a, "features"_a, "levels"_a,
        "slots"_a, "centers"_a, "sums"_a, "n_threads"_a, "rows"_a = nb::none(), release,
        "Add the rows of a page to the normal equations of each leaf, three words for each sum.");
  m.def("solve_slopes", &solve_slopes, "a"_a, "b"_a, "ridge"_a,
        "Return the solutions, (n, d), of (a + ridge) x = -b for symmetric a, (n, d, d); 0 where a slope is not determined.");
  m.def("add_linear_leaves", &add_linear_leaves, nb::kw_only(), "page"_a, "leaves"_a, "leaf_size"_a, "values"_a, "raw"_a, "n_threads"_a,
        release, "Add what linear leaves say to the raw scores of a page's rows, whose leaves are known.");
}

}  // namespace sapwood
