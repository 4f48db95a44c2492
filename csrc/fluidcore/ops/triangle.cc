#include <algorithm>
#include <cstring>
#include <string>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/cuda/words.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

struct OneSide {
  std::int64_t height;
  std::int64_t width;
  std::int64_t diagonal;
  bool is_lower;

  template <class Index, class Word>
  FC_HOST_DEVICE void operator()(Index i, const Word* x, Word* out) const {
    const std::int64_t row = i / width;
    const std::int64_t right = i - row * width - (row % height + diagonal);  // of the diagonal
    out[i] = (is_lower ? right <= 0 : right >= 0) ? x[i] : Word(0);
  }
};

// Keeps the elements of matrices on one side of a diagonal, the diagonal too.
template <bool lower>
Kernel triangle(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const std::size_t rank = x.shape().rank();
  const std::int64_t height = x.shape()[rank - 2];
  const std::int64_t width = x.shape()[rank - 1];
  const auto size = static_cast<std::int64_t>(size_of(x.spec().dtype));
  // Beyond the matrix every diagonal is like the first one there.
  const std::int64_t diagonal =
      std::clamp(context.attr<std::int64_t>("diagonal"), -height - 1, width + 1);
  if (x.size() == 0) return nothing_to_do();
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::visit_word(static_cast<std::size_t>(size), [&](auto word) {
          using Word = decltype(word);
          cuda::for_each(device, x.size(), OneSide{height, width, diagonal, lower},
                         static_cast<const Word*>(x.data()), static_cast<Word*>(out.data()));
        });
      });
    }
  }
  return [=, rows = x.size() / width] {
    constexpr std::int64_t kGrainBytes = std::int64_t{1} << 17;
    parallel_for(rows, kGrainBytes / (width * size), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t on_diagonal = row % height + diagonal;
        const std::int64_t first = lower ? 0 : std::clamp<std::int64_t>(on_diagonal, 0, width);
        const std::int64_t last =
            lower ? std::clamp<std::int64_t>(on_diagonal + 1, 0, width) : width;
        const auto bytes = [size](std::int64_t count) {
          return static_cast<std::size_t>(count * size);
        };
        char* to = static_cast<char*>(out.data()) + row * width * size;
        const char* from = static_cast<const char*>(x.data()) + row * width * size;
        std::memset(to, 0, bytes(first));
        if (to != from) std::memcpy(to + bytes(first), from + bytes(first), bytes(last - first));
        std::memset(to + bytes(last), 0, bytes(width - last));
      }
    });
  };
}

void add_triangle(OpRegistry& registry,
                  const std::string& type,
                  const std::string& side,
                  KernelTable kernels) {
  registry.add(OpDef(type)
                   .doc("Out = the matrices X with 0 " + side + " a diagonal.")
                   .input("X", "[..., rows, columns]")
                   .output("Out", "shape and dtype of X")
                   .attr("diagonal", std::int64_t{0},
                         "which one; above 0: so many columns to the right of the main diagonal")
                   .in_place("X", "Out")
                   .row_dims(all_dims)
                   .infer([](InferContext& context) {
                     const TensorSpec& x = context.input("X");
                     require(x.shape.rank() >= 2, context.type(),
                             ": X must have rank 2 or more, got ", x.shape);
                     context.set_output("Out", x);
                   })
                   .kernels(std::move(kernels))
                   .grad(adjoint_grad({.from = "X", .to = "Out", .type = type})));
}

}  // namespace

void register_triangle_ops(OpRegistry& registry) {
  add_triangle(registry, "tril", "above", byte_kernels_everywhere(triangle<true>));
  add_triangle(registry, "triu", "below", byte_kernels_everywhere(triangle<false>));
}

}  // namespace fluidcore
