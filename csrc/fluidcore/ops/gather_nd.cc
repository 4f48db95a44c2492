#include <algorithm>
#include <utility>

#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cuda/gather.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/on_host.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

namespace {

// The parts of X that the last dimension of Index names by one number for each of X's first
// dimensions.
class Parts {
 public:
  // `element`: the width of one element.
  Parts(const KernelContext& context, std::int64_t element)
      : who_(context.type()),
        index_(context.raw_input("Index")),
        on_host_(index_),
        scratch_(context.scratch()),
        extents_(context.raw_input("X").shape()) {
    depth_ = static_cast<std::size_t>(index_.shape().back());
    const std::int64_t count = index_.shape().product(0, index_.shape().rank() - 1);
    shape_ = {1, extents_.product(0, depth_), count,
              extents_.product(depth_, extents_.rank()) * element};
    const std::int64_t memory = count + cpu::num_links(shape_);
    scratch_->reserve(static_cast<std::size_t>(memory) * sizeof(std::int64_t));
  }

  const cpu::IndexedRows& shape() const { return shape_; }
  std::int64_t* links() const { return parts() + shape_.count; }

  // Throws InvalidArgument for the first index that names no part.
  cpu::RowIndex checked() const {
    check();
    const cpu::RowIndex index = numbers(index_.data());
    for (std::int64_t i = 0, position = 0; i < shape_.count; ++i) {
      std::int64_t part = 0;
      for (std::size_t axis = 0; axis < depth_; ++axis, ++position) {
        part = part * extents_[axis] + index[position];
      }
      parts()[i] = part;
    }
    return {parts(), true};
  }

  // The same in two steps, for a kernel on a device.
  bool fits_device() const { return depth_ <= cuda::PartNumbers::kMostAxes; }
  Arg<const void> input() const { return index_; }
  void check() const {
    const cpu::RowIndex index = numbers(on_host_.data());
    const auto depth = static_cast<std::int64_t>(depth_);
    for (std::int64_t position = 0; position < shape_.count * depth; ++position) {
      const std::int64_t extent = extents_[static_cast<std::size_t>(position % depth)];
      const std::int64_t number = index[position];
      require(number >= 0 && number < extent, who_, ": Index must be in [0, ", extent,
              ") for dimension ", position % depth, " of X, got ", number, " at position ",
              position);
    }
  }
  cpu::RowIndex on(DeviceContext& device) const {
    cuda::PartNumbers body{numbers(index_.data()), static_cast<int>(depth_), {}};
    std::copy_n(extents_.begin(), depth_, body.extents);
    cuda::for_each(device, shape_.count, body, parts());
    return {parts(), true};
  }

 private:
  cpu::RowIndex numbers(const void* index) const {
    return {index, index_.spec().dtype == DType::kInt64};
  }
  std::int64_t* parts() const { return reinterpret_cast<std::int64_t*>(scratch_->data()); }

  std::string who_;
  Arg<const void> index_;
  OnHost on_host_;
  ScratchPtr scratch_;
  Shape extents_;
  std::size_t depth_ = 0;
  cpu::IndexedRows shape_{};
};

Kernel gather_nd(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const std::size_t element = size_of(x.spec().dtype);
  const Parts parts(context, static_cast<std::int64_t>(element));
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      if (!parts.fits_device()) return Kernel();
      return checked(
          parts.input(), [=] { parts.check(); },
          [=, &device = context.device()] {
            cuda::take_rows(device, parts.shape(), parts.on(device), element, x.data(), out.data());
          });
    }
  }
  return [=] { cpu::take_rows(parts.shape(), parts.checked(), x.data(), out.data()); };
}

template <class T>
Kernel scatter_nd_add(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto updates = context.input<T>("Updates");
  const auto out = context.output<T>("Out");
  const Parts parts(context, 1);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      if (!parts.fits_device()) return Kernel();
      return checked(
          parts.input(), [=] { parts.check(); },
          [=, &device = context.device(), bytes = byte_size(x.spec())] {
            if (out.data() != x.data()) device.copy(out.data(), x.data(), bytes);
            cuda::add_rows_to(device, parts.shape(), parts.on(device), updates.data(), out.data());
          });
    }
  }
  return [=] {
    cpu::add_rows<T>(parts.shape(), parts.checked(), parts.links(), updates.data(), x.data(),
                     out.data());
  };
}

// Checks X and Index; gives the spec of the parts.
TensorSpec parts_spec(const InferContext& context) {
  require_row_numbers(context, "Index");
  const TensorSpec& x = context.input("X");
  const Shape& index = context.input("Index").shape;
  require(index.rank() > 0 && index.back() != -1, context.type(),
          ": Index must have a last dimension of known extent, got ", index);
  const std::int64_t depth = index.back();
  require(depth <= static_cast<std::int64_t>(x.shape.rank()), context.type(),
          ": the last extent of Index must be at most the rank of X, got Index ", index, ", X ",
          x.shape);
  std::vector<std::int64_t> extents(index.begin(), index.end() - 1);
  extents.insert(extents.end(), x.shape.begin() + depth, x.shape.end());
  return {Shape(std::move(extents)), x.dtype};
}

void infer_scatter_nd_add(InferContext& context) {
  const TensorSpec parts = parts_spec(context);
  require_spec(context, "Updates", parts);
  context.set_output("Out", context.input("X"));
}

// To zeros the gradient of each part is added where it came from.
std::vector<OpDesc> gather_nd_grad(GradContext& context) {
  const std::vector<std::string> grads = context.input_grad("X");
  if (grads[0] == kEmptyName) return {};
  const std::string zeros = grads[0] + "@ZEROS";
  return {OpDesc("fill_zeros_like", {{"X", context.input("X")}}, {{"Out", {zeros}}}),
          OpDesc("scatter_nd_add",
                 {{"X", {zeros}},
                  {"Index", context.input("Index")},
                  {"Updates", context.output_grad("Out")}},
                 {{"Out", grads}})};
}

std::vector<OpDesc> scatter_nd_add_grad(GradContext& context) {
  std::vector<OpDesc> ops;
  const std::vector<std::string> dout = context.output_grad("Out");
  const std::vector<std::string> dx = context.input_grad("X");
  const std::vector<std::string> dupdates = context.input_grad("Updates");
  if (dx[0] != kEmptyName) ops.push_back(OpDesc("assign", {{"X", dout}}, {{"Out", dx}}));
  if (dupdates[0] != kEmptyName) {
    ops.push_back(
        OpDesc("gather_nd", {{"X", dout}, {"Index", context.input("Index")}}, {{"Out", dupdates}}));
  }
  return ops;
}

}  // namespace

void register_gather_nd_ops(OpRegistry& registry) {
  const char* index_doc =
      "int32 or int64 [..., K], K at most the rank of X: positions in X's first K dimensions";
  registry.add(
      OpDef("gather_nd")
          .doc("Out = the parts of X at the positions that Index gives.")
          .input("X", "any shape")
          .input("Index", index_doc)
          .output("Out", "extents of Index but the last, then those of X after the first K")
          .infer([](InferContext& context) { context.set_output("Out", parts_spec(context)); })
          .kernels(byte_kernels_everywhere(gather_nd))
          .grad(gather_nd_grad)
          .checks_data());
  registry.add(
      OpDef("scatter_nd_add")
          .doc("Out = X, with Updates added to the parts at the positions that Index gives; to a "
               "part as often as it is named.")
          .input("X", "any shape, floating or int32 or int64")
          .input("Index", index_doc)
          .input("Updates", "extents of Index but the last, then those of X after the first K")
          .output("Out", "shape and dtype of X")
          .in_place("X", "Out")
          .infer(infer_scatter_nd_add)
          .kernels(kernels_everywhere<float, double, BFloat16, std::int32_t, std::int64_t>(
              [](auto tag) -> KernelFactory {
                return scatter_nd_add<typename decltype(tag)::type>;
              }))
          .grad(scatter_nd_add_grad)
          .checks_data());
}

}  // namespace fluidcore
