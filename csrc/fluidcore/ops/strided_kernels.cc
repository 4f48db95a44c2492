#include "fluidcore/ops/strided_kernels.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "fluidcore/kernels/cpu/transpose.h"
#include "fluidcore/kernels/cuda/copy.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// Dimension d of the result is dimension axes[d] of the other.
std::vector<cpu::StridedAxis> permuted_axes(const Shape& from,
                                            const std::vector<std::size_t>& axes) {
  std::vector<cpu::StridedAxis> dims(axes.size());
  std::int64_t stride = 1;
  for (std::size_t d = axes.size(); d-- > 0;) {
    dims[d] = {from[axes[d]], stride, from.product(axes[d] + 1, from.rank())};
    stride *= from[axes[d]];
  }
  return dims;
}

}  // namespace

Shape with_rank(const Shape& shape, std::size_t rank) {
  std::vector<std::int64_t> extents(rank - shape.rank(), 1);
  extents.insert(extents.end(), shape.begin(), shape.end());
  return Shape(std::move(extents));
}

Kernel copy_pairs(const KernelContext& context,
                  const std::vector<cpu::StridedPair>& pairs,
                  Arg<const void> from,
                  Arg<void> to) {
  const std::size_t bytes = size_of(from.spec().dtype);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const std::vector<cuda::StridedCopy> copies(pairs.begin(), pairs.end());
      return Kernel::enqueued([=, &device = context.device()] {
        for (const cuda::StridedCopy& copy : copies) {
          cuda::copy_strided(device, copy, to.data(), from.data(), bytes);
        }
      });
    }
  }
  return [=] {
    for (const cpu::StridedPair& pair : pairs) pair.copy(to.data(), from.data(), bytes);
  };
}

Kernel take_segments(const KernelContext& context, SegmentsOf segments) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const Shape from = with_rank(x.shape(), out.shape().rank());
  return copy_pairs(
      context, cpu::strided_pairs(out.shape(), from, segments(context, from, out.shape())), x, out);
}

Kernel return_segments(const KernelContext& context, SegmentsOf segments) {
  if (!context.has_output("X@GRAD")) return nothing_to_do();
  const auto dx = context.raw_output("X@GRAD");
  const auto dout = context.raw_input("Out@GRAD");
  const Shape from = with_rank(dx.shape(), dout.shape().rank());
  std::vector<cpu::StridedPair> pairs;
  for (const cpu::StridedPair& pair :
       cpu::strided_pairs(dout.shape(), from, segments(context, from, dout.shape()))) {
    pairs.push_back(pair.reversed());
  }
  const Kernel copies = copy_pairs(context, pairs, dout, dx);
  return work_kernel(context, [=, &device = context.device(), all = byte_size(dx.spec())] {
    device.zero(dx.data(), all);
    copies();
  });
}

Kernel permute(const KernelContext& context,
               Arg<const void> from,
               Arg<void> to,
               const Shape& shape,
               const std::vector<std::size_t>& axes) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device(),
                               copy = cuda::StridedCopy({permuted_axes(shape, axes), 0, 0}),
                               bytes = size_of(from.spec().dtype)] {
        cuda::copy_strided(device, copy, to.data(), from.data(), bytes);
      });
    }
  }
  const auto permuted =
      std::make_shared<const cpu::Transpose>(shape, axes, size_of(from.spec().dtype));
  Permutation permutation{from.cell(), to.cell(), {}};
  for (const cpu::StridedAxis& axis : permuted_axes(shape, axes)) {
    permutation.dims.push_back({axis.extent, axis.from, axis.to});
  }
  return {[=] { permuted->run(to.data(), from.data()); }, std::move(permutation)};
}

}  // namespace fluidcore
