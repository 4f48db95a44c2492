#include "fluidcore/kernels/cpu/reduce.h"

#include <algorithm>
#include <array>
#include <limits>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kBlock = 16384;   // elements that become one partial result
constexpr std::int64_t kSegment = 1024;  // elements that are added before a total is updated
constexpr std::int64_t kColumns = 256;   // columns that are reduced together
constexpr std::int64_t kRows = 64;       // rows that are added before the totals are updated
constexpr std::int64_t kAtOnce = 4;      // rows that are combined in one pass over the lanes
constexpr std::int64_t kFewResults = 64;
constexpr std::int64_t kResults = 64;  // rows that are reduced in one call

// Where element `index` of the dimensions begins. Not inline in every loop of every instruction
// set.
[[gnu::noinline]] std::int64_t offset(const std::vector<ReduceDim>& dims, std::int64_t index) {
  if (dims.empty()) return 0;
  std::int64_t sum = 0;
  for (std::size_t axis = dims.size() - 1; axis > 0; --axis) {
    const std::int64_t outer = index / dims[axis].extent;
    sum += (index - outer * dims[axis].extent) * dims[axis].stride;
    index = outer;
  }
  return sum + index * dims[0].stride;
}

// An element that changes nothing.
template <class Operation, class T>
T neutral() {
  if constexpr (std::is_integral_v<T>) {
    return identity<Operation, T>();
  } else {
    return static_cast<T>(identity<Operation, ComputeType<T>>());
  }
}

// The greatest or least of adjacent elements: without NaNs, which are counted beside it, as one
// instruction for each.
template <class Operation, class T>
T extreme_of_segment(const T* in, std::int64_t count) {
  constexpr int kLanes = 32;
  const auto better = [](T a, T b) {
    return std::is_same_v<Operation, MaxOf> ? (a > b ? a : b) : (a < b ? a : b);
  };
  std::array<T, kLanes> lanes;
  std::array<int, kLanes> is_nan;
  for (int lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = identity<Operation, T>();
    is_nan[lane] = 0;
  }
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = better(in[i + lane], lanes[lane]);
      is_nan[lane] |= in[i + lane] != in[i + lane] ? 1 : 0;
    }
  }
  T result = identity<Operation, T>();
  for (; i < count; ++i) result = combine<Operation>(result, in[i]);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] = better(lanes[lane], lanes[lane + width]);
      is_nan[lane] |= is_nan[lane + width];
    }
  }
  const T found = is_nan[0] != 0 ? std::numeric_limits<T>::quiet_NaN() : lanes[0];
  return combine<Operation>(result, found);
}

// One result from `count` adjacent elements, in as many lanes as the widest registers have.
template <class Operation, class T>
typename Operation::template Lane<T> reduce_segment(const T* in, std::int64_t count) {
  using Lane = typename Operation::template Lane<T>;
  constexpr int kLanes = 32;
  std::array<Lane, kLanes> lanes;
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = identity<Operation, Lane>();
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = combine<Operation>(lanes[lane], static_cast<Lane>(in[i + lane]));
    }
  }
  Lane result = identity<Operation, Lane>();
  for (; i < count; ++i) result = combine<Operation>(result, static_cast<Lane>(in[i]));
  if (count < kLanes) return result;
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] = combine<Operation>(lanes[lane], lanes[lane + width]);
    }
  }
  return combine<Operation>(result, lanes[0]);
}

template <class Operation>
constexpr bool kIsExtreme = std::is_same_v<Operation, MaxOf> || std::is_same_v<Operation, MinOf>;

template <class Operation>
constexpr std::int64_t segment_size() {
  return kIsExtreme<Operation> ? kBlock : kSegment;
}

template <class Operation, class T>
auto segment_total(const T* in, std::int64_t count) {
  if constexpr (kIsExtreme<Operation> && std::is_floating_point_v<T>) {
    return extreme_of_segment<Operation>(in, count);
  } else {
    return reduce_segment<Operation>(in, count);
  }
}

// What becomes of the elements [at, end) of a result, the first of which is at `base`.
template <class Operation, class T, class Total>
Total row_total(const ReduceNest& nest, const T* base, std::int64_t at, std::int64_t end) {
  Total total = identity<Operation, Total>();
  while (at < end) {
    const std::int64_t row = at / nest.row;
    const std::int64_t column = at - row * nest.row;
    const std::int64_t count = std::min({nest.row - column, end - at, segment_size<Operation>()});
    const T* segment = base + offset(nest.reduced, row) + column;
    total = combine<Operation>(total, static_cast<Total>(segment_total<Operation>(segment, count)));
    at += count;
  }
  return total;
}

// Parts [first, last) of the results, each of which is made of `blocks`.
template <class Operation, class T, class Total>
void row_totals(Isa isa,
                const ReduceNest& nest,
                std::int64_t blocks,
                std::int64_t first,
                std::int64_t last,
                const T* in,
                Total* totals) {
  run_on(isa, [=, &nest] {
    const std::int64_t elements = nest.reduced_count * nest.row;
    const std::int64_t block = divide_up(elements, blocks);
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t result = task / blocks;
      const std::int64_t at = (task - result * blocks) * block;
      totals[task - first] = row_total<Operation, T, Total>(nest, in + offset(nest.kept, result),
                                                            at, std::min(at + block, elements));
    }
  });
}

// The totals of `count` <= kColumns columns from `base` on, over rows [begin, end).
template <class Operation, class T, class Total>
void column_totals(Isa isa,
                   const ReduceNest& nest,
                   std::int64_t begin,
                   std::int64_t end,
                   std::int64_t count,
                   const T* base,
                   Total* totals) {
  using Lane = typename Operation::template Lane<T>;
  run_on(isa, [=, &nest] {
    std::array<Lane, kColumns> lanes;
    std::array<T, kColumns> nothing;
    nothing.fill(neutral<Operation, T>());
    for (std::int64_t i = 0; i < count; ++i) totals[i] = identity<Operation, Total>();
    std::int64_t row = begin;
    while (row < end) {
      for (std::int64_t i = 0; i < count; ++i) lanes[i] = identity<Operation, Lane>();
      // Several rows at once, so that lanes are read and written less often.
      for (const std::int64_t stop = std::min(row + kRows, end); row < stop; row += kAtOnce) {
        std::array<const T*, kAtOnce> lines;
        for (std::int64_t k = 0; k < kAtOnce; ++k) {
          lines[k] = row + k < stop ? base + offset(nest.reduced, row + k) : nothing.data();
        }
        const auto [a, b, c, d] = lines;
        for (std::int64_t i = 0; i < count; ++i) {
          const Lane left = combine<Operation>(static_cast<Lane>(a[i]), static_cast<Lane>(b[i]));
          const Lane right = combine<Operation>(static_cast<Lane>(c[i]), static_cast<Lane>(d[i]));
          lanes[i] = combine<Operation>(lanes[i], combine<Operation>(left, right));
        }
      }
      for (std::int64_t i = 0; i < count; ++i) {
        totals[i] = combine<Operation>(totals[i], static_cast<Total>(lanes[i]));
      }
    }
  });
}

}  // namespace

ReduceNest::ReduceNest(const Shape& in, const std::vector<bool>& is_reduced) {
  struct Merged {
    ReduceDim dim;
    bool reduced;
  };
  std::vector<Merged> dims;  // innermost first
  std::int64_t stride = 1;
  for (std::size_t axis = in.rank(); axis-- > 0;) {
    if (in[axis] == 1) continue;
    if (!dims.empty() && dims.back().reduced == is_reduced[axis]) {
      dims.back().dim.extent *= in[axis];
    } else {
      dims.push_back({{in[axis], stride}, is_reduced[axis]});
    }
    stride *= in[axis];
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    auto& [dim, is_inside] = dims[i];
    if (i == 0) {
      row = dim.extent;
      row_is_reduced = is_inside;
    } else {
      (is_inside ? reduced : kept).insert((is_inside ? reduced : kept).begin(), dim);
      (is_inside ? reduced_count : kept_count) *= dim.extent;
    }
  }
}

template <class Operation, class T, class Out>
Reduction<Operation, T, Out>::Reduction(const Shape& in, const std::vector<bool>& reduced, Isa isa)
    : nest_(in, reduced), isa_(isa) {
  // Many results give every thread enough to do; few are divided.
  std::int64_t results = nest_.kept_count;
  std::int64_t elements = nest_.reduced_count * nest_.row;
  if (!nest_.row_is_reduced) {
    results *= divide_up(nest_.row, kColumns);
    elements = nest_.reduced_count * std::min(nest_.row, kColumns);
  }
  if (results < kFewResults) blocks_ = std::max<std::int64_t>(1, divide_up(elements, kBlock));
  if (blocks_ > 1) {
    const std::int64_t outputs = nest_.kept_count * (nest_.row_is_reduced ? 1 : nest_.row);
    partial_.resize(static_cast<std::size_t>(outputs * blocks_));
  }
}

template <class Operation, class T, class Out>
void Reduction<Operation, T, Out>::run(const T* in, Out* out, double divisor) {
  if (nest_.row_is_reduced) {
    run_rows(in, out, divisor);
  } else {
    run_columns(in, out, divisor);
  }
}

template <class Operation, class T, class Out>
void Reduction<Operation, T, Out>::reduce_rows(std::int64_t first,
                                               std::int64_t last,
                                               const T* in,
                                               Total* partial,
                                               Out* out,
                                               double divisor) const {
  if (blocks_ > 1) {
    return row_totals<Operation>(isa_, nest_, blocks_, first, last, in, partial + first);
  }
  std::array<Total, kResults> totals;
  for (; first < last; first += kResults) {
    const std::int64_t count = std::min(kResults, last - first);
    row_totals<Operation>(isa_, nest_, 1, first, first + count, in, totals.data());
    for (std::int64_t i = 0; i < count; ++i) out[first + i] = finish<Out>(totals[i], divisor);
  }
}

template <class Operation, class T, class Out>
void Reduction<Operation, T, Out>::run_rows(const T* in, Out* out, double divisor) {
  const std::int64_t blocks = blocks_;
  const std::int64_t elements = nest_.reduced_count * nest_.row;
  Total* partial = partial_.data();
  const std::int64_t grain = kGrain * blocks / std::max<std::int64_t>(elements, 1);
  parallel_for(nest_.kept_count * blocks, grain, [&](std::int64_t first, std::int64_t last) {
    reduce_rows(first, last, in, partial, out, divisor);
  });
  if (blocks == 1) return;
  for (std::int64_t result = 0; result < nest_.kept_count; ++result) {
    Total total = identity<Operation, Total>();
    for (std::int64_t i = 0; i < blocks; ++i) {
      total = combine<Operation>(total, partial[result * blocks + i]);
    }
    out[result] = finish<Out>(total, divisor);
  }
}

template <class Operation, class T, class Out>
void Reduction<Operation, T, Out>::run_part(std::int64_t count,
                                            const T* in,
                                            Out* out,
                                            double divisor) const {
  reduce_rows(0, count, in, nullptr, out, divisor);
}

template <class Operation, class T, class Out>
void Reduction<Operation, T, Out>::run_columns(const T* in, Out* out, double divisor) {
  const std::int64_t blocks = blocks_;
  const std::int64_t chunks = divide_up(nest_.row, kColumns);
  const std::int64_t block = divide_up(nest_.reduced_count, blocks);  // in rows
  const std::int64_t outputs = nest_.kept_count * nest_.row;
  Total* partial = partial_.data();
  const std::int64_t grain =
      kGrain / std::max<std::int64_t>(block * std::min(nest_.row, kColumns), 1);
  const std::int64_t tasks = nest_.kept_count * chunks * blocks;
  parallel_for(tasks, grain, [&](std::int64_t first, std::int64_t last) {
    std::array<Total, kColumns> totals;
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t chunk = task / blocks;
      const std::int64_t part = task - chunk * blocks;
      const std::int64_t kept = chunk / chunks;
      const std::int64_t column = (chunk - kept * chunks) * kColumns;
      const std::int64_t count = std::min(kColumns, nest_.row - column);
      const std::int64_t row = part * block;
      const std::int64_t to = kept * nest_.row + column;
      column_totals<Operation>(isa_, nest_, row, std::min(row + block, nest_.reduced_count), count,
                               in + offset(nest_.kept, kept) + column,
                               blocks == 1 ? totals.data() : partial + part * outputs + to);
      if (blocks > 1) continue;
      for (std::int64_t i = 0; i < count; ++i) out[to + i] = finish<Out>(totals[i], divisor);
    }
  });
  if (blocks == 1) return;
  for (std::int64_t b = 1; b < blocks; ++b) {
    const Total* more = partial + b * outputs;
    for (std::int64_t i = 0; i < outputs; ++i) partial[i] = combine<Operation>(partial[i], more[i]);
  }
  for (std::int64_t i = 0; i < outputs; ++i) out[i] = finish<Out>(partial[i], divisor);
}

template class Reduction<SumOf, float>;
template class Reduction<SumOf, double>;
template class Reduction<SumOf, BFloat16>;
template class Reduction<SumOf, float, BFloat16>;
template class Reduction<SumOf, std::int32_t>;
template class Reduction<SumOf, std::int64_t>;
template class Reduction<MaxOf, float>;
template class Reduction<MaxOf, double>;
template class Reduction<MaxOf, BFloat16>;
template class Reduction<MaxOf, std::int64_t>;
template class Reduction<MinOf, float>;
template class Reduction<MinOf, double>;
template class Reduction<MinOf, std::int64_t>;
template class Reduction<ProductOf, float>;
template class Reduction<ProductOf, double>;
template class Reduction<ProductOf, std::int64_t>;
template class Reduction<AnyOf, bool>;
template class Reduction<AllOf, bool>;
#ifdef FLUIDCORE_WITH_CUDA  // whose factories have it, and are compiled for the CPU too
template class Reduction<SumOf, Float16>;
template class Reduction<SumOf, float, Float16>;
#endif

}  // namespace fluidcore::cpu
