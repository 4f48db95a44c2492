#include <cstddef>
#include <cstdint>

#include "fluidcore/kernels/functors.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/on_host.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/single_element.h"
#include "fluidcore/tensor/tensor_array.h"

namespace fluidcore {

namespace {

const SlotTraits kArray{.array = true};
constexpr const char* kIndexDoc = "int32 or int64, one element, at least 0";

std::int64_t checked(std::int64_t index, const char* who) {
  require(index >= 0, who, ": I must be at least 0, got ", index);
  return index;
}

// Throws InvalidArgument where nothing was written. `index` is at least 0.
const void* element(const TensorArray& array, std::int64_t index, const char* who) {
  const void* found = array.find(index);
  require(found != nullptr, who, ": element I of the array must have been written, got I ", index,
          ", an array of length ", array.size());
  return found;
}

Kernel write_to_array(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const Index index(context, "I");
  return [x, index, &array = context.array_output("Out")] {
    array.write(checked(index.value(), "write_to_array"), x.data());
  };
}

Kernel write_to_array_grad(const KernelContext& context) {
  const Index index(context, "I");
  const auto dx = optional_raw_output(context, "X@GRAD");
  const std::size_t bytes = dx ? byte_size(dx.spec()) : 0;
  return [dx, index, bytes, &array = context.array_output("Out@GRAD@OUT"),
          &device = context.device()] {
    const std::int64_t i = checked(index.value(), "write_to_array_grad");
    if (const void* found = array.find(i)) {
      if (dx) device.copy(dx.data(), found, bytes);
      array.clear(i);
    } else if (dx) {
      device.zero(dx.data(), bytes);
    }
  };
}

Kernel read_from_array(const KernelContext& context) {
  const Index index(context, "I");
  const auto out = context.raw_output("Out");
  const std::size_t bytes = byte_size(out.spec());
  const bool unset_is_zero = context.attr<bool>("unset_is_zero");
  return [out, index, bytes, unset_is_zero, &array = context.array_input("X"),
          &device = context.device()] {
    const std::int64_t i = checked(index.value(), "read_from_array");
    if (unset_is_zero && array.find(i) == nullptr) return device.zero(out.data(), bytes);
    const void* found = element(array, i, "read_from_array");
    // What the elements are may be told by a later operator only, so Like is checked here.
    require(array.element() == out.spec(), "read_from_array: Like must be as the elements of X, ",
            array.element(), ", got ", out.spec());
    device.copy(out.data(), found, bytes);
  };
}

template <class T>
Kernel read_from_array_grad(const KernelContext& context) {
  if (!context.has_output("X@GRAD")) return nothing_to_do();
  const Index index(context, "I");
  const auto dout = context.input<T>("Out@GRAD");
  return [dout, index, size = dout.size(), &array = context.array_output("X@GRAD"),
          &device = context.device()] {
    const std::int64_t i = checked(index.value(), "read_from_array_grad");
    if (void* found = array.find(i)) {
      T* const sum = static_cast<T*>(found);
      const T* const before = sum;
      if constexpr (kHasCuda) {
        if (!device.device().is_cpu()) {
          return cuda::map(device, Add(), size, sum, before, dout.data());
        }
      }
      cpu::elementwise(Add(), size, sum, before, dout.data());
    } else {
      array.write(i, dout.data());
    }
  };
}

Kernel lod_array_length(const KernelContext& context) {
  const auto out = context.output<std::int64_t>("Out");
  return [out, &array = context.array_input("X")] { write_element(out, array.size()); };
}

Kernel push_to_array(const KernelContext& context) {
  const auto x = context.raw_input("X");
  return [x, &array = context.array_output("ArrayOut")] {
    array.push(x.is_set() ? x.data() : nullptr);
  };
}

Kernel pop_from_array(const KernelContext& context) {
  const auto out = optional_raw_output(context, "Out");
  return [out, &array = context.array_output("ArrayOut")] {
    require(array.size() > 0, "pop_from_array: Array must hold an element, got an empty array");
    if (out) {
      array.pop(out.data());
    } else {
      array.drop();
    }
  };
}

std::vector<OpDesc> write_to_array_grad_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("Out@GRAD");
  if (grads[0] == kEmptyName) return {};
  const std::vector<std::string>& index = context.input("I");
  if (context.output("X@GRAD")[0] != kEmptyName) {
    return {OpDesc("write_to_array", {{"X", context.output_grad("X@GRAD")}, {"I", index}},
                   {{"Out", grads}})};
  }
  // Nothing was read there, but it was taken out: what is there now must go.
  return {OpDesc("write_to_array_grad",
                 {{"X", context.input("X")}, {"I", index}, {"Out@GRAD", grads}},
                 {{"X@GRAD", {std::string(kEmptyName)}}, {"Out@GRAD@OUT", grads}})};
}

std::vector<OpDesc> read_from_array_grad_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("Out@GRAD");
  if (grads[0] == kEmptyName) return {};
  return {OpDesc("read_from_array",
                 {{"X", context.output_grad("X@GRAD")},
                  {"I", context.input("I")},
                  {"Like", context.input("Out@GRAD")}},
                 {{"Out", grads}}, {{"unset_is_zero", true}})};
}

std::vector<OpDesc> write_to_array_to_grad(GradContext& context) {
  const std::vector<std::string> arrays = context.output_grad("Out");
  return {OpDesc("write_to_array_grad",
                 {{"X", context.input("X")}, {"I", context.input("I")}, {"Out@GRAD", arrays}},
                 {{"X@GRAD", context.input_grad("X")}, {"Out@GRAD@OUT", arrays}})};
}

std::vector<OpDesc> read_from_array_to_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  return {OpDesc("read_from_array_grad",
                 {{"I", context.input("I")}, {"Out@GRAD", context.output_grad("Out")}},
                 {{"X@GRAD", grads}})};
}

// The values that nobody wants the gradients of are not there to be popped.
std::vector<OpDesc> push_to_array_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  const std::vector<std::string> arrays = context.output_grad("ArrayOut");
  return {OpDesc("pop_from_array", {{"Array", arrays}}, {{"Out", grads}, {"ArrayOut", arrays}})};
}

std::vector<OpDesc> pop_from_array_grad(GradContext& context) {
  const std::vector<std::string> arrays = context.input_grad("Array");
  const std::vector<std::string> grads = context.output_grad("Out");
  if (arrays[0] == kEmptyName || grads.empty() || grads[0] == kEmptyName) return {};
  return {OpDesc("push_to_array", {{"X", grads}, {"Array", arrays}}, {{"ArrayOut", arrays}})};
}

void add_write(OpRegistry& registry) {
  registry.add(OpDef("write_to_array")
                   .doc("Out[I] = X. An array that is too short grows.")
                   .input("X", "any shape, like the elements that are in the array")
                   .input("I", kIndexDoc)
                   .output("Out", "the array, changed in place", kArray)
                   .infer([](InferContext& context) {
                     require_index(context, "I");
                     context.set_output("Out", context.input("X"));
                   })
                   .kernels(byte_kernels_everywhere(write_to_array))
                   .grad(write_to_array_to_grad)
                   .checks_data());
  registry.add(
      OpDef("write_to_array_grad")
          .doc("X@GRAD = Out@GRAD[I], or 0 if there is none, which is then taken out of the array.")
          .input("X", "input of the forward operator", {.shape_only = true})
          .input("I", kIndexDoc)
          .input("Out@GRAD", "gradients of the elements", kArray)
          .output("X@GRAD", "gradient of X, shape of X")
          .output("Out@GRAD@OUT", "the array Out@GRAD", kArray)
          .infer([](InferContext& context) {
            require_index(context, "I");
            context.set_output("X@GRAD", context.input("X"));
            context.set_output("Out@GRAD@OUT", context.input("X"));
          })
          .kernels(byte_kernels_everywhere(write_to_array_grad))
          .grad(write_to_array_grad_grad)
          .checks_data());
}

void add_read(OpRegistry& registry) {
  registry.add(OpDef("read_from_array")
                   .doc("Out = X[I], an element that was written before.")
                   .input("X", "the array", kArray)
                   .input("I", kIndexDoc)
                   .input("Like", "has the shape of the elements; needed where none may be written",
                          {.optional = true, .shape_only = true})
                   .output("Out", "shape and dtype of the elements")
                   .attr("unset_is_zero", false, "whether an element may be missing; it is 0 then")
                   .infer([](InferContext& context) {
                     require_index(context, "I");
                     context.set_output("Out",
                                        context.input(context.has_input("Like") ? "Like" : "X"));
                   })
                   .kernels(byte_kernels_everywhere(read_from_array))
                   .grad(read_from_array_to_grad)
                   .checks_data());
  registry.add(OpDef("read_from_array_grad")
                   .doc("X@GRAD[I] += Out@GRAD.")
                   .input("I", kIndexDoc)
                   .input("Out@GRAD", "gradient of Out, shape of the elements")
                   .output("X@GRAD", "gradients of the elements, changed in place", kArray)
                   .infer([](InferContext& context) {
                     require_index(context, "I");
                     context.set_output("X@GRAD", context.input("Out@GRAD"));
                   })
                   .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
                     return read_from_array_grad<typename decltype(tag)::type>;
                   }))
                   .grad(read_from_array_grad_grad)
                   .checks_data());
  registry.add(
      OpDef("lod_array_length")
          .doc("Out = the number of elements of X: 1 more than the last index written.")
          .input("X", "the array", {.array = true, .rows = true})
          .output("Out", "int64 [1]")
          .infer([](InferContext& context) { context.set_output("Out", {{1}, DType::kInt64}); })
          .kernels(byte_kernels_everywhere(lod_array_length))
          .not_differentiable());
}

void add_push_to_array(OpRegistry& registry) {
  registry.add(
      OpDef("push_to_array")
          .doc("Adds X to the end of the array; zeros where nothing was written to X.")
          .input("X", "any shape, like the elements that are in the array", {.may_be_unset = true})
          .input("Array", "the array", kArray)
          .output("ArrayOut", "the same variable, changed in place", kArray)
          .infer([](InferContext& context) { context.set_output("ArrayOut", context.input("X")); })
          .kernels(byte_kernels_everywhere(push_to_array))
          .view("X", "ArrayOut")
          .grad(push_to_array_grad)
          .mixed_dtypes()
          .checks_data());  // and there may be no memory
  registry.add(OpDef("pop_from_array")
                   .doc("Out = the last element of the array, which is taken out.")
                   .input("Array", "the array", kArray)
                   .output("Out", "shape and dtype of the elements")
                   .output("ArrayOut", "the same variable, changed in place", kArray)
                   .infer([](InferContext& context) {
                     context.set_output("Out", context.input("Array"));
                     context.set_output("ArrayOut", context.input("Array"));
                   })
                   .kernels(byte_kernels_everywhere(pop_from_array))
                   .view("Array", "Out")
                   .grad(pop_from_array_grad)
                   .checks_data());
}

}  // namespace

void register_array_ops(OpRegistry& registry) {
  add_write(registry);
  add_read(registry);
  add_push_to_array(registry);
}

}  // namespace fluidcore
