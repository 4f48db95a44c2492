#include "fluidcore/ops/epilogue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace fluidcore {

namespace {

const float* numbers(const Cell* cell) {
  return cell == nullptr ? nullptr : static_cast<const float*>(cell->data);
}

// What a kernel does besides, and where its results go.
class Besides {
 public:
  Besides(const Cell* input, const Cell* weights, const Cell* out, std::int64_t columns)
      : columns_(columns), out_(whole_of(out)), read_{owner_of(input), owner_of(weights)} {}

  // Takes what comes next, if it can; else it may have changed.
  bool add(const RowPart& part) {
    if (part.out.cell->spec.dtype != DType::kFloat32 || relu_ || !take(part)) return false;
    out_ = part.out.cell;
    // What is still read must not be overwritten.
    return std::ranges::find(read_, owner_of(out_)) == read_.end();
  }

  // Is called in each run, by one thread at a time. Empty if there is no such kernel.
  Kernel with(const MakeFused& make, Arg<const float> input, Arg<const float> weights) const {
    const FusedKernel fused = make({.scale = factors_ != nullptr,
                                    .bias = factors_ != nullptr || bias_ != nullptr,
                                    .residual = residual_ != nullptr,
                                    .relu = relu_});
    if (!fused) return {};
    const auto of_columns =
        std::make_shared<std::vector<float>>(factors_ ? 2 * static_cast<std::size_t>(columns_) : 0);
    return [*this, fused, input, weights, of_columns] {
      Epilogue epilogue{.bias = numbers(bias_), .residual = numbers(residual_), .relu = relu_};
      if (factors_) {
        epilogue.scale = of_columns->data();
        epilogue.bias = of_columns->data() + columns_;
        factors_(of_columns->data(), of_columns->data() + columns_);
      }
      fused(input.data(), weights.data(), weights.cell()->version, static_cast<float*>(out_->data),
            epilogue);
    };
  }

 private:
  bool take(const RowPart& part) {
    switch (part.form) {
      case RowForm::kRelu: return relu_ = true;
      case RowForm::kAffine:
        if (bias_ || factors_ || residual_ || part.num_factors != columns_) return false;
        factors_ = part.factors;
        return true;
      case RowForm::kSum: return take_sum(part);
      case RowForm::kOther: break;
    }
    return false;
  }

  bool take_sum(const RowPart& part) {
    const bool is_first = part.in[0].cell == out_;
    const Cell* const other = part.in[is_first ? 1 : 0].cell;
    const std::int64_t count = other->spec.shape.num_elements();
    if (owner_of(other) == owner_of(out_) || residual_) return false;
    if (count == out_->spec.shape.num_elements()) {
      residual_ = other;
    } else if (is_first && count == columns_ && !bias_ && !factors_) {
      bias_ = other;
    } else {
      return false;
    }
    read_.push_back(owner_of(other));
    return true;
  }

  std::int64_t columns_;
  const Cell* out_;
  std::vector<const Cell*> read_;  // in their memory
  std::function<void(float*, float*)> factors_ = nullptr;
  const Cell* bias_ = nullptr;
  const Cell* residual_ = nullptr;
  bool relu_ = false;
};

}  // namespace

Kernel fused_kernel(std::function<void()> plain,
                    MakeFused make,
                    Arg<const float> input,
                    Arg<const float> weights,
                    Arg<float> output,
                    std::int64_t columns) {
  // As many parts as can be done together.
  const auto with = [=, make = std::move(make)](const std::vector<const RowPart*>& parts) {
    std::vector<Besides> besides = {{input.cell(), weights.cell(), output.cell(), columns}};
    for (const RowPart* part : parts) {
      Besides more = besides.back();
      if (!more.add(*part)) break;
      besides.push_back(std::move(more));
    }
    Kernel kernel;
    while (besides.size() > 1 && kernel.is_empty()) {
      kernel = besides.back().with(make, input, weights);
      if (kernel.is_empty()) besides.pop_back();
    }
    return std::pair(std::move(kernel), besides.size() - 1);
  };
  return {std::move(plain), with};
}

Kernel fused_kernel(const FusedKernel& kernel,
                    Arg<const float> input,
                    Arg<const float> weights,
                    Arg<float> output,
                    std::int64_t columns) {
  const auto plain = [=] {
    kernel(input.data(), weights.data(), weights.cell()->version, output.data(), {});
  };
  const auto make = [kernel](const EpilogueParts& /*parts*/) { return kernel; };
  return fused_kernel(plain, make, input, weights, output, columns);
}

}  // namespace fluidcore
