#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "fluidcore/kernels/cpu/rows.h"
#include "fluidcore/ops/draw.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/shape_attr.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// A kernel for each dtype of whole numbers that are drawn.
template <class Choose>
KernelTable index_kernels(const Choose& choose) {
  return cpu_kernels<std::int32_t, std::int64_t>(choose);
}

DType checked_index_dtype(const InferContext& context) {
  const DType dtype = dtype_from_number(context.attr<std::int64_t>("dtype"));
  require(dtype == DType::kInt32 || dtype == DType::kInt64, context.type(),
          ": dtype must be int32 or int64, got ", dtype);
  return dtype;
}

OpDef with_index_dtype(OpDef&& def) {
  return std::move(def).attr("dtype", static_cast<std::int64_t>(DType::kInt64),
                             "number of Out's dtype, int32 or int64");
}

OpDef with_seed(OpDef&& def) {
  return std::move(def).attr("seed", std::int64_t{0}, kSeedDoc).not_differentiable().random();
}

// randint

template <class T>
Kernel randint(const KernelContext& context) {
  const auto out = context.output<T>("Out");
  const auto low = static_cast<std::uint64_t>(context.attr<std::int64_t>("low"));
  const auto count = static_cast<std::uint64_t>(context.attr<std::int64_t>("high")) - low;
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  return [=, size = out.size()] {
    draw_all(sequence(stream), size, out.data(),
             [=](const RandomSequence& numbers, std::uint64_t i) {
               return static_cast<std::int64_t>(low + draw_below(numbers, i, count));
             });
  };
}

KernelTable randint_kernels() {
  return index_kernels(
      [](auto tag) -> KernelFactory { return randint<typename decltype(tag)::type>; });
}

void infer_randint(InferContext& context) {
  const std::int64_t low = context.attr<std::int64_t>("low");
  const std::int64_t high = context.attr<std::int64_t>("high");
  require(low < high, context.type(), ": low must be below high, got low ", low, ", high ", high);
  using Narrow = std::numeric_limits<std::int32_t>;
  require(checked_index_dtype(context) == DType::kInt64 ||
              (low >= Narrow::min() && high - 1 <= Narrow::max()),
          context.type(), ": int32 numbers must be in the range of int32, got low ", low, ", high ",
          high);
  context.set_output("Out", spec_from_attrs(context));
}

OpDef randint_op(std::string type, const char* shape_doc) {
  return with_seed(
      with_index_dtype(
          OpDef(std::move(type))
              .doc("Out = random whole numbers from [low, high), each equally likely.")
              .output("Out", "the shape and dtype of the attributes")
              .required_attr("shape", std::vector<std::int64_t>{}, shape_doc)
              .required_attr("low", std::int64_t{0}, "the least number")
              .required_attr("high", std::int64_t{2}, "the limit of the numbers, above low"))
          .infer(infer_randint));
}

// bernoulli

template <class T>
Kernel bernoulli(const KernelContext& context) {
  using C = ComputeType<T>;
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  return [=, size = out.size()] {
    const T* from = x.data();
    for (std::int64_t i = 0; i < size; ++i) {
      const C probability = static_cast<C>(from[i]);
      require(probability >= C(0) && probability <= C(1),
              "bernoulli: X must hold probabilities in [0, 1], got ",
              static_cast<double>(probability), " at position ", i);
    }
    draw_all(sequence(stream), size, out.data(),
             [=](const RandomSequence& numbers, std::uint64_t i) {
               return numbers.uniform<C>(i) < static_cast<C>(from[i]) ? C(1) : C(0);
             });
  };
}

// multinomial

struct Classes {
  std::int64_t rows;
  std::int64_t classes;
  std::int64_t samples;
};

// Throws InvalidArgument for weights that say no distribution. A row needs `least` weights above 0.
template <class T>
void check_weights(const Classes& shape, std::int64_t least, const T* x) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    std::int64_t positive = 0;
    for (std::int64_t i = 0; i < shape.classes; ++i) {
      const auto weight = static_cast<double>(x[row * shape.classes + i]);
      require(weight >= 0.0 && std::isfinite(weight),
              "multinomial: X must hold finite weights of at least 0, got ", weight, " in row ",
              row);
      positive += weight > 0.0 ? 1 : 0;
    }
    require(positive >= least, "multinomial: each row of X must have at least ", least,
            " weights above 0 to draw from, got ", positive, " in row ", row);
  }
}

// The first class whose sum with those before it is above a share of the whole.
template <class T>
void draw_with_replacement(const Classes& shape,
                           const RandomSequence& numbers,
                           std::int64_t row,
                           const T* weights,
                           double* sums,
                           std::int64_t* out) {
  double sum = 0.0;
  std::int64_t last = 0;  // a rounded share may be the whole
  for (std::int64_t i = 0; i < shape.classes; ++i) {
    const auto weight = static_cast<double>(weights[i]);
    if (weight > 0.0) last = i;
    sums[i] = sum += weight;
  }
  for (std::int64_t i = 0; i < shape.samples; ++i) {
    const double share =
        sum * numbers.uniform<double>(static_cast<std::uint64_t>(row * shape.samples + i));
    const double* found = std::upper_bound(sums, sums + shape.classes, share);
    out[i] = std::min<std::int64_t>(found - sums, last);
  }
}

// Waiting times with the weights as rates: the order of arrival is that of drawing one after the
// other without those that are drawn already (Efraimidis and Spirakis 2006).
template <class T>
void draw_without_replacement(const Classes& shape,
                              const RandomSequence& numbers,
                              std::int64_t row,
                              const T* weights,
                              double* times,
                              std::int64_t* order,
                              std::int64_t* out) {
  for (std::int64_t i = 0; i < shape.classes; ++i) {
    const double u = numbers.uniform<double>(static_cast<std::uint64_t>(row * shape.classes + i));
    const auto weight = static_cast<double>(weights[i]);
    times[i] = weight > 0.0 ? -std::log1p(-u) / weight : std::numeric_limits<double>::infinity();
  }
  std::iota(order, order + shape.classes, std::int64_t{0});
  std::partial_sort(order, order + shape.samples, order + shape.classes,
                    [=](std::int64_t a, std::int64_t b) {
                      return times[a] != times[b] ? times[a] < times[b] : a < b;
                    });
  std::copy_n(order, shape.samples, out);
}

template <class T>
Kernel multinomial(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<std::int64_t>("Out");
  const std::int64_t classes = x.shape().back();
  const std::int64_t samples = context.attr<std::int64_t>("num_samples");
  const Classes shape{x.shape().product(0, x.shape().rank() - 1), classes, samples};
  const bool replacement = context.attr<bool>("replacement");
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  const Tensor numbers_of_classes({Shape{shape.rows, classes}, DType::kFloat64});
  const Tensor order({Shape{replacement ? 0 : shape.rows, classes}, DType::kInt64});
  return [=] {
    const T* from = x.data();
    check_weights(shape, replacement ? std::int64_t{1} : samples, from);
    const RandomSequence numbers = sequence(stream);
    auto* const reals = static_cast<double*>(numbers_of_classes.raw());
    auto* const indices = static_cast<std::int64_t*>(order.raw());
    std::int64_t* const to = out.data();
    cpu::for_rows(shape.rows, classes + samples, [=](std::int64_t row) {
      const std::int64_t first = row * classes;
      if (replacement) {
        draw_with_replacement(shape, numbers, row, from + first, reals + first, to + row * samples);
      } else {
        draw_without_replacement(shape, numbers, row, from + first, reals + first, indices + first,
                                 to + row * samples);
      }
    });
  };
}

void infer_multinomial(InferContext& context) {
  Shape shape = context.input("X").shape;
  require(shape.rank() >= 1, context.type(), ": X must have rank 1 or more, got ", shape);
  const std::int64_t samples = context.attr<std::int64_t>("num_samples");
  const bool replacement = context.attr<bool>("replacement");
  require(samples >= 1, context.type(), ": num_samples must be at least 1, got ", samples);
  require(replacement || shape.back() == -1 || samples <= shape.back(), context.type(),
          ": num_samples must be at most the number of classes without replacement, got ", samples,
          " for X ", shape);
  shape[shape.rank() - 1] = samples;
  context.set_output("Out", {shape, DType::kInt64});
}

// randperm

// Each element changes places with one that is not behind it (Fisher and Yates).
template <class T>
Kernel randperm(const KernelContext& context) {
  const auto out = context.output<T>("Out");
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  return [=, size = out.size()] {
    const RandomSequence numbers = sequence(stream);
    T* const to = out.data();
    std::iota(to, to + size, T{0});
    for (std::int64_t i = size; i-- > 1;) {
      const auto number = static_cast<std::uint64_t>(i);
      std::swap(to[i], to[draw_below(numbers, number, number + 1)]);
    }
  };
}

void infer_randperm(InferContext& context) {
  const std::int64_t n = context.attr<std::int64_t>("n");
  const DType dtype = checked_index_dtype(context);
  const std::int64_t most =
      dtype == DType::kInt32 ? std::numeric_limits<std::int32_t>::max() : std::int64_t{1} << 40;
  require(n >= 0 && n <= most, "randperm: n must be in [0, ", most, "], got ", n);
  context.set_output("Out", {Shape{n}, dtype});
}

}  // namespace

void register_choice_ops(OpRegistry& registry) {
  registry.add(randint_op("randint", kShapeDoc).kernels(randint_kernels()));
  registry.add(with_batch_size_like(randint_op("randint_batch_size_like", kShapeLikeDoc))
                   .kernels(byte_kernels<kernel_for_output<randint_kernels>>()));
  registry.add(with_seed(OpDef("bernoulli"))
                   .doc("Out = 1 with the probability X, else 0, element by element.")
                   .input("X", "probabilities in [0, 1], any shape, floating")
                   .output("Out", "shape and dtype of X")
                   .infer(same_as("X"))
                   .checks_data()
                   .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
                     return bernoulli<typename decltype(tag)::type>;
                   })));
  registry.add(
      with_seed(OpDef("multinomial"))
          .doc("Out = numbers of classes, drawn from the distribution that each row of X is in "
               "proportion to. Without replacement a class is drawn once at most, in the order of "
               "drawing one after the other (Efraimidis and Spirakis, Weighted Random Sampling "
               "with a Reservoir, 2006).")
          .input("X", "[..., classes], finite weights of at least 0, floating")
          .output("Out", "[..., num_samples], int64")
          .required_attr("num_samples", std::int64_t{1}, "how many are drawn from each row")
          .attr("replacement", false, "whether a class can be drawn again")
          .infer(infer_multinomial)
          .checks_data()
          .kernels(floating_cpu_kernels([](auto tag) -> KernelFactory {
            return multinomial<typename decltype(tag)::type>;
          })));
  registry.add(with_seed(with_index_dtype(OpDef("randperm")))
                   .doc("Out = the numbers from 0 to n - 1 in an order each of which is equally "
                        "likely.")
                   .output("Out", "[n]")
                   .required_attr("n", std::int64_t{0}, "how many")
                   .infer(infer_randperm)
                   .kernels(index_kernels([](auto tag) -> KernelFactory {
                     return randperm<typename decltype(tag)::type>;
                   })));
}

}  // namespace fluidcore
