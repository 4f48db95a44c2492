#include "fluidcore/ops/strided_kernels.h"

#include <cstring>
#include <memory>
#include <utility>

#include "fluidcore/base/bytes.h"
#include "fluidcore/kernels/cuda/copy.h"
#include "fluidcore/ops/bytes.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

Shape with_rank(const Shape& shape, std::size_t rank) {
  std::vector<std::int64_t> extents(rank - shape.rank(), 1);
  extents.insert(extents.end(), shape.begin(), shape.end());
  return Shape(std::move(extents));
}

Kernel take_segments(const KernelContext& context, SegmentsOf segments) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const Shape from = with_rank(x.shape(), out.shape().rank());
  const auto pairs = std::make_shared<const std::vector<cpu::StridedPair>>(
      cpu::strided_pairs(out.shape(), from, segments(context, from, out.shape())));
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const std::vector<cuda::StridedCopy> copies(pairs->begin(), pairs->end());
      return Kernel::enqueued([=, &device = context.device(), bytes = size_of(x.spec().dtype)] {
        for (const cuda::StridedCopy& copy : copies) {
          cuda::copy_strided(device, copy, out.data(), x.data(), bytes);
        }
      });
    }
  }
  return [=, bytes = size_of(x.spec().dtype)] {
    for (const cpu::StridedPair& pair : *pairs) pair.copy(out.data(), x.data(), bytes);
  };
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
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      const std::vector<cuda::StridedCopy> copies(pairs.begin(), pairs.end());
      return Kernel::enqueued([=, &device = context.device(), all = dx.spec()] {
        device.zero(dx.data(), byte_size(all));
        for (const cuda::StridedCopy& copy : copies) {
          cuda::copy_strided(device, copy, dx.data(), dout.data(), size_of(all.dtype));
        }
      });
    }
  }
  return
      [=, pairs = std::move(pairs), all = bytes_of(dx.spec()), bytes = size_of(dx.spec().dtype)] {
        zero_bytes(dx.data(), all);
        for (const cpu::StridedPair& pair : pairs) pair.copy(dx.data(), dout.data(), bytes);
      };
}

}  // namespace fluidcore
