#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cpu/gather.h"
#include "fluidcore/kernels/cuda/gather.h"
#include "fluidcore/ops/axis.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/linear.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/row_numbers.h"

namespace fluidcore {

namespace {

// A single number has no dimension for another extent.
Shape with_extent(Shape shape, std::size_t axis, std::int64_t extent) {
  if (axis < shape.rank()) shape[axis] = extent;
  return shape;
}

// What Index takes, element by element: X is [outer, extent, inner] and Index [outer, count,
// inner], or one of the two is repeated along other dimensions than the axis, so that each element
// of Out has a position in X that has to be calculated first.
class Taken {
 public:
  // `element`: the width of one element. `links` says whether the kernel adds, with Links.
  Taken(const KernelContext& context, std::int64_t element, bool links);

  const cpu::IndexedRows& shape() const { return shape_; }
  // While the kernel runs: the elements of X, as rows of `shape`.
  cpu::RowIndex find() const;

  // For a kernel on a device: the same, after numbers().check().
  const RowNumbers& numbers() const { return numbers_; }
  bool is_repeated() const { return is_repeated_; }
  std::function<cpu::RowIndex()> finder(const KernelContext& context) const;

 private:
  // The positions of the elements [begin, begin + size) of Out.
  void locate(cpu::RowIndex index, std::int64_t begin, std::int64_t size, std::int64_t* to) const;

  std::size_t axis_;
  std::int64_t extent_;
  std::int64_t inner_;
  bool is_repeated_;
  RowNumbers numbers_;
  cpu::IndexedRows shape_;
  std::shared_ptr<const cpu::BroadcastNest> nest_;  // null: nothing is repeated
  ScratchPtr positions_;
};

Taken::Taken(const KernelContext& context, std::int64_t element, bool links)
    : axis_(axis_of_sequences(context, context.raw_input("X").shape())),
      extent_(SequencesOf(context.raw_input("X").shape(), axis_).count),
      inner_(SequencesOf(context.raw_input("X").shape(), axis_).inner),
      is_repeated_(with_extent(context.raw_input("X").shape(), axis_, 1) !=
                   with_extent(context.raw_input("Index").shape(), axis_, 1)),
      numbers_(context, "Index", {extent_, -1, is_repeated_ ? 1 : inner_}) {
  const Shape& x = context.raw_input("X").shape();
  const Shape& index = context.raw_input("Index").shape();
  if (!is_repeated_) {
    const std::int64_t count = SequencesOf(index, axis_).count;
    shape_ = {SequencesOf(x, axis_).outer, extent_ * inner_, count * inner_, element, true};
    return;
  }
  const Shape one = with_extent(x, axis_, 1);
  const Shape out = broadcast(one, index, -1, context.type());
  nest_ = std::make_shared<const cpu::BroadcastNest>(out, std::vector{one, index});
  shape_ = {1, x.num_elements(), out.num_elements(), element};
  const std::int64_t before = links ? cpu::num_links(shape_) : 0;
  constexpr std::int64_t kLine = 64 / sizeof(std::int64_t);
  const std::int64_t aligned = round_up(before, kLine);
  positions_ = std::make_shared<Scratch>(context.scratch(), aligned * sizeof(std::int64_t));
  positions_->reserve(static_cast<std::size_t>(shape_.count) * sizeof(std::int64_t));
}

cpu::RowIndex Taken::find() const {
  const cpu::RowIndex index = numbers_.checked();
  if (!nest_) return index;
  auto* const to = reinterpret_cast<std::int64_t*>(positions_->data());
  parallel_for(nest_->size(), cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
    locate(index, begin, end - begin, to + begin);
  });
  return {to, true};
}

void Taken::locate(cpu::RowIndex index,
                   std::int64_t begin,
                   std::int64_t size,
                   std::int64_t* to) const {
  cpu::for_row_pieces(
      *nest_, begin, size,
      [&](std::int64_t at, std::int64_t count, std::int64_t row, std::int64_t column) {
        const bool x_moves = nest_->streams(0);
        const bool index_moves = nest_->streams(1);
        std::int64_t beside = nest_->offset(0, row) + (x_moves ? column : 0);  // X without axis
        std::int64_t number = nest_->offset(1, row) + (index_moves ? column : 0);
        for (std::int64_t i = 0; i < count; ++i, beside += x_moves, number += index_moves) {
          const std::int64_t outer = beside / inner_;
          to[at + i] = beside + inner_ * (outer * (extent_ - 1) + index.number(number));
        }
      });
}

std::function<cpu::RowIndex()> Taken::finder(const KernelContext& context) const {
  if (!nest_) return [numbers = numbers_] { return numbers.index(); };
  const cuda::BroadcastIndex<2> index(*nest_);
  return [=, this, &device = context.device()]() -> cpu::RowIndex {
    auto* const to = reinterpret_cast<std::int64_t*>(positions_->data());
    cuda::for_each(device, shape_.count,
                   cuda::PositionsAlong{index, numbers_.index(), extent_, inner_}, to);
    return {to, true};
  };
}

Kernel take_along_axis(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const std::size_t element = size_of(x.spec().dtype);
  const auto taken =
      std::make_shared<const Taken>(context, static_cast<std::int64_t>(element), false);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return checked(
          taken->numbers().input(), [=] { taken->numbers().check(); },
          [=, &device = context.device(), find = taken->finder(context)] {
            cuda::take_rows(device, taken->shape(), find(), element, x.data(), out.data());
          });
    }
  }
  return [=] { cpu::take_rows(taken->shape(), taken->find(), x.data(), out.data()); };
}

template <class T>
Kernel take_along_axis_grad(const KernelContext& context) {
  const auto dx = context.optional_output<T>("X@GRAD");
  if (!dx) return nothing_to_do();
  const auto dout = context.input<T>("Out@GRAD");
  const auto taken = std::make_shared<const Taken>(context, 1, true);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      if (taken->is_repeated()) return Kernel();
      return checked(
          taken->numbers().input(), [=] { taken->numbers().check(); },
          [=, &device = context.device()] {
            cuda::add_rows(device, taken->shape(), taken->numbers().index(), dout.data(),
                           dx.data());
          });
    }
  }
  return [=, links = Links(context, taken->shape())] {
    cpu::add_rows<T>(taken->shape(), taken->find(), links.data(), dout.data(), nullptr, dx.data());
  };
}

// Checks the shapes of X and Index; gives that of what they make.
Shape taken_shape(const InferContext& context) {
  const TensorSpec& x = context.input("X");
  const std::size_t axis = axis_of_sequences(context, x.shape);
  const Shape& index = context.input("Index").shape;
  bool fits = index.rank() == x.shape.rank();
  for (std::size_t d = 0; fits && d < index.rank(); ++d) {
    fits = d == axis || index[d] == 1 || x.shape[d] == 1 || compatible(index[d], x.shape[d]);
  }
  require(fits, context.type(), ": X and Index must have equal extents or 1 in every dimension ",
          "but axis ", axis, ", got X ", x.shape, ", Index ", index);
  return broadcast(with_extent(x.shape, axis, 1), index, -1, context.type());
}

TensorSpec taken_spec(const InferContext& context) {
  require_row_numbers(context, "Index");
  return {taken_shape(context), context.input("X").dtype};
}

// The dimensions before the axis, as far as X is not repeated there.
std::size_t dims_before(const InferContext& context, std::string_view slot) {
  if (slot == "Index") return 0;
  const Shape& x = context.input("X").shape;
  const Shape out = taken_shape(context);
  std::size_t dims = 0;
  while (dims < dims_before_sequences(context, x) && x[dims] == out[dims]) ++dims;
  return dims;
}

OpDef with_axis_attr(OpDef&& def) {
  return std::move(def)
      .attr("axis", std::int64_t{-1}, "the dimension; from the end if negative")
      .row_dims(dims_before)
      .checks_data();
}

}  // namespace

void register_take_along_axis_ops(OpRegistry& registry) {
  registry.add(
      with_axis_attr(OpDef("take_along_axis"))
          .doc("Out[..., i, ...] = X[..., Index[..., i, ...], ...] along one dimension; along the "
               "others X and Index are broadcast as in NumPy.")
          .input("X", "any shape; a single number counts as [1]")
          .input("Index",
                 "int32 or int64, the rank of X, and its extents or 1 in all dimensions but axis; "
                 "each in [0, extent)")
          .output("Out", "the broadcast shape, with the extent of Index along axis; dtype of X")
          .infer([](InferContext& context) { context.set_output("Out", taken_spec(context)); })
          .kernels(byte_kernels_everywhere(take_along_axis))
          .grad(standard_grad({.inputs = {"X", "Index"}, .differentiable = {"X"}})));
  registry.add(
      with_axis_attr(OpDef("take_along_axis_grad"))
          .doc("X@GRAD = the sum of Out@GRAD where Index names the element, else 0.")
          .input("X", "input of the forward operator", kShapeOnly)
          .input("Index", "input of the forward operator")
          .input("Out@GRAD", "gradient of Out, shape of Out")
          .output("X@GRAD", "gradient of X, shape of X")
          .infer([](InferContext& context) {
            require_spec(context, "Out@GRAD", taken_spec(context));
            infer_grads_like_inputs(context);
          })
          .kernels(floating_kernels_everywhere([](auto tag) -> KernelFactory {
            return take_along_axis_grad<typename decltype(tag)::type>;
          }))
          .grad(adjoint_grad({.to = "X@GRAD", .type = "take_along_axis", .kept = {"Index"}})));
}

}  // namespace fluidcore
