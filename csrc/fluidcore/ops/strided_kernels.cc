#include "fluidcore/ops/strided_kernels.h"

#include <cstring>
#include <memory>
#include <utility>

#include "fluidcore/kernels/cpu/copy.h"
#include "fluidcore/ops/bytes.h"
#include "fluidcore/ops/elementwise.h"

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
  return
      [=, pairs = std::move(pairs), all = bytes_of(dx.spec()), bytes = size_of(dx.spec().dtype)] {
        cpu::zero_bytes(dx.data(), all);
        for (const cpu::StridedPair& pair : pairs) pair.copy(dx.data(), dout.data(), bytes);
      };
}

}  // namespace fluidcore
