#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/error.h"
#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cuda/launch.h"

namespace fluidcore::cuda {

// out[i] = formula(in[i]...); 16-bit floats are calculated in float.
template <class Formula>
struct MapBody {
  Formula formula;

  template <class Index, class Out, class... In>
  FC_HOST_DEVICE void operator()(Index i, Out* out, const In*... in) const {
    out[i] = static_cast<Out>(formula(static_cast<ComputeType<In>>(in[i])...));
  }
};

// Neighbouring elements that one instruction loads or stores.
template <class T, int count>
struct alignas(sizeof(T) * count) Pack {
  T elements[count];
};

template <class Formula, int count>
struct PackedMapBody {
  Formula formula;

  template <class Index, class Out, class... In>
  FC_HOST_DEVICE void operator()(Index i,
                                 Pack<Out, count>* out,
                                 const Pack<In, count>*... in) const {
    out[i] = result<Out>(in[i]...);
  }

  template <class Out, class... In>
  FC_HOST_DEVICE Pack<Out, count> result(const Pack<In, count>... in) const {
    Pack<Out, count> made;
    for (int k = 0; k < count; ++k) {
      made.elements[k] = static_cast<Out>(formula(static_cast<ComputeType<In>>(in.elements[k])...));
    }
    return made;
  }
};

template <class Formula, class Out, class... In>
void map(
    DeviceContext& device, const Formula& formula, std::int64_t size, Out* out, const In*... in) {
  constexpr std::int64_t kWorthPacking = 1 << 16;
  constexpr std::size_t kWidest = std::max({sizeof(Out), sizeof(In)...});
  constexpr int kCount = static_cast<int>(16 / kWidest);
  const auto is_aligned = [](const auto* data) {
    return reinterpret_cast<std::uintptr_t>(data) % (sizeof(*data) * kCount) == 0;
  };
  std::int64_t packed = 0;
  if (kCount > 1 && size >= kWorthPacking && is_aligned(out) && (is_aligned(in) && ...)) {
    packed = size / kCount;
    for_each(device, packed, PackedMapBody<Formula, kCount>{formula},
             reinterpret_cast<Pack<Out, kCount>*>(out),
             reinterpret_cast<const Pack<In, kCount>*>(in)...);
  }
  const std::int64_t done = packed * kCount;
  for_each(device, size - done, MapBody<Formula>{formula}, out + done, (in + done)...);
}

// Where the operands of a cpu::BroadcastNest are read for element i of the output.
template <std::size_t operands>
class BroadcastIndex {
 public:
  // Throws InvalidArgument where too many dimensions differ.
  explicit BroadcastIndex(const cpu::BroadcastNest& nest)
      : rank_(static_cast<int>(nest.extents().size())) {
    require(nest.extents().size() <= kMostDims, "broadcast: on a CUDA device at most ", kMostDims,
            " dimensions may differ, got ", nest.extents().size());
    for (std::size_t d = 0; d < nest.extents().size(); ++d) {
      extents_[d] = nest.extents()[d];
      for (std::size_t k = 0; k < operands; ++k) strides_[k][d] = nest.strides(k)[d];
    }
  }

  template <class Index>
  FC_HOST_DEVICE void operator()(Index i, Index (&offsets)[operands]) const {
    for (std::size_t k = 0; k < operands; ++k) offsets[k] = 0;
    for (int d = rank_ - 1; d > 0; --d) {
      const auto extent = static_cast<Index>(extents_[d]);
      const Index outer = i / extent;
      const Index at = i - outer * extent;
      for (std::size_t k = 0; k < operands; ++k) {
        offsets[k] += at * static_cast<Index>(strides_[k][d]);
      }
      i = outer;
    }
    for (std::size_t k = 0; k < operands; ++k) {
      offsets[k] += i * static_cast<Index>(strides_[k][0]);
    }
  }

 private:
  static constexpr std::size_t kMostDims = 8;

  int rank_;
  std::int64_t extents_[kMostDims] = {};
  std::int64_t strides_[operands][kMostDims] = {};
};

// out[i] = formula(in[...]...), where `in` are the operands that `index` finds.
template <class Formula, std::size_t operands>
struct BroadcastBody {
  Formula formula;
  BroadcastIndex<operands> index;

  template <class Index, class Out, class... In>
  FC_HOST_DEVICE void operator()(Index i, Out* out, const In*... in) const {
    Index offsets[operands];
    index(i, offsets);
    out[i] = static_cast<Out>(result(offsets, std::index_sequence_for<In...>(), in...));
  }

 private:
  template <class Index, std::size_t... k, class... In>
  FC_HOST_DEVICE auto result(const Index (&offsets)[operands],
                             std::index_sequence<k...> /*all*/,
                             const In*... in) const {
    return formula(static_cast<ComputeType<In>>(in[offsets[k]])...);
  }
};

template <class Formula, class Out, class... In>
void broadcast(DeviceContext& device,
               const Formula& formula,
               const BroadcastIndex<sizeof...(In)>& index,
               std::int64_t size,
               Out* out,
               const In*... in) {
  for_each(device, size, BroadcastBody<Formula, sizeof...(In)>{formula, index}, out, in...);
}

// Element i of what broadcast() would write, for whoever reads it once.
template <class Formula, class... In>
struct BroadcastElements {
  Formula formula;
  BroadcastIndex<sizeof...(In)> index;
  std::tuple<const In*...> in;

  FC_HOST_DEVICE auto operator()(std::int64_t i) const {
    std::int64_t offsets[sizeof...(In)];
    index(i, offsets);
    return at(offsets, std::index_sequence_for<In...>());
  }

 private:
  template <std::size_t... k>
  FC_HOST_DEVICE auto at(const std::int64_t (&offsets)[sizeof...(In)],
                         std::index_sequence<k...> /*all*/) const {
    return formula(static_cast<ComputeType<In>>(std::get<k>(in)[offsets[k]])...);
  }
};

template <class Formula, class... In>
BroadcastElements<Formula, In...> broadcast_elements(const Formula& formula,
                                                     const BroadcastIndex<sizeof...(In)>& index,
                                                     const In*... in) {
  return {formula, index, {in...}};
}

}  // namespace fluidcore::cuda
