#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cpu/streams.h"
#include "fluidcore/kernels/cuda/map.h"
#include "fluidcore/op/op_def.h"
#include "fluidcore/ops/infer_checks.h"

namespace fluidcore {

struct Add;  // of kernels/functors.h
struct Relu;

// One device's kernels, for each dtype.
KernelTable kernels_of(DeviceKind device,
                       std::initializer_list<std::pair<DType, KernelFactory>> kernels);

// A table with one CPU kernel for each of the types T: choose(TypeTag<T>{}) is its factory.
template <class... T, class Choose>
KernelTable cpu_kernels(const Choose& choose) {
  return kernels_of(DeviceKind::kCpu, {{dtype_of<T>, choose(TypeTag<T>{})}...});
}
// float16, which the CPU only stores, is calculated through float32.
template <class Choose>
KernelTable floating_cpu_kernels(const Choose& choose) {
  return cpu_kernels<float, double, BFloat16>(choose);
}
template <class Choose>
KernelTable all_cpu_kernels(const Choose& choose) {
  return cpu_kernels<bool, std::int16_t, std::int32_t, std::int64_t, Float16, float, double,
                     BFloat16>(choose);
}

// Tables for every device of the build: of kernels that are made of row parts, or whose factories
// ask their context where they are to work.
template <class... T, class Choose>
KernelTable kernels_everywhere(const Choose& choose) {
  KernelTable table = cpu_kernels<T...>(choose);
  if constexpr (kHasCuda) {
    table.merge(kernels_of(DeviceKind::kCuda, {{dtype_of<T>, choose(TypeTag<T>{})}...}));
  }
  return table;
}
template <class Choose>
KernelTable floating_kernels_everywhere(const Choose& choose) {
  KernelTable table = kernels_everywhere<float, double, BFloat16>(choose);
  if constexpr (kHasCuda) {
    table.emplace(KernelKey{DeviceKind::kCuda, DType::kFloat16}, choose(TypeTag<Float16>{}));
  }
  return table;
}
template <class Choose>
KernelTable all_kernels_everywhere(const Choose& choose) {
  return kernels_everywhere<bool, std::int16_t, std::int32_t, std::int64_t, Float16, float, double,
                            BFloat16>(choose);
}

// The same kernel for every dtype: it moves bytes.
inline KernelTable byte_kernels(const KernelFactory& factory) {
  return all_cpu_kernels([&](auto /*tag*/) { return factory; });
}
inline KernelTable byte_kernels_everywhere(const KernelFactory& factory) {
  return all_kernels_everywhere([&](auto /*tag*/) { return factory; });
}

// A kernel for an operator whose outputs are not wanted or are empty.
inline Kernel nothing_to_do() {
  return RowKernel();
}

// One that on a CUDA device only asks for work.
template <class Work>
Kernel work_kernel(const KernelContext& context, const Work& work) {
  return context.is_on_cuda() ? Kernel::enqueued(work) : Kernel(work);
}

// One kernel after the other.
Kernel both(Kernel first, Kernel second);

// Makes a formula from the operator's attributes.
template <class Formula>
using FormulaMaker = Formula (*)(const KernelContext&);
template <class Formula>
Formula without_attributes(const KernelContext& /*context*/) {
  return Formula();
}

// A formula of inputs and an output that have one dtype, on every device.
struct Streams {
  cpu::StreamFormula on_cpu;
  RowPart::Launch on_cuda;
};

// For inputs and an output that hold Stored.
template <class Stored, std::size_t arity, class Formula>
RowPart::Launch launch_streams(const Formula& formula) {
  return [formula](DeviceContext& device, std::int64_t size, void* out, const void* const* in) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      cuda::map(device, formula, size, static_cast<Stored*>(out),
                static_cast<const Stored*>(in[k])...);
    }(std::make_index_sequence<arity>());
  };
}

// T is the type to calculate in.
template <class T, std::size_t arity, class Formula>
Streams streams(const KernelContext& context, const Formula& formula) {
  Streams made{cpu::stream_formula<T, arity>(formula), nullptr};
  if constexpr (kHasCuda) {
    made.on_cuda = launch_streams<T, arity>(formula);
    if constexpr (std::is_same_v<T, float>) {
      if (context.dtype() == DType::kFloat16)
        made.on_cuda = launch_streams<Float16, arity>(formula);
      if (context.dtype() == DType::kBFloat16) {
        made.on_cuda = launch_streams<BFloat16, arity>(formula);
      }
    }
  }
  return made;
}

// output = formula(inputs...), all of the kernel's dtype and of one shape.
Kernel stream_kernel(const KernelContext& context,
                     const Streams& formula,
                     const std::vector<std::string>& inputs,
                     const std::string& output,
                     RowForm form = RowForm::kOther);

// What has a row for each element.
RowOperand by_element(const Cell* cell);

// Where element i is.
template <class T>
T* at(const RowSlice& slice, std::int64_t i) {
  return static_cast<T*>(slice.data) + (i - slice.origin);
}

// The same for elements of so many bytes.
std::byte* at_bytes(const RowSlice& slice, std::int64_t i, std::int64_t bytes);

template <class Formula, class Out, class... In>
RowPart::Launch launch_map(const Formula& formula) {
  return [formula](DeviceContext& device, std::int64_t size, void* to, const void* const* from) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      cuda::map(device, formula, size, static_cast<Out*>(to), static_cast<In*>(from[k])...);
    }(std::index_sequence_for<In...>());
  };
}

template <class Formula, class Out, class... In>
RowPart::Launch launch_broadcast(const std::shared_ptr<const cpu::BroadcastNest>& nest,
                                 const Formula& formula) {
  return [formula, index = cuda::BroadcastIndex<sizeof...(In)>(*nest)](
             DeviceContext& device, std::int64_t size, void* to, const void* const* from) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      cuda::broadcast(device, formula, index, size, static_cast<Out*>(to),
                      static_cast<In*>(from[k])...);
    }(std::index_sequence_for<In...>());
  };
}

// What writes `out` from the operands of `nest`, still without anything that calculates.
RowPart broadcast_rows(const cpu::BroadcastNest& nest,
                       const Cell* out,
                       std::initializer_list<const Cell*> in);
// The form of the rows of a sum of two operands.
RowForm form_of_sum(const cpu::BroadcastNest& nest, const Cell* second);

// out[i] = formula(in[...]...), where `in` are the operands of `nest`.
template <class Formula, class Out, class... In>
Kernel broadcast_kernel(const std::shared_ptr<const cpu::BroadcastNest>& nest,
                        const Formula& formula,
                        Arg<Out> out,
                        Arg<In>... in) {
  RowPart part = broadcast_rows(*nest, out.cell(), {in.cell()...});
  if constexpr (std::is_same_v<Formula, Add>) part.form = form_of_sum(*nest, part.in[1].cell);
  part.run = [=](std::int64_t begin, std::int64_t size, const RowSlice& to, const RowSlice* from) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      cpu::broadcast_part(*nest, formula, begin, size, at<Out>(to, begin),
                          cpu::BroadcastOperand<std::remove_const_t<In>>{
                              static_cast<In*>(from[k].data), from[k].origin}...);
    }(std::index_sequence_for<In...>());
  };
  if constexpr (kHasCuda) {
    if (out.cell()->device != nullptr)
      part.launch = launch_broadcast<Formula, Out, In...>(nest, formula);
  }
  return RowKernel(std::move(part));
}

// out[i] = formula(in[i]...), all of one shape.
template <class Formula, class Out, class... In>
Kernel map_kernel(const Formula& formula, Arg<Out> out, Arg<In>... in) {
  RowPart part{.out = by_element(out.cell()), .in = {by_element(in.cell())...}};
  part.run = [formula](std::int64_t begin, std::int64_t size, const RowSlice& to,
                       const RowSlice* from) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      cpu::calculate_row(cpu::cpu_isa(), formula, size, at<Out>(to, begin),
                         cpu::Operand<std::remove_const_t<In>>{at<In>(from[k], begin)}...);
    }(std::index_sequence_for<In...>());
  };
  if constexpr (kHasCuda) part.launch = launch_map<Formula, Out, In...>(formula);
  return RowKernel(std::move(part));
}

// T is the type to calculate in.
template <class Formula, class T, FormulaMaker<Formula> make>
Kernel cpu_unary(const KernelContext& context) {
  constexpr RowForm kForm = std::is_same_v<Formula, Relu> ? RowForm::kRelu : RowForm::kOther;
  return stream_kernel(context, streams<T, 1>(context, make(context)), {"X"}, "Out", kForm);
}

// Which forward variable the formula of a gradient reads.
enum class GradFrom { kInput, kOutput };
constexpr const char* value_slot(GradFrom from) {
  return from == GradFrom::kInput ? "X" : "Out";
}

template <class Formula, GradFrom from, class T, FormulaMaker<Formula> make>
Kernel cpu_unary_grad(const KernelContext& context) {
  return stream_kernel(context, streams<T, 2>(context, make(context)),
                       {value_slot(from), "Out@GRAD"}, "X@GRAD");
}

// Out = formula(X) for every floating dtype.
template <class Formula, FormulaMaker<Formula> make = without_attributes<Formula>>
KernelTable unary_kernels() {
  return floating_kernels_everywhere([](auto tag) -> KernelFactory {
    return cpu_unary<Formula, ComputeType<typename decltype(tag)::type>, make>;
  });
}

// X@GRAD = formula(X or Out, Out@GRAD) for every floating dtype.
template <class Formula, GradFrom from, FormulaMaker<Formula> make = without_attributes<Formula>>
KernelTable unary_grad_kernels() {
  return floating_kernels_everywhere([](auto tag) -> KernelFactory {
    return cpu_unary_grad<Formula, from, ComputeType<typename decltype(tag)::type>, make>;
  });
}

// Out = f(X), of the shape and dtype of X.
inline OpDef unary_op(std::string type, std::string doc) {
  return OpDef(std::move(type))
      .doc(std::move(doc))
      .input("X", "any shape, floating")
      .output("Out", "shape and dtype of X")
      .infer(same_as("X"))
      .in_place("X", "Out")
      .elementwise();
}

inline InferFn infer_unary_grad(GradFrom from) {
  return [slot = value_slot(from)](InferContext& context) {
    require_spec(context, "Out@GRAD", context.input(slot));
    context.set_output("X@GRAD", context.input(slot));
  };
}

// X@GRAD from Out@GRAD and from X or Out.
inline OpDef unary_grad_op(std::string type,
                           std::string doc,
                           GradFrom from,
                           SlotTraits traits = {}) {
  const bool reads_input = from == GradFrom::kInput;
  const std::string slot = value_slot(from);
  return OpDef(std::move(type))
      .doc(std::move(doc))
      .input(slot, reads_input ? "input of the forward operator" : "output of the forward operator",
             std::move(traits))
      .input("Out@GRAD", "gradient of Out, shape of Out")
      .output("X@GRAD", "gradient of X, shape of X")
      .infer(infer_unary_grad(from))
      .in_place(slot, "X@GRAD")
      .in_place("Out@GRAD", "X@GRAD")
      .elementwise();
}

inline GradMaker unary_grad(GradFrom from) {
  if (from == GradFrom::kInput) return standard_grad({.inputs = {"X"}, .differentiable = {"X"}});
  return standard_grad({.outputs = {"Out"}, .differentiable = {"X"}});
}

}  // namespace fluidcore
