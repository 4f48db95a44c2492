#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/kernels/cpu/multinomial.h"
#include "fluidcore/ops/draw.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/shape_attr.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

namespace {

// One kernel for int32 and int64.
KernelTable index_kernels(const KernelFactory& factory) {
  return cpu_kernels<std::int32_t, std::int64_t>([&](auto /*tag*/) { return factory; });
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

struct DrawWhole {
  std::uint64_t low;
  std::uint64_t count;
  FC_HOST_DEVICE std::int64_t operator()(const RandomSequence& numbers, std::uint64_t i) const {
    return static_cast<std::int64_t>(low + draw_below(numbers, i, count));
  }
};

Kernel randint(const KernelContext& context) {
  const auto out = context.raw_output("Out");
  const auto low = static_cast<std::uint64_t>(context.attr<std::int64_t>("low"));
  const auto count = static_cast<std::uint64_t>(context.attr<std::int64_t>("high")) - low;
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  return [=, size = out.size(), &device = context.device()] {
    const RandomSequence numbers = sequence(stream);
    const DrawWhole draw{low, count};
    if (out.spec().dtype == DType::kInt64) {
      draw_all(device, numbers, size, static_cast<std::int64_t*>(out.data()), draw);
    } else {
      draw_all(device, numbers, size, static_cast<std::int32_t*>(out.data()), draw);
    }
  };
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
              .required_attr("low", std::int64_t{0}, "the least number")
              .required_attr("high", std::int64_t{2}, "the limit of the numbers, above low")
              .required_attr("shape", std::vector<std::int64_t>{}, shape_doc))
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
    const auto draw = [=](const RandomSequence& numbers, std::uint64_t i) {
      return numbers.uniform<C>(i) < static_cast<C>(from[i]) ? C(1) : C(0);
    };
    const RandomSequence numbers = sequence(stream);
    if constexpr (std::is_same_v<T, C>) {
      draw_on_cpu(numbers, size, out.data(), draw);
    } else {  // seldom: without a loop for each kind of processor
      for (std::int64_t i = 0; i < size; ++i) {
        out.data()[i] = static_cast<T>(draw(numbers, static_cast<std::uint64_t>(i)));
      }
    }
  };
}

// multinomial

template <class T>
Kernel multinomial(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<std::int64_t>("Out");
  const std::int64_t classes = x.shape().back();
  const cpu::ClassDraws shape{x.shape().product(0, x.shape().rank() - 1), classes,
                              context.attr<std::int64_t>("num_samples")};
  const bool replacement = context.attr<bool>("replacement");
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  const Tensor weights({x.shape(), DType::kFloat64});
  const Tensor order({replacement ? Shape{0} : x.shape(), DType::kInt64});
  return [=, size = x.size()] {
    auto* const numbers = static_cast<double*>(weights.raw());
    for (std::int64_t i = 0; i < size; ++i) numbers[i] = static_cast<double>(x.data()[i]);
    auto* const places = static_cast<std::int64_t*>(order.raw());
    cpu::draw_classes(shape, sequence(stream), numbers, replacement ? nullptr : places, out.data());
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
void shuffle(const RandomSequence& numbers, std::int64_t size, T* to) {
  std::iota(to, to + size, T{0});
  for (std::int64_t i = size; i-- > 1;) {
    const auto number = static_cast<std::uint64_t>(i);
    std::swap(to[i], to[draw_below(numbers, number, number + 1)]);
  }
}

Kernel randperm(const KernelContext& context) {
  const auto out = context.raw_output("Out");
  const RandomStream stream = context.random(context.attr<std::int64_t>("seed"));
  return [=, size = out.size()] {
    if (out.spec().dtype == DType::kInt64) {
      shuffle(sequence(stream), size, static_cast<std::int64_t*>(out.data()));
    } else {
      shuffle(sequence(stream), size, static_cast<std::int32_t*>(out.data()));
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
  registry.add(randint_op("randint", kShapeDoc)
                   .kernels(kernels_everywhere<std::int32_t, std::int64_t>(
                       [](auto /*tag*/) -> KernelFactory { return randint; })));
  registry.add(with_batch_size_like(randint_op("randint_batch_size_like", kShapeLikeDoc))
                   .kernels(byte_kernels_everywhere(randint)));
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
                   .kernels(index_kernels(randperm)));
}

}  // namespace fluidcore
