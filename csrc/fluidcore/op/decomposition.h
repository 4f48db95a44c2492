#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fluidcore/op/grad_context.h"
#include "fluidcore/program/op_desc.h"

namespace fluidcore {

class Decomposition;
class OpRegistry;

// From an operator to the differentiable operators it stands for.
using Decompose = std::function<void(Decomposition&)>;

// A variable of a decomposition: an input of the operator, or what a step gives. Valid as long as
// its Decomposition.
class Expr {
 public:
  Expr(Decomposition& owner, std::string name) : owner_(&owner), name_(std::move(name)) {}

  Decomposition& owner() const { return *owner_; }
  const std::string& name() const { return name_; }

 private:
  Decomposition* owner_;
  std::string name_;
};

// One operator, rewritten as several that have gradients:
//
//   registry.add(unary_grad_op("tanh_grad", ...).decompose([](Decomposition& d) {
//     const Expr out = d.input("Out");
//     d.set("X@GRAD", d.input("Out@GRAD") * (1.0 - out * out));
//   }));
//
// Nothing is known of shapes, unless the operator decomposes_by_specs(): what is written must be
// right for all of them. Expressions broadcast as NumPy does; op() takes the attribute `axis` where
// that is not meant.
class Decomposition {
 public:
  using Inputs = std::vector<std::pair<std::string, Expr>>;

  struct Step {
    OpDesc op;
    bool is_constant;  // gradients do not pass
  };

  // Operators that were written down elsewhere, where the variables of the operator's inputs are
  // called as their slots.
  struct Recording {
    std::vector<Step> steps;
    std::map<std::string, std::string> results;  // output slot -> variable of a step
  };

  // `op` is complete; it and `specs`, of its inputs, outlive this.
  Decomposition(const OpRegistry& registry, const OpDesc& op, const SpecsByName& specs);
  Decomposition(const OpRegistry& registry, const OpDesc& op);

  Expr input(std::string_view slot);
  bool has_input(std::string_view slot) const { return !op_.input(slot).empty(); }
  template <class T>
  const T& attr(std::string_view name) const {
    return std::get<T>(op_.attr(name));
  }
  const AttributeMap& attrs() const { return op_.attrs(); }
  // Throws InvalidArgument where nothing is known of an input.
  const TensorSpec& spec(std::string_view slot) const;

  // Output slot `output` of an operator; its other outputs are not calculated.
  Expr op(const std::string& type,
          const Inputs& inputs,
          AttributeMap attrs = {},
          const std::string& output = "Out");
  // As op(), of an output slot that holds `count` variables.
  std::vector<Expr> list(const std::string& type,
                         const Inputs& inputs,
                         AttributeMap attrs,
                         std::size_t count,
                         const std::string& output = "Out");
  // As op(), but the result counts as a constant.
  Expr constant(const std::string& type,
                const Inputs& inputs,
                AttributeMap attrs = {},
                const std::string& output = "Out");
  // `value` everywhere, in the shape and dtype of `like`.
  Expr filled_like(const Expr& like, double value);

  // Whether the operator writes to an output slot.
  bool wants(std::string_view slot) const;
  // What the operator writes to an output slot; nothing happens where that is not wanted.
  void set(std::string_view slot, const Expr& value);
  // The steps and results of a recording, under names of this decomposition.
  void add(const Recording& recording);

  const std::vector<Step>& steps() const { return steps_; }
  // Output variable of the operator -> the variable of the decomposition that it equals.
  const std::map<std::string, std::string>& results() const { return results_; }

 private:
  std::vector<Expr> add_step(const std::string& type,
                             const Inputs& inputs,
                             AttributeMap attrs,
                             const std::string& output,
                             std::size_t count,
                             bool is_constant);
  std::string next_name() const;

  const OpRegistry& registry_;
  const OpDesc& op_;
  const SpecsByName& specs_;
  std::vector<Step> steps_;
  std::map<std::string, std::string> results_;
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator+(const Expr& a, double b);
Expr operator+(double a, const Expr& b);
Expr operator-(const Expr& a, double b);
Expr operator-(double a, const Expr& b);
Expr operator*(double a, const Expr& b);
Expr operator/(double a, const Expr& b);
Expr square(const Expr& a);
Expr is_zero(const Expr& a);  // 1 where a is 0, else 0; a constant

}  // namespace fluidcore
