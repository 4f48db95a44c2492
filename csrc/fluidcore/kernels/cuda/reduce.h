#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/kernels/cpu/reduce.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/reduce_operations.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::cuda {

// Where element i of some dimensions is.
class StridedIndex {
 public:
  explicit StridedIndex(const std::vector<cpu::ReduceDim>& dims)
      : rank_(static_cast<int>(dims.size())) {
    require(dims.size() <= kMostDims, "reduce: on a CUDA device at most ", kMostDims,
            " groups of dimensions may be reduced or kept, got ", dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) dims_[d] = dims[d];
  }

  FC_HOST_DEVICE bool has_dims() const { return rank_ > 0; }
  FC_HOST_DEVICE std::int64_t operator()(std::int64_t i) const {
    std::int64_t offset = 0;
    for (int d = rank_ - 1; d >= 0; --d) {
      const std::int64_t outer = d == 0 ? 0 : i / dims_[d].extent;
      offset += (i - outer * dims_[d].extent) * dims_[d].stride;
      i = outer;
    }
    return offset;
  }

 private:
  static constexpr std::size_t kMostDims = 6;

  int rank_;
  cpu::ReduceDim dims_[kMostDims] = {};
};

// Element i of a tensor.
template <class T>
struct Elements {
  const T* data;

  FC_HOST_DEVICE ComputeType<T> operator()(std::int64_t i) const {
    return static_cast<ComputeType<T>>(data[i]);
  }
};

// What a reduction of some dimensions is over: a result is made of `count` elements.
struct ReducedElements {
  ReducedElements(const Shape& in, const std::vector<bool>& reduced)
      : ReducedElements(cpu::ReduceNest(in, reduced)) {}
  explicit ReducedElements(const cpu::ReduceNest& nest)
      : kept(nest.kept),
        reduced(nest.reduced),
        row(nest.row),
        row_is_reduced(nest.row_is_reduced),
        results(nest.kept_count * (nest.row_is_reduced ? 1 : nest.row)),
        count(nest.reduced_count * (nest.row_is_reduced ? nest.row : 1)) {}

  // Where element k of a result is.
  FC_HOST_DEVICE std::int64_t at(std::int64_t result, std::int64_t k) const {
    if (!row_is_reduced) return kept(result / row) + result % row + reduced(k);
    const std::int64_t outer = k / row;
    return kept(result) + reduced(outer) + (k - outer * row);
  }

  StridedIndex kept;
  StridedIndex reduced;
  std::int64_t row;
  bool row_is_reduced;
  std::int64_t results;
  std::int64_t count;
};

// The gradient of a maximum, or minimum: that of the result for the first element that is it, 0 for
// the others. `dx` may be x.
template <bool of_minimum>
struct ExtremeGrad {
  ReducedElements elements;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(
      Index result, const T* x, const T* out, const T* dout, T* dx) const {
    using C = ComputeType<T>;
    const C limit = static_cast<C>(out[result]);
    bool is_found = false;
    for (std::int64_t k = 0; k < elements.count; ++k) {
      const std::int64_t at = elements.at(result, k);
      const C value = static_cast<C>(x[at]);
      const bool is_inside = of_minimum ? value > limit : value < limit;
      dx[at] = is_found || is_inside ? static_cast<T>(C(0)) : dout[result];
      is_found = is_found || !is_inside;
    }
  }
};

// What `values` have where x has the first maximum.
struct PickMaximum {
  ReducedElements elements;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(
      Index result, const T* x, const T* out, const T* values, T* picked) const {
    using C = ComputeType<T>;
    std::int64_t k = 0;
    while (k + 1 < elements.count &&
           static_cast<C>(x[elements.at(result, k)]) < static_cast<C>(out[result])) {
      ++k;
    }
    picked[result] = values[elements.at(result, k)];
  }
};

// The gradient of a product: what all elements but one give together, in float64 and without
// dividing. `before` is memory for as many numbers as x has; `dx` may be x.
struct ProductGrad {
  ReducedElements elements;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(
      Index result, const T* x, const T* dout, double* before, T* dx) const {
    double product = 1;
    for (std::int64_t k = 0; k < elements.count; ++k) {
      const std::int64_t at = elements.at(result, k);
      before[at] = product;
      product *= static_cast<double>(x[at]);
    }
    double behind = 1;
    for (std::int64_t k = elements.count; k-- > 0;) {
      const std::int64_t at = elements.at(result, k);
      const auto value = static_cast<double>(x[at]);
      dx[at] = static_cast<T>(before[at] * behind * static_cast<double>(dout[result]));
      behind *= value;
    }
  }
};

// The sum, maximum, minimum or product of load(i) over some dimensions of a shape, or whether any
// or all are true; see cpu::Reduction. The elements of one result are divided into parts of which
// each thread combines every so-manieth element, in an order that depends on the shape alone: the
// same bits in every run.
template <class Operation, class T, class Out = T>
class Reduction {
 public:
  Reduction(DeviceContext& device,
            const ScratchPtr& scratch,
            const Shape& in,
            const std::vector<bool>& reduced)
      : Reduction(device, scratch, ReducedElements(in, reduced)) {}
  Reduction(DeviceContext& device, ScratchPtr scratch, const ReducedElements& elements)
      : device_(device), scratch_(std::move(scratch)), shape_(elements) {
    constexpr std::int64_t kLeastPart = 1024;    // elements of a result, by rows
    constexpr std::int64_t kGroups = 1024;       // that keep a device busy
    constexpr std::int64_t kLeastOfThread = 16;  // elements of a result, by columns
    constexpr std::int64_t kThreads = std::int64_t{128} * 1024;
    const std::int64_t least = shape_.row_is_reduced ? kLeastPart : kLeastOfThread;
    const std::int64_t wanted =
        (shape_.row_is_reduced ? kGroups : kThreads) / std::max<std::int64_t>(shape_.results, 1);
    parts_ = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(shape_.count / least, 1));
    if (parts_ > 1) {
      scratch_->reserve(static_cast<std::size_t>(parts_ * shape_.results) * sizeof(Total));
    }
  }

  template <class Load>
  void run(const Load& load, Out* out, double divisor = 1.0) const {
    auto* const partial = parts_ > 1 ? reinterpret_cast<Total*>(scratch_->data()) : nullptr;
    const std::int64_t tasks = shape_.results * parts_;
    if (shape_.row_is_reduced) {
      for_each_group(device_, tasks, shape_.count / parts_ + 1, Rows<Load>{load, shape_, parts_},
                     partial, out, divisor);
    } else {
      for_each(device_, tasks, Columns<Load>{load, shape_, parts_}, partial, out, divisor);
    }
    if (parts_ == 1) return;
    const Together together{shape_.results, parts_};
    const Total* const made = partial;
    if (shape_.results < parts_) {
      for_each_group(device_, shape_.results, parts_, together, made, out, divisor);
    } else {
      for_each(device_, shape_.results, together, made, out, divisor);
    }
  }

  // The bodies of kernels, which must be public.
  using Lane = typename Operation::template Lane<T>;
  using Total = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

  template <class Value>
  struct Both {
    FC_HOST_DEVICE Value operator()(Value a, Value b) const { return combine<Operation>(a, b); }
  };

  FC_HOST_DEVICE static void store(
      Lane value, std::int64_t parts, std::int64_t task, Total* partial, Out* out, double divisor) {
    if (parts == 1) {
      out[task] = finish<Out>(static_cast<Total>(value), divisor);
    } else {
      partial[task] = static_cast<Total>(value);
    }
  }

  template <class Load>
  struct Rows {
    Load load;
    ReducedElements shape;
    std::int64_t parts;

    FC_HOST_DEVICE void operator()(
        const Group& group, std::int64_t task, Total* partial, Out* out, double divisor) const {
      const std::int64_t part = task / shape.results;
      const std::int64_t result = task - part * shape.results;
      const std::int64_t begin = shape.count * part / parts;
      const std::int64_t end = shape.count * (part + 1) / parts;
      const std::int64_t first = shape.kept(result);
      const auto of_threads = [&](const auto& loaded) {
        return combined(identity<Operation, Lane>(), begin + group.rank(), end, group.size(),
                        loaded, Both<Lane>());
      };
      Lane lane;
      if (!shape.reduced.has_dims()) {  // one row: without divisions
        lane = of_threads([&](std::int64_t i) { return static_cast<Lane>(load(first + i)); });
      } else {
        lane = of_threads([&](std::int64_t i) {
          const std::int64_t outer = i / shape.row;
          return static_cast<Lane>(load(first + shape.reduced(outer) + (i - outer * shape.row)));
        });
      }
      lane = group.all(lane, Both<Lane>());
      if (group.rank() == 0) store(lane, parts, task, partial, out, divisor);
    }
  };

  template <class Load>
  struct Columns {
    Load load;
    ReducedElements shape;
    std::int64_t parts;

    template <class Index>
    FC_HOST_DEVICE void operator()(Index i, Total* partial, Out* out, double divisor) const {
      const std::int64_t task = i;
      const std::int64_t part = task / shape.results;
      const std::int64_t result = task - part * shape.results;
      const std::int64_t begin = shape.count * part / parts;
      const std::int64_t end = shape.count * (part + 1) / parts;
      const std::int64_t kept = result / shape.row;
      const std::int64_t first = shape.kept(kept) + (result - kept * shape.row);
      const Lane lane = combined(
          identity<Operation, Lane>(), begin, end, 1,
          [&](std::int64_t k) { return static_cast<Lane>(load(first + shape.reduced(k))); },
          Both<Lane>());
      store(lane, parts, task, partial, out, divisor);
    }
  };

  // The parts of a result, by one thread or, of few results, by a group.
  struct Together {
    std::int64_t results;
    std::int64_t parts;

    template <class Index>
    FC_HOST_DEVICE void operator()(Index i, const Total* partial, Out* out, double divisor) const {
      (*this)(Alone(), i, partial, out, divisor);
    }
    template <class Threads>
    FC_HOST_DEVICE void operator()(const Threads& threads,
                                   std::int64_t result,
                                   const Total* partial,
                                   Out* out,
                                   double divisor) const {
      Total total = combined(
          identity<Operation, Total>(), threads.rank(), parts, threads.size(),
          [&](std::int64_t part) { return partial[part * results + result]; }, Both<Total>());
      total = threads.all(total, Both<Total>());
      if (threads.rank() == 0) out[result] = finish<Out>(total, divisor);
    }
  };

 private:
  DeviceContext& device_;
  ScratchPtr scratch_;
  ReducedElements shape_;
  std::int64_t parts_ = 1;
};

}  // namespace fluidcore::cuda
