#include "fluidcore/kernels/cpu/gated_units.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cuda/gated_units.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

cpu::Units units_of(const Shape& state) {
  return {state[0], state[1]};
}

LstmUnit lstm(const KernelContext& context) {
  return {context.attr<double>("forget_bias")};
}

template <class T>
Kernel lstm_unit(const KernelContext& context) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([&device = context.device(), unit = lstm(context),
                               x = context.input<T>("X"), before = context.input<T>("C_prev"),
                               cell = context.output<T>("C"), hidden = context.output<T>("H")] {
        cuda::for_each(device, before.size(), cuda::LstmUnits{unit, before.shape()[1]}, x.data(),
                       before.data(), cell.data(), hidden.data());
      });
    }
  }
  return [unit = lstm(context), x = context.input<T>("X"), before = context.input<T>("C_prev"),
          cell = context.output<T>("C"), hidden = context.output<T>("H")] {
    cpu::lstm_unit(unit, units_of(before.shape()), x.data(), before.data(), cell.data(),
                   hidden.data());
  };
}

template <class T>
Kernel lstm_unit_grad(const KernelContext& context) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued(
          [&device = context.device(), unit = lstm(context), x = context.input<T>("X"),
           before = context.input<T>("C_prev"), dcell = context.input<T>("C@GRAD"),
           dhidden = context.input<T>("H@GRAD"), dx = context.optional_output<T>("X@GRAD"),
           dbefore = context.optional_output<T>("C_prev@GRAD")] {
            const cpu::LstmUnitGrads<T> grads{dcell.data(), dhidden.data(), data_or_null(dx),
                                              data_or_null(dbefore)};
            cuda::for_each(device, before.size(), cuda::LstmUnitsGrad{unit, before.shape()[1]},
                           x.data(), before.data(), grads);
          });
    }
  }
  return [unit = lstm(context), x = context.input<T>("X"), before = context.input<T>("C_prev"),
          dcell = context.input<T>("C@GRAD"), dhidden = context.input<T>("H@GRAD"),
          dx = context.optional_output<T>("X@GRAD"),
          dbefore = context.optional_output<T>("C_prev@GRAD")] {
    cpu::lstm_unit_grad(unit, units_of(before.shape()), x.data(), before.data(),
                        {dcell.data(), dhidden.data(), data_or_null(dx), data_or_null(dbefore)});
  };
}

template <class T>
Kernel gru_cell(const KernelContext& context) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([&device = context.device(), x = context.input<T>("X"),
                               recurrent = context.input<T>("Recurrent"),
                               before = context.input<T>("HiddenPrev"),
                               hidden = context.output<T>("Hidden")] {
        cuda::for_each(device, before.size(), cuda::GruCells{before.shape()[1]}, x.data(),
                       recurrent.data(), before.data(), hidden.data());
      });
    }
  }
  return [x = context.input<T>("X"), recurrent = context.input<T>("Recurrent"),
          before = context.input<T>("HiddenPrev"), hidden = context.output<T>("Hidden")] {
    cpu::gru_cell(units_of(before.shape()), x.data(), recurrent.data(), before.data(),
                  hidden.data());
  };
}

template <class T>
Kernel gru_cell_grad(const KernelContext& context) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued(
          [&device = context.device(), x = context.input<T>("X"),
           recurrent = context.input<T>("Recurrent"), before = context.input<T>("HiddenPrev"),
           dhidden = context.input<T>("Hidden@GRAD"), dx = context.optional_output<T>("X@GRAD"),
           drecurrent = context.optional_output<T>("Recurrent@GRAD"),
           dbefore = context.optional_output<T>("HiddenPrev@GRAD")] {
            const cpu::GruCellGrads<T> grads{dhidden.data(), data_or_null(dx),
                                             data_or_null(drecurrent), data_or_null(dbefore)};
            cuda::for_each(device, before.size(), cuda::GruCellsGrad{before.shape()[1]}, x.data(),
                           recurrent.data(), before.data(), grads);
          });
    }
  }
  return [x = context.input<T>("X"), recurrent = context.input<T>("Recurrent"),
          before = context.input<T>("HiddenPrev"), dhidden = context.input<T>("Hidden@GRAD"),
          dx = context.optional_output<T>("X@GRAD"),
          drecurrent = context.optional_output<T>("Recurrent@GRAD"),
          dbefore = context.optional_output<T>("HiddenPrev@GRAD")] {
    cpu::gru_cell_grad(
        units_of(before.shape()), x.data(), recurrent.data(), before.data(),
        {dhidden.data(), data_or_null(dx), data_or_null(drecurrent), data_or_null(dbefore)});
  };
}

// The slot holds `count` gates for every element of `state`.
void require_gates(const InferContext& context,
                   const char* slot,
                   std::int64_t count,
                   const char* state) {
  const TensorSpec& of = context.input(state);
  require_rank(context, state, 2, "[batch, size]");
  require(of.shape[1] != 0, context.type(), ": ", state, " must have a size of at least 1, got ",
          of.shape);
  Shape gates = of.shape;
  gates[1] = gates[1] == -1 ? -1 : count * gates[1];
  const Shape& actual = context.input(slot).shape;
  require(compatible(actual, gates), context.type(), ": ", slot, " must have shape [batch, ", count,
          " size], where ", state, " is ", of.shape, ", got ", actual);
  require_dtype(context, slot, of.dtype);
}

void infer_lstm_unit(InferContext& context) {
  require_gates(context, "X", 4, "C_prev");
  context.set_output("C", context.input("C_prev"));
  context.set_output("H", context.input("C_prev"));
}

void infer_lstm_unit_grad(InferContext& context) {
  require_gates(context, "X", 4, "C_prev");
  require_spec(context, "C@GRAD", context.input("C_prev"));
  require_spec(context, "H@GRAD", context.input("C_prev"));
  infer_grads_like_inputs(context);
}

void infer_gru_cell(InferContext& context) {
  require_gates(context, "X", 3, "HiddenPrev");
  require_gates(context, "Recurrent", 3, "HiddenPrev");
  context.set_output("Hidden", context.input("HiddenPrev"));
}

void infer_gru_cell_grad(InferContext& context) {
  require_gates(context, "X", 3, "HiddenPrev");
  require_gates(context, "Recurrent", 3, "HiddenPrev");
  require_spec(context, "Hidden@GRAD", context.input("HiddenPrev"));
  infer_grads_like_inputs(context);
}

std::vector<Expr> gates_of(Decomposition& d, const char* slot, std::int64_t count) {
  return d.list("split", {{"X", d.input(slot)}}, {{"axis", std::int64_t{1}}, {"num", count}},
                static_cast<std::size_t>(count));
}

void set_gates(Decomposition& d, const char* slot, const std::vector<Expr>& gates) {
  Decomposition::Inputs inputs;
  for (const Expr& gate : gates) inputs.emplace_back("X", gate);
  d.set(slot, d.op("concat", inputs, {{"axis", std::int64_t{1}}}));
}

Expr activated(const char* type, const Expr& x) {
  return x.owner().op(type, {{"X", x}});
}

void decompose_lstm_unit_grad(Decomposition& d) {
  const std::vector<Expr> x = gates_of(d, "X", 4);
  const Expr before = d.input("C_prev");
  const Expr i = activated("sigmoid", x[0]);
  const Expr f = activated("sigmoid", x[1] + d.attr<double>("forget_bias"));
  const Expr o = activated("sigmoid", x[2]);
  const Expr j = activated("tanh", x[3]);
  const Expr squashed = activated("tanh", before * f + i * j);
  const Expr dhidden = d.input("H@GRAD");
  const Expr dcell = d.input("C@GRAD") + dhidden * o * (1.0 - square(squashed));
  d.set("C_prev@GRAD", dcell * f);
  set_gates(d, "X@GRAD",
            {dcell * j * i * (1.0 - i), dcell * before * f * (1.0 - f),
             dhidden * squashed * o * (1.0 - o), dcell * i * (1.0 - square(j))});
}

void decompose_gru_cell_grad(Decomposition& d) {
  const std::vector<Expr> x = gates_of(d, "X", 3);
  const std::vector<Expr> recurrent = gates_of(d, "Recurrent", 3);
  const Expr before = d.input("HiddenPrev");
  const Expr grad = d.input("Hidden@GRAD");
  const Expr u = activated("sigmoid", x[0] + recurrent[0]);
  const Expr r = activated("sigmoid", x[1] + recurrent[1]);
  const Expr c = activated("tanh", x[2] + r * recurrent[2]);
  const Expr du = grad * (c - before) * u * (1.0 - u);
  const Expr dc = grad * u * (1.0 - square(c));
  const Expr dr = dc * recurrent[2] * r * (1.0 - r);
  d.set("HiddenPrev@GRAD", grad * (1.0 - u));
  set_gates(d, "X@GRAD", {du, dr, dc});
  set_gates(d, "Recurrent@GRAD", {du, dr, dc * r});
}

OpDef with_examples_as_rows(OpDef def) {
  return std::move(def).row_dims(
      [](const InferContext& /*context*/, std::string_view /*slot*/) { return std::size_t{1}; });
}

OpDef with_forget_bias(OpDef def) {
  return std::move(def).attr("forget_bias", 0.0, "is added to the forget gate of X");
}

const char* const kLstmX = "[batch, 4 size], floating: the gates input, forget, output, candidate";
const char* const kGruX =
    "[batch, 3 size], floating: what the input gives to the gates update, "
    "reset, candidate";
const char* const kState = "[batch, size], dtype of X";

}  // namespace

void register_gated_unit_ops(OpRegistry& registry) {
  registry.add(
      with_examples_as_rows(with_forget_bias(OpDef("lstm_unit")))
          .doc("One step of a long short-term memory (Hochreiter and Schmidhuber 1997): C = "
               "sigmoid(forget + forget_bias) C_prev + sigmoid(input) tanh(candidate); H = "
               "sigmoid(output) tanh(C).")
          .input("X", kLstmX)
          .input("C_prev", kState)
          .output("C", kState)
          .output("H", kState)
          .infer(infer_lstm_unit)
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return lstm_unit<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X", "C_prev"},
                               .differentiable = {"X", "C_prev"},
                               .cotangents = {"C", "H"}})));
  registry.add(with_examples_as_rows(with_forget_bias(OpDef("lstm_unit_grad")))
                   .doc("The gradients of the gates and of the cell before.")
                   .input("X", "input of the forward operator")
                   .input("C_prev", "input of the forward operator")
                   .input("C@GRAD", "gradient of C, shape of C")
                   .input("H@GRAD", "gradient of H, shape of H")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .output("C_prev@GRAD", "gradient of C_prev, shape of C_prev")
                   .infer(infer_lstm_unit_grad)
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return lstm_unit_grad<typename decltype(tag)::type>;
                   }))
                   .decompose(decompose_lstm_unit_grad));
  registry.add(
      with_examples_as_rows(OpDef("gru_cell"))
          .doc("One step of a gated recurrent unit (Cho et al. 2014): Hidden = (1 - u) HiddenPrev "
               "+ u tanh(x_c + r recurrent_c), where u = sigmoid(x_u + recurrent_u), r = "
               "sigmoid(x_r + recurrent_r).")
          .input("X", kGruX)
          .input("Recurrent", "[batch, 3 size], dtype of X: what HiddenPrev gives to them")
          .input("HiddenPrev", kState)
          .output("Hidden", kState)
          .infer(infer_gru_cell)
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return gru_cell<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"X", "Recurrent", "HiddenPrev"},
                               .differentiable = {"X", "Recurrent", "HiddenPrev"},
                               .cotangents = {"Hidden"}})));
  registry.add(with_examples_as_rows(OpDef("gru_cell_grad"))
                   .doc("The gradients of the gates and of the state before.")
                   .input("X", "input of the forward operator")
                   .input("Recurrent", "input of the forward operator")
                   .input("HiddenPrev", "input of the forward operator")
                   .input("Hidden@GRAD", "gradient of Hidden, shape of Hidden")
                   .output("X@GRAD", "gradient of X, shape of X")
                   .output("Recurrent@GRAD", "gradient of Recurrent, shape of Recurrent")
                   .output("HiddenPrev@GRAD", "gradient of HiddenPrev, shape of HiddenPrev")
                   .infer(infer_gru_cell_grad)
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return gru_cell_grad<typename decltype(tag)::type>;
                   }))
                   .decompose(decompose_gru_cell_grad));
}

}  // namespace fluidcore
