#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cpu/streams.h"
#include "fluidcore/kernels/cuda/map.h"
#include "fluidcore/op/op_def.h"
#include "fluidcore/ops/infer_checks.h"

namespace fluidcore {

struct Add;  // of kernels/functors.h
struct Relu;

void add_kernel(KernelTable& table, DeviceKind device, DType dtype, KernelFactory factory);

// A table with one CPU kernel for each of the types T: choose(TypeTag<T>{}) is its factory.
template <class... T, class Choose>
KernelTable cpu_kernels(const Choose& choose) {
  KernelTable table;
  (add_kernel(table, DeviceKind::kCpu, dtype_of<T>, choose(TypeTag<T>{})), ...);
  return table;
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
    (add_kernel(table, DeviceKind::kCuda, dtype_of<T>, choose(TypeTag<T>{})), ...);
  }
  return table;
}
template <class Choose>
KernelTable floating_kernels_everywhere(const Choose& choose) {
  KernelTable table = kernels_everywhere<float, double, BFloat16>(choose);
  if constexpr (kHasCuda) {
    add_kernel(table, DeviceKind::kCuda, DType::kFloat16, choose(TypeTag<Float16>{}));
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

// A formula on every device.
struct Streams {
  cpu::StreamFormula on_cpu;
  RowPart::Launch on_cuda;
};

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

// out[i] = formula(in[...]...), where `in` are the operands of `nest`.
Kernel broadcast_kernel(const std::shared_ptr<const cpu::BroadcastNest>& nest,
                        const Streams& formula,
                        const Cell* out,
                        const std::vector<const Cell*>& in,
                        bool is_sum);
template <class Formula, class Out, class... In>
Kernel broadcast_kernel(const std::shared_ptr<const cpu::BroadcastNest>& nest,
                        const Formula& formula,
                        Arg<Out> out,
                        Arg<In>... in) {
  Streams streams{cpu::stream_formula<Out, std::remove_const_t<In>...>(formula), nullptr};
  if constexpr (kHasCuda) {
    if (out.cell()->device != nullptr)
      streams.on_cuda = launch_broadcast<Formula, Out, In...>(nest, formula);
  }
  return broadcast_kernel(nest, streams, out.cell(), {in.cell()...}, std::is_same_v<Formula, Add>);
}

// out[i] = formula(in[i]...), all of one shape.
Kernel map_kernel(const Streams& formula,
                  const Cell* out,
                  const std::vector<const Cell*>& in,
                  RowForm form = RowForm::kOther);
template <class Formula, class Out, class... In>
Kernel map_kernel(const Formula& formula, Arg<Out> out, Arg<In>... in) {
  Streams streams{cpu::stream_formula<Out, std::remove_const_t<In>...>(formula), nullptr};
  if constexpr (kHasCuda) streams.on_cuda = launch_map<Formula, Out, In...>(formula);
  return map_kernel(streams, out.cell(), {in.cell()...});
}

// T for each number. (Not an alias of T alone, which nvcc would take for a type without a pack.)
template <class T, std::size_t>
struct SameFor {
  using Type = T;
};
template <class T, std::size_t k>
using Same = typename SameFor<T, k>::Type;

template <class T, class Formula, std::size_t... k>
Streams streams_of(DType dtype, const Formula& formula, std::index_sequence<k...> /*inputs*/) {
  Streams made{cpu::stream_formula<T, Same<T, k>...>(formula).stored_as(dtype), nullptr};
  if constexpr (kHasCuda) {
    made.on_cuda = launch_map<Formula, T, Same<const T, k>...>(formula);
    if constexpr (std::is_same_v<T, float>) {
      if (dtype == DType::kFloat16)
        made.on_cuda = launch_map<Formula, Float16, Same<const Float16, k>...>(formula);
      if (dtype == DType::kBFloat16)
        made.on_cuda = launch_map<Formula, BFloat16, Same<const BFloat16, k>...>(formula);
    }
  }
  return made;
}

// `formula` for `arity` inputs and an output of the kernel's dtype; T is the type to calculate in.
template <class T, std::size_t arity, class Formula>
Streams streams(const KernelContext& context, const Formula& formula) {
  return streams_of<T>(context.dtype(), formula, std::make_index_sequence<arity>());
}

// output = formula(inputs...), all of the kernel's dtype and of one shape; nothing where it is not
// wanted.
Kernel stream_kernel(const KernelContext& context,
                     const Streams& formula,
                     std::initializer_list<std::string_view> inputs,
                     std::string_view output,
                     RowForm form = RowForm::kOther);

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
