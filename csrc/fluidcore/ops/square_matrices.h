#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/base/strings.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/op/contexts.h"
#include "fluidcore/op/grad_context.h"
#include "fluidcore/ops/elementwise.h"

namespace fluidcore {

// What operators on the square matrices in the last two dimensions have in common. They calculate
// in float64, in memory of their own, one matrix on one thread.

inline constexpr char kSmallMatrices[] =
    " For small matrices, to some hundred rows: without LAPACK and without blocks.";

// A batch of matrices.
struct MatrixBatch {
  explicit MatrixBatch(const Shape& shape)
      : count(shape.product(0, shape.rank() - 2)),
        rows(shape[shape.rank() - 2]),
        columns(shape.back()) {}

  std::int64_t size() const { return rows * columns; }

  std::int64_t count;
  std::int64_t rows;
  std::int64_t columns;
};

// Throws InvalidArgument unless the input is [..., n, n]; an extent that one dimension knows is
// known.
inline TensorSpec checked_square(const InferContext& context, std::string_view slot) {
  TensorSpec spec = context.input(slot);
  const std::size_t rank = spec.shape.rank();
  require(rank >= 2 && compatible(spec.shape[rank - 2], spec.shape[rank - 1]), context.type(), ": ",
          slot, " must have shape [..., n, n], got ", spec.shape);
  const std::int64_t n = std::max(spec.shape[rank - 2], spec.shape[rank - 1]);
  spec.shape[rank - 2] = spec.shape[rank - 1] = n;
  return spec;
}

// Calls f(i) for each of `count` matrices.
template <class F>
void for_matrices(std::int64_t count, std::int64_t n, const F& f) {
  constexpr std::int64_t kGrain = 32768;  // multiplications
  parallel_for(count, kGrain / (n * n * n + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// The operators of a gradient, one after the other; names are made from an output of the forward
// operator, which no other operator writes.
class GradSteps {
 public:
  explicit GradSteps(const GradContext& context)
      : prefix_(str_cat(context.forward().output_arg_names().at(0), "@STEP@")) {}

  // Adds an operator that writes a variable of its own; gives its name.
  std::string add(const std::string& type, SlotMap inputs, AttributeMap attrs = {}) {
    std::string name = prefix_ + std::to_string(ops_.size());
    add_into(name, type, std::move(inputs), std::move(attrs));
    return name;
  }
  void add_into(const std::string& name,
                const std::string& type,
                SlotMap inputs,
                AttributeMap attrs = {}) {
    ops_.push_back(OpDesc(type, std::move(inputs), {{"Out", {name}}}, std::move(attrs)));
  }
  // Adds the operator that writes the gradient `name`, of the shape of a forward input: `terms`,
  // added up over all that the input was broadcast to.
  void add_sum_like(const std::string& name,
                    const std::vector<std::string>& input,
                    const std::string& terms) {
    ops_.push_back(OpDesc("elementwise_add_grad",
                          {{"X", input}, {"Y", {terms}}, {"Out@GRAD", {terms}}},
                          {{"X@GRAD", {name}}, {"Y@GRAD", {std::string(kEmptyName)}}}));
  }
  std::vector<OpDesc> take() { return std::move(ops_); }

 private:
  std::string prefix_;
  std::vector<OpDesc> ops_;
};

}  // namespace fluidcore
