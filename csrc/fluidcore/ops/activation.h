#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/op/decomposition.h"
#include "fluidcore/op/op_registry.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"

namespace fluidcore {

// How the operators Out = f(X) and their gradient operators are declared.

inline constexpr GradFrom kInput = GradFrom::kInput;
inline constexpr GradFrom kOutput = GradFrom::kOutput;

// The name of an attribute, as a template argument.
template <std::size_t size>
struct AttrName {
  char text[size];
  constexpr AttrName(const char (&name)[size]) { std::copy_n(name, size, text); }
};

// Makes formulas whose members are these floating attributes.
template <AttrName... names>
struct FromAttrs {
  template <class Formula>
  static Formula make(const KernelContext& context) {
    return {context.attr<double>(names.text)...};
  }
};

// Inference that throws where attributes are out of range.
using AttrCheck = void (*)(const InferContext&);

template <AttrName name>
void check_not_negative(const InferContext& context) {
  const auto value = context.attr<double>(name.text);
  require(value >= 0.0, context.type(), ": ", name.text, " must be at least 0, got ", value);
}

template <AttrName low, AttrName high>
void check_order(const InferContext& context) {
  const auto least = context.attr<double>(low.text);
  const auto most = context.attr<double>(high.text);
  require(least <= most, context.type(), ": ", low.text, " must be at most ", high.text, ", got ",
          low.text, " ", least, ", ", high.text, " ", most);
}

struct Activation {
  std::string type;
  std::string formula;       // of Out
  std::string grad_formula;  // of X@GRAD
  std::vector<OpDef::Attr> attrs = {};
  AttrCheck check = nullptr;
  SlotTraits grad_traits = {};  // of what the gradient operator reads
  KernelTable whole = {};       // kernels of whole numbers
};

// Adds the operator, and gives its gradient operator.
OpDef add_activation(OpRegistry& registry,
                     const Activation& activation,
                     GradFrom from,
                     KernelTable kernels,
                     KernelTable grad_kernels);

// With kernels of two formulas that `Maker` makes.
template <class Formula, class GradFormula, GradFrom from, class Maker = FromAttrs<>>
OpDef add_activation(OpRegistry& registry, const Activation& activation) {
  return add_activation(
      registry, activation, from, unary_kernels<Formula, &Maker::template make<Formula>>(),
      unary_grad_kernels<GradFormula, from, &Maker::template make<GradFormula>>());
}

// Adds a gradient operator that is its own adjoint; see self_adjoint_grad().
void add_self_adjoint(OpRegistry& registry, OpDef grad, const char* kept);

// Adds an operator with kinks or jumps and its gradient operator, which multiplies Out@GRAD with
// one number on each piece.
template <class Formula, class GradFormula, GradFrom from, class Maker = FromAttrs<>>
void add_piecewise(OpRegistry& registry, Activation activation) {
  activation.grad_traits.needs_no_gradient = true;
  OpDef grad = add_activation<Formula, GradFormula, from, Maker>(registry, activation);
  add_self_adjoint(registry, std::move(grad), value_slot(from));
}

// X@GRAD = formula(value, Out@GRAD), where value is X or Out as the gradient operator has it.
template <GradFrom from>
Decompose smooth_grad(Expr (*formula)(const Expr& value, const Expr& dout)) {
  return [formula](Decomposition& d) {
    d.set("X@GRAD", formula(d.input(value_slot(from)), d.input("Out@GRAD")));
  };
}

// f(x), for the name of an operator without attributes.
Expr apply(const std::string& f, const Expr& x);

// The gradient 0, which a Fluid program has as an operator too.
std::vector<OpDesc> zero_grad(GradContext& context);

}  // namespace fluidcore
