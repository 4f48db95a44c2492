#include "fluidcore/op/permutation.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "fluidcore/base/dtype.h"

namespace fluidcore {

namespace {

// A dimension of a dense tensor, with its stride in another one.
struct Line {
  std::int64_t extent;
  std::int64_t stride;
};

// The dimensions of a dense tensor are taken from the last one on, each as the product of some of
// the `lines`, of which the last one taken may be cut.
class Taken {
 public:
  explicit Taken(std::vector<Line> lines) : rest_(std::move(lines)) {}

  // The stride of the next `extent` elements; nothing if they have none.
  std::optional<std::int64_t> take(std::int64_t extent) {
    std::optional<std::int64_t> stride;
    for (std::int64_t count = 1; count < extent;) {
      while (!rest_.empty() && rest_.back().extent == 1) rest_.pop_back();
      if (rest_.empty()) return std::nullopt;
      Line& line = rest_.back();
      const std::int64_t part = std::gcd(line.extent, extent / count);
      if (part != line.extent && part * count != extent) return std::nullopt;
      if (stride && line.stride != *stride * count) return std::nullopt;
      if (!stride) stride = line.stride;
      count *= part;
      line.extent /= part;
      line.stride *= part;
    }
    return stride.value_or(0);
  }

  // Where number `index` of what is left begins.
  std::int64_t offset(std::int64_t index) {
    std::int64_t offset = 0;
    for (; !rest_.empty(); rest_.pop_back()) {
      offset += index % rest_.back().extent * rest_.back().stride;
      index /= rest_.back().extent;
    }
    return offset;
  }

 private:
  std::vector<Line> rest_;  // outermost first
};

StridedCell dense(const Cell* cell) {
  const Shape& shape = cell->spec.shape;
  StridedCell result{cell, 0, std::vector<std::int64_t>(shape.rank())};
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    result.strides[d] = shape.product(d + 1, shape.rank());
  }
  return result;
}

// Where `lines` put the elements of `cell`, which begin `before` elements after theirs.
std::optional<StridedCell> along(const Cell* cell,
                                 std::vector<Line> lines,
                                 std::int64_t before,
                                 const Cell* there) {
  const Shape& shape = cell->spec.shape;
  const std::int64_t size = shape.num_elements();
  if (size == 0 || before % size != 0) return std::nullopt;
  Taken taken(std::move(lines));
  StridedCell result{there, 0, std::vector<std::int64_t>(shape.rank())};
  for (std::size_t d = shape.rank(); d-- > 0;) {
    const std::optional<std::int64_t> stride = taken.take(shape[d]);
    if (!stride) return std::nullopt;
    result.strides[d] = *stride;
  }
  result.first = taken.offset(before / size);
  return result;
}

// By the permutation of which `cell` is, or views, the tensor `own`.
std::optional<StridedCell> located(const Cell* cell,
                                   const std::vector<Permutation>& permutations,
                                   const Cell* Permutation::* own,
                                   std::int64_t Permutation::Dim::* own_stride,
                                   const Cell* Permutation::* other,
                                   std::int64_t Permutation::Dim::* other_stride) {
  for (const Permutation& permutation : permutations) {
    const Cell* whole = permutation.*own;
    if (owner_of(cell) != owner_of(whole)) continue;
    if (cell->offset < whole->offset) return std::nullopt;
    std::vector<Permutation::Dim> dims = permutation.dims;
    std::ranges::sort(dims, std::ranges::greater(), own_stride);
    std::vector<Line> lines;
    lines.reserve(dims.size());
    for (const Permutation::Dim& dim : dims) lines.push_back({dim.extent, dim.*other_stride});
    const std::size_t before = (cell->offset - whole->offset) / size_of(cell->spec.dtype);
    return along(cell, std::move(lines), static_cast<std::int64_t>(before), permutation.*other);
  }
  return dense(cell);
}

}  // namespace

std::optional<StridedCell> source_of(const Cell* cell,
                                     const std::vector<Permutation>& permutations) {
  return located(cell, permutations, &Permutation::to, &Permutation::Dim::to, &Permutation::from,
                 &Permutation::Dim::from);
}

std::optional<StridedCell> target_of(const Cell* cell,
                                     const std::vector<Permutation>& permutations) {
  return located(cell, permutations, &Permutation::from, &Permutation::Dim::from, &Permutation::to,
                 &Permutation::Dim::to);
}

}  // namespace fluidcore
