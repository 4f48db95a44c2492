#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "fluidcore/kernels/cpu/broadcast.h"
#include "fluidcore/kernels/cpu/row_loss.h"
#include "fluidcore/kernels/cuda/row_loss.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/softmax.h"

namespace fluidcore {

namespace {

const SlotTraits kIntermediate{.intermediate = true, .no_gradient = true};

// A single number counts as [1].
std::int64_t num_rows(const Shape& x) {
  return x.rank() == 0 ? 1 : x[0];
}

template <class T>
cpu::RowPairs row_pairs(const Arg<T>& x, const Arg<T>& y) {
  const std::size_t rank = x.shape().rank();
  return {num_rows(x.shape()), x.shape().product(std::min<std::size_t>(rank, 1), rank),
          num_rows(y.shape())};
}

// The shape of one number for each row of X.
Shape row_results(const InferContext& context) {
  return {num_rows(context.input("X").shape), 1};
}

// The dimension that numbers the rows, if there is one.
std::size_t row_dims(const InferContext& context, std::string_view slot) {
  return std::min<std::size_t>(context.input(slot).shape.rank(), 1);
}

// As row_results, for a Y of as many rows as X or of one.
Shape pair_results(const InferContext& context) {
  const Shape out = row_results(context);
  const Shape& x = context.input("X").shape;
  const Shape& y = context.input("Y").shape;
  Shape one_row = x;
  if (one_row.rank() > 0) one_row[0] = 1;
  require(compatible(y, x) || compatible(y, one_row), context.type(), ": Y must have shape ", x,
          " or ", one_row, ", got ", y);
  return out;
}

// Each row in one dimension.
Expr flat_rows(const Expr& x) {
  return x.owner().op("flatten", {{"X", x}}, {{"axis", std::int64_t{1}}});
}

Expr sqrt(const Expr& x) {
  return x.owner().op("sqrt", {{"X", x}});
}

template <class T>
Kernel smooth_l1(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto weight = [&](const char* slot) {
    return context.has_input(slot) ? context.input<T>(slot) : Arg<const T>();
  };
  const auto diff = context.optional_output<T>("Diff");
  const auto out = context.output<T>("Out");
  const double sigma = context.attr<double>("sigma");
  const cpu::RowPairs pairs = row_pairs(x, y);
  const auto inside = weight("InsideWeight");
  const auto outside = weight("OutsideWeight");
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each_group(device, pairs.rows, pairs.columns,
                             cuda::SmoothL1Rows<T>{pairs, static_cast<T>(sigma * sigma)}, x.data(),
                             y.data(), data_or_null(inside), data_or_null(outside),
                             data_or_null(diff), out.data());
      });
    }
  }
  return [=] {
    cpu::smooth_l1(pairs, static_cast<T>(sigma * sigma), x.data(), y.data(), data_or_null(inside),
                   data_or_null(outside), data_or_null(diff), out.data());
  };
}

// sigma^2 times the huber loss of 1 / sigma^2, summed over rows.
void decompose_smooth_l1(Decomposition& d) {
  const double curvature = d.attr<double>("sigma") * d.attr<double>("sigma");
  Expr x = flat_rows(d.input("X"));
  Expr y = flat_rows(d.input("Y"));
  if (d.has_input("InsideWeight")) {  // weighted apart, close numbers would lose their difference
    x = (x - y) * flat_rows(d.input("InsideWeight"));
    y = d.op("fill_zeros_like", {{"X", x}}, {});
  }
  const Expr loss =
      curvature * d.op("huber_loss", {{"X", x}, {"Y", y}}, {{"delta", 1.0 / curvature}});
  d.set("Out", sum_of_row(d.has_input("OutsideWeight") ? loss * flat_rows(d.input("OutsideWeight"))
                                                       : loss));
}

void infer_smooth_l1(InferContext& context) {
  const double sigma = context.attr<double>("sigma");
  require(sigma > 0.0, context.type(), ": sigma must be above 0, got ", sigma);
  const Shape out = row_results(context);
  const TensorSpec& x = context.input("X");
  for (const char* slot : {"Y", "InsideWeight", "OutsideWeight"}) {
    if (context.has_input(slot)) require_spec(context, slot, x);
  }
  context.set_output("Diff", x);
  context.set_output("Out", {out, x.dtype});
}

void add_smooth_l1(OpRegistry& registry) {
  registry.add(
      OpDef("smooth_l1_loss")
          .doc("Diff = (X - Y) InsideWeight; Out = the sum, over each row, of OutsideWeight "
               "(sigma^2 Diff^2 / 2 where |Diff| < 1 / sigma^2, else |Diff| - 1 / (2 sigma^2)). "
               "Without a weight it is 1.")
          .input("X", "[N, ...], floating; a single number counts as [1]")
          .input("Y", "shape and dtype of X")
          .input("InsideWeight", "shape and dtype of X", {.optional = true})
          .input("OutsideWeight", "shape and dtype of X", {.optional = true})
          .output("Diff", "shape and dtype of X", kIntermediate)
          .output("Out", "[N, 1], dtype of X")
          .attr("sigma", 1.0, "where parabola and line meet: at 1 / sigma^2")
          .row_dims(row_dims)
          .infer(infer_smooth_l1)
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return smooth_l1<typename decltype(tag)::type>; }))
          .decompose(decompose_smooth_l1));
}

template <class T>
Kernel squared_l2_distance(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto difference = context.optional_output<T>("sub_result");
  const auto out = context.output<T>("Out");
  const cpu::RowPairs pairs = row_pairs(x, y);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        cuda::for_each_group(device, pairs.rows, pairs.columns, cuda::SquaredDistanceRows{pairs},
                             x.data(), y.data(), data_or_null(difference), out.data());
      });
    }
  }
  return [=] {
    cpu::squared_distance(pairs, x.data(), y.data(), data_or_null(difference), out.data());
  };
}

// Rows are those of X where Y has as many.
std::size_t pair_row_dims(const InferContext& context, std::string_view slot) {
  return context.input("X").shape == context.input("Y").shape ? row_dims(context, slot) : 0;
}

void add_squared_l2_distance(OpRegistry& registry) {
  registry.add(OpDef("squared_l2_distance")
                   .doc("sub_result = X - Y; Out = the sum of its squares over each row.")
                   .input("X", "[N, ...], floating; a single number counts as [1]")
                   .input("Y", "shape of X, or one row for all; dtype of X")
                   .output("sub_result", "[N, elements of a row], dtype of X", kIntermediate)
                   .output("Out", "[N, 1], dtype of X")
                   .row_dims(pair_row_dims)
                   .infer([](InferContext& context) {
                     const TensorSpec& x = context.input("X");
                     const Shape out = pair_results(context);
                     require_dtype(context, "Y", x.dtype);
                     const std::size_t rank = x.shape.rank();
                     const Shape flat{num_rows(x.shape),
                                      x.shape.product(std::min<std::size_t>(rank, 1), rank)};
                     context.set_output("sub_result", {flat, x.dtype});
                     context.set_output("Out", {out, x.dtype});
                   })
                   .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
                     return squared_l2_distance<typename decltype(tag)::type>;
                   }))
                   .decompose([](Decomposition& d) {
                     const Expr difference = flat_rows(d.input("X")) - flat_rows(d.input("Y"));
                     d.set("Out", sum_of_row(square(difference)));
                   }));
}

template <class T>
Kernel cos_sim(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto y = context.input<T>("Y");
  const auto out = context.output<T>("Out");
  const auto pairs = row_pairs(x, y);
  const OutputOrScratch<T> x_norm(context, "XNorm", pairs.rows);
  const OutputOrScratch<T> y_norm(context, "YNorm", pairs.y_rows);
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) {
      return Kernel::enqueued([=, &device = context.device()] {
        const cuda::NormOfRows norm{pairs.columns};
        cuda::for_each_group(device, pairs.rows, pairs.columns, norm, x.data(), x_norm.data());
        cuda::for_each_group(device, pairs.y_rows, pairs.columns, norm, y.data(), y_norm.data());
        cuda::for_each_group(device, pairs.rows, pairs.columns, cuda::CosineOfRows{pairs}, x.data(),
                             y.data(), static_cast<const T*>(x_norm.data()),
                             static_cast<const T*>(y_norm.data()), out.data());
      });
    }
  }
  return [=] {
    cpu::row_norms(pairs.rows, pairs.columns, x.data(), x_norm.data());
    cpu::row_norms(pairs.y_rows, pairs.columns, y.data(), y_norm.data());
    cpu::row_cosines(pairs, x.data(), y.data(), x_norm.data(), y_norm.data(), out.data());
  };
}

void add_cos_sim(OpRegistry& registry) {
  registry.add(
      OpDef("cos_sim")
          .doc("Out = the sum of X Y / (XNorm YNorm) over each row, where XNorm and YNorm are the "
               "roots of the sums of squares; NaN for a row of zeros.")
          .input("X", "[N, ...], floating; a single number counts as [1]")
          .input("Y", "shape of X, or one row for all; dtype of X")
          .output("Out", "[N, 1], dtype of X")
          .output("XNorm", "[N, 1], dtype of X", kIntermediate)
          .output("YNorm", "[N, 1] or [1, 1], dtype of X", kIntermediate)
          .row_dims(pair_row_dims)
          .infer([](InferContext& context) {
            const Shape out = pair_results(context);
            const DType dtype = context.input("X").dtype;
            require_dtype(context, "Y", dtype);
            context.set_output("Out", {out, dtype});
            context.set_output("XNorm", {out, dtype});
            context.set_output("YNorm", {{num_rows(context.input("Y").shape), 1}, dtype});
          })
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return cos_sim<typename decltype(tag)::type>; }))
          .decompose([](Decomposition& d) {
            const Expr x = flat_rows(d.input("X"));
            const Expr y = flat_rows(d.input("Y"));
            const Expr norms = sqrt(sum_of_row(square(x))) * sqrt(sum_of_row(square(y)));
            d.set("Out", sum_of_row(x * y) / norms);
          }));
}

struct Mixed {
  double share;
  template <class T>
  FC_HOST_DEVICE T operator()(T x, T other) const {
    return static_cast<T>(1.0 - share) * x + static_cast<T>(share) * other;
  }
};

struct MixedWithNumber {
  Mixed mixed;
  double number;
  template <class T>
  FC_HOST_DEVICE T operator()(T x) const {
    return mixed(x, static_cast<T>(number));
  }
};

template <class T>
Kernel label_smooth(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const Mixed mixed{context.attr<double>("epsilon")};
  const std::int64_t classes = x.shape().back();
  if (!context.has_input("PriorDist")) {
    const double uniform = 1.0 / static_cast<double>(classes);
    return map_kernel(MixedWithNumber{mixed, uniform}, out, x);
  }
  const std::size_t rank = x.shape().rank();
  const auto nest = std::make_shared<const cpu::BroadcastNest>(
      x.shape(), std::vector{x.shape(), align({classes}, -1, rank, rank)});
  return broadcast_kernel(nest, mixed, out, x, context.input<T>("PriorDist"));
}

void infer_label_smooth(InferContext& context) {
  const TensorSpec& x = context.input("X");
  require(x.shape.rank() >= 1, context.type(), ": X must have rank 1 or more, got ", x.shape);
  const double epsilon = context.attr<double>("epsilon");
  require(epsilon >= 0.0 && epsilon <= 1.0, context.type(), ": epsilon must be in [0, 1], got ",
          epsilon);
  if (context.has_input("PriorDist")) {
    require_spec(context, "PriorDist", {{1, x.shape.back()}, x.dtype});
  }
  context.set_output("Out", x);
}

void decompose_label_smooth(Decomposition& d) {
  const double epsilon = d.attr<double>("epsilon");
  const Expr kept = (1.0 - epsilon) * d.input("X");
  // A constant has no part in gradients, so its size does not matter.
  d.set("Out", d.has_input("PriorDist")
                   ? kept + d.op("reshape", {{"X", epsilon * d.input("PriorDist")}},
                                 {{"shape", std::vector<std::int64_t>{-1}}})
                   : kept);
}

void add_label_smooth(OpRegistry& registry) {
  registry.add(
      OpDef("label_smooth")
          .doc("Out = (1 - epsilon) X + epsilon PriorDist, or + epsilon / D without PriorDist.")
          .input("X", "[..., D], distributions over D classes, floating")
          .input("PriorDist", "[1, D], dtype of X: what labels are mixed with", {.optional = true})
          .output("Out", "shape and dtype of X")
          .attr("epsilon", 0.0, "how much is mixed in, in [0, 1]")
          .row_dims([](const InferContext& context, std::string_view slot) {
            return slot == "X" ? context.input("X").shape.rank() : std::size_t{0};
          })
          .infer(infer_label_smooth)
          .kernels(kernels_everywhere<float, double, BFloat16>(
              [](auto tag) -> KernelFactory { return label_smooth<typename decltype(tag)::type>; }))
          .decompose(decompose_label_smooth));
}

}  // namespace

void register_row_loss_ops(OpRegistry& registry) {
  add_cos_sim(registry);
  add_label_smooth(registry);
  add_smooth_l1(registry);
  add_squared_l2_distance(registry);
}

}  // namespace fluidcore
