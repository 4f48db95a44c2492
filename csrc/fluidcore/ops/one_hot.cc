#include <array>
#include <cstring>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

namespace {

// The bytes of the number 1.
std::array<char, 8> one_as(DType dtype) {
  std::array<char, 8> bytes{};
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T one = static_cast<T>(ComputeType<T>(1));
    std::memcpy(bytes.data(), &one, sizeof one);
  });
  return bytes;
}

struct OneHot {
  cpu::RowIndex numbers;
  std::int64_t depth;

  template <class Index, class T>
  FC_HOST_DEVICE void operator()(Index i, T* out) const {
    const std::int64_t row = i / depth;
    out[i] = static_cast<T>(ComputeType<T>(i - row * depth == numbers[row] ? 1 : 0));
  }
};

Kernel one_hot(const KernelContext& context) {
  const auto out = context.raw_output("Out");
  const std::int64_t depth = context.attr<std::int64_t>("depth");
  const RowNumbers numbers(context, "X", {depth});
  const std::size_t element = size_of(out.spec().dtype);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return visit_dtype(out.spec().dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        return checked(
            numbers.input(), [=] { numbers.check(); },
            [=, &device = context.device()] {
              cuda::for_each(device, out.size(), OneHot{numbers.index(), depth},
                             static_cast<T*>(out.data()));
            });
      });
    }
  }
  const std::int64_t row_bytes = depth * static_cast<std::int64_t>(element);
  return [=, one = one_as(out.spec().dtype)] {
    const cpu::RowIndex found = numbers.checked();
    constexpr std::int64_t kGrainBytes = std::int64_t{1} << 17;
    parallel_for(
        numbers.size(), kGrainBytes / row_bytes, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            char* row = static_cast<char*>(out.data()) + i * row_bytes;
            std::memset(row, 0, static_cast<std::size_t>(row_bytes));
            std::memcpy(row + static_cast<std::size_t>(found[i]) * element, one.data(), element);
          }
        });
  };
}

void infer_one_hot(InferContext& context) {
  require_row_numbers(context, "X");
  Shape out = context.input("X").shape;
  if (out.rank() == 0) out = {1};  // a single number counts as [1]
  require(compatible(out.back(), 1), "one_hot: the last extent of X must be 1, got ", out);
  const std::int64_t depth = context.attr<std::int64_t>("depth");
  require(depth >= 1, "one_hot: depth must be at least 1, got ", depth);
  out[out.rank() - 1] = depth;
  context.set_output("Out", {out, dtype_from_number(context.attr<std::int64_t>("dtype"))});
}

}  // namespace

void register_one_hot_ops(OpRegistry& registry) {
  registry.add(
      OpDef("one_hot")
          .doc("Out = 1 at the position that X gives in its row, 0 elsewhere.")
          .input("X", "int32 or int64 [..., 1] or [], each in [0, depth)")
          .output("Out", "[..., depth], of the dtype of the attribute")
          .required_attr("depth", std::int64_t{1}, "last extent of Out, at least 1")
          .attr("dtype", static_cast<std::int64_t>(DType::kFloat32), "number of Out's dtype")
          .infer(infer_one_hot)
          .kernels(kernels_everywhere<std::int32_t, std::int64_t>(
              [](auto /*tag*/) -> KernelFactory { return one_hot; }))
          .not_differentiable()
          .checks_data());
}

}  // namespace fluidcore
