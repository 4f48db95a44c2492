#include "fluidcore/ops/conv_epilogue.h"

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

// What a convolution does besides, and where its results go.
class Epilogue {
 public:
  Epilogue(const Cell* image, const Cell* filter, const Cell* out)
      : filters_(filter->spec.shape[0]),
        out_(whole_of(out)),
        read_{owner_of(image), owner_of(filter)} {}

  // Takes what comes next, if it can.
  bool add(const RowPart& part) {
    if (part.out.cell->spec.dtype != DType::kFloat32) return false;
    Epilogue with = *this;
    if (relu_ || !with.take(part)) return false;
    // What is still read must not be overwritten.
    with.out_ = part.out.cell;
    if (std::ranges::find(with.read_, owner_of(with.out_)) != with.read_.end()) return false;
    *this = std::move(with);
    return true;
  }

  // Is called in each run, by one thread at a time.
  Kernel with(const cpu::FusedConv& conv, Arg<const float> input, Arg<const float> filter) const {
    const auto of_filters =
        std::make_shared<std::vector<float>>(factors_ ? 2 * static_cast<std::size_t>(filters_) : 0);
    return [*this, conv, input, filter, of_filters] {
      cpu::ConvEpilogue epilogue{
          .bias = numbers(bias_), .residual = numbers(residual_), .relu = relu_};
      if (factors_) {
        epilogue.scale = of_filters->data();
        epilogue.bias = of_filters->data() + filters_;
        factors_(of_filters->data(), of_filters->data() + filters_);
      }
      conv(input.data(), filter.data(), filter.cell()->version, static_cast<float*>(out_->data),
           epilogue);
    };
  }

 private:
  bool take(const RowPart& part) {
    switch (part.form) {
      case RowForm::kRelu: return relu_ = true;
      case RowForm::kAffine:
        if (bias_ || factors_ || residual_ || part.num_factors != filters_) return false;
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
    } else if (is_first && count == filters_ && !bias_ && !factors_) {
      bias_ = other;
    } else {
      return false;
    }
    read_.push_back(owner_of(other));
    return true;
  }

  std::int64_t filters_;
  const Cell* out_;
  std::vector<const Cell*> read_;  // in their memory
  std::function<void(float*, float*)> factors_ = nullptr;
  const Cell* bias_ = nullptr;
  const Cell* residual_ = nullptr;
  bool relu_ = false;
};

}  // namespace

Kernel fused_conv(const cpu::FusedConv& conv,
                  Arg<const float> input,
                  Arg<const float> filter,
                  Arg<float> output) {
  const auto with = [=](const std::vector<const RowPart*>& parts) {
    Epilogue epilogue(input.cell(), filter.cell(), output.cell());
    std::size_t count = 0;
    while (count < parts.size() && epilogue.add(*parts[count])) ++count;
    return std::pair(count == 0 ? Kernel() : epilogue.with(conv, input, filter), count);
  };
  return {[=] { conv(input.data(), filter.data(), filter.cell()->version, output.data(), {}); },
          with};
}

}  // namespace fluidcore
