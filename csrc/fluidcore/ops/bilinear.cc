#include "fluidcore/ops/bilinear.h"

#include <utility>
#include <vector>

namespace fluidcore {

namespace {

bool is_wanted(const std::vector<std::string>& names) {
  return !names.empty() && names[0] != kEmptyName;
}

}  // namespace

GradMaker bilinear_grad_grad(std::string type, std::string x, std::string y, std::string out) {
  return [=](GradContext& context) {
    const AttributeMap& attrs = context.forward().attrs();
    const std::string out_grad = grad_name(out);
    const std::string x_grad = grad_name(x);
    const std::string y_grad = grad_name(y);
    const std::vector<std::string> along_x = context.output_grad(x_grad);
    const std::vector<std::string> along_y = context.output_grad(y_grad);
    const auto to_out_grad = context.input_grad(out_grad);
    const auto to_x = context.input_grad(x);
    const auto to_y = context.input_grad(y);

    std::vector<OpDesc> ops;
    const auto add_forward = [&](const auto& xs, const auto& ys) {
      if (!is_wanted(to_out_grad)) return;
      ops.emplace_back(type, SlotMap{{x, xs}, {y, ys}}, SlotMap{{out, to_out_grad}}, attrs);
    };
    const auto add_grad = [&](const auto& xs, const auto& ys, const std::string& slot,
                              const auto& to) {
      if (!is_wanted(to)) return;
      SlotMap outputs{{x_grad, {std::string(kEmptyName)}}, {y_grad, {std::string(kEmptyName)}}};
      outputs[slot] = to;
      ops.emplace_back(type + "_grad",
                       SlotMap{{x, xs}, {y, ys}, {out_grad, context.input(out_grad)}},
                       std::move(outputs), attrs);
    };
    if (is_wanted(along_x)) {
      add_forward(along_x, context.input(y));
      add_grad(along_x, context.input(y), y_grad, to_y);
    }
    if (is_wanted(along_y)) {
      add_forward(context.input(x), along_y);
      add_grad(context.input(x), along_y, x_grad, to_x);
    }
    return ops;
  };
}

}  // namespace fluidcore
