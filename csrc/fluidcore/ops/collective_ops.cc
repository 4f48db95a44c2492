#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/op/communicator.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/tensor/selected_rows.h"

namespace fluidcore {

namespace {

// "c_allreduce_sum of fc_0.w_0@GRAD, fc_0.b_0@GRAD and 3 more"
std::string label_of(const KernelContext& context) {
  constexpr std::size_t kMost = 2;
  const std::vector<std::string>& names = context.op().input("X");
  const std::size_t shown = std::min(names.size(), kMost);
  const std::string first =
      join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)});
  const std::string more =
      names.size() > shown ? str_cat(" and ", names.size() - shown, " more") : "";
  return str_cat(context.type(), " of ", first, more);
}

// The ranks of a run, for one operator.
class Ranks {
 public:
  explicit Ranks(const KernelContext& context)
      : type_(context.type()), label_(label_of(context)), state_(context.run_state()) {}

  const std::string& label() const { return label_; }

  // f(communicator)
  template <class F>
  auto with(const F& f) const {
    require(state_.communicator != nullptr, type_,
            ": the Executor must have a communicator, got none; write "
            "Executor(communicator=fluid.parallel.world())");
    return f(*state_.communicator);
  }

 private:
  std::string type_;
  std::string label_;
  const RunState& state_;
};

// What this rank's values count.
class Share {
 public:
  explicit Share(const KernelContext& context) : averages_(context.attr<bool>("average")) {
    if (context.has_input("Samples")) samples_ = context.input<std::int64_t>("Samples");
  }

  double of(const Communicator& communicator, const std::string& label) const {
    if (!averages_) return 1;
    if (!samples_) return 1.0 / communicator.size();
    const std::int64_t own = samples_.data()[0];
    const std::int64_t all = samples_.data()[1];
    require(own >= 0 && own <= all && all > 0, label,
            ": Samples must be the number of this rank's and the positive one of all ranks, got ",
            own, " and ", all);
    return static_cast<double>(own) / static_cast<double>(all);
  }

 private:
  bool averages_;
  Arg<const std::int64_t> samples_;
};

// 16 bits are added up in float32.
template <class T>
using SumType = std::conditional_t<std::is_integral_v<T>, T, ComputeType<T>>;

template <class From, class To>
void scale_into(const From* from, std::int64_t size, double factor, To* to) {
  using Compute = std::conditional_t<std::is_same_v<To, SumType<To>>, To, From>;
  parallel_for(size, cpu::kGrain, [=](std::int64_t begin, std::int64_t end) {
    const auto scale = static_cast<Compute>(factor);
    for (std::int64_t i = begin; i < end; ++i) {
      to[i] = static_cast<To>(static_cast<Compute>(from[i]) * scale);
    }
  });
}

// What a kernel adds up, and the sums: the same memory in every run, unless an operation has it.
template <class Sum>
class SumMemory {
 public:
  struct Both {
    Communicator::Elements own;
    Communicator::Elements sum;
  };

  Both of(std::int64_t size) {
    if (!held_ || held_.use_count() > 1) {
      held_ = std::make_shared<std::vector<Sum>>(static_cast<std::size_t>(2 * size));
    }
    return {{held_->data(), size, dtype_of<Sum>, held_},
            {held_->data() + size, size, dtype_of<Sum>, held_}};
  }

 private:
  std::shared_ptr<std::vector<Sum>> held_;
};

template <class T>
Kernel allreduce_sum(const KernelContext& context) {
  using Sum = SumType<T>;
  std::vector<Arg<const T>> parts;
  parts.reserve(context.input_count("X"));
  std::int64_t size = 0;
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    parts.push_back(context.input<T>("X", i));
    size += parts.back().size();
  }
  const auto request = context.output<std::int64_t>("Request");
  return [=, share = Share(context), ranks = Ranks(context), memory = SumMemory<Sum>()]() mutable {
    ranks.with([&](Communicator& communicator) {
      const double factor = share.of(communicator, ranks.label());
      const auto [own, sum] = memory.of(size);
      auto* to = static_cast<Sum*>(own.data);
      for (const auto& part : parts) {
        scale_into(part.data(), part.size(), factor, to);
        to += part.size();
      }
      *request.data() = communicator.begin_sum(own, sum, ranks.label());
    });
  };
}

void infer_allreduce_sum(InferContext& context) {
  require(context.input_count("X") > 0, context.type(),
          ": X must hold at least one variable, got none");
  const DType dtype = context.input("X").dtype;
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    const TensorSpec& x = context.input("X", i);
    require(x.dtype == dtype, context.type(), ": all of X must have one dtype, got ",
            context.input("X"), " and, at position ", i, ", ", x);
  }
  if (context.has_input("Samples")) {
    const TensorSpec& samples = context.input("Samples");
    require(samples.dtype == DType::kInt64 && compatible(samples.shape.num_elements(), 2),
            context.type(), ": Samples must be int64 [2], got ", samples);
  }
  require(!context.attr<bool>("average") || is_floating(dtype), context.type(),
          ": X must be floating where average is true, got ", context.input("X"));
  context.set_output("Request", {Shape({1}), DType::kInt64});
}

template <class T>
Kernel wait_kernel(const KernelContext& context) {
  using Sum = SumType<T>;
  const auto request = context.input<std::int64_t>("Request");
  std::vector<Arg<T>> parts;
  parts.reserve(context.output_count("Out"));
  for (std::size_t i = 0; i < context.output_count("Out"); ++i) {
    parts.push_back(context.output<T>("Out", i));
  }
  return [=, ranks = Ranks(context)] {
    ranks.with([&](Communicator& communicator) {
      const Communicator::Elements sum = communicator.end_sum(*request.data());
      const auto* from = static_cast<const Sum*>(sum.data);
      for (const auto& part : parts) {
        scale_into(from, part.size(), 1, part.data());
        from += part.size();
      }
    });
  };
}

void infer_wait(InferContext& context) {
  require(context.input_count("Like") == context.output_count("Out"), context.type(),
          ": Like must hold as many variables as Out, got ", context.input_count("Like"), " and ",
          context.output_count("Out"));
  for (std::size_t i = 0; i < context.input_count("Like"); ++i) {
    const TensorSpec& like = context.input("Like", i);
    require(like.dtype == context.input("Like").dtype, context.type(),
            ": all of Like must have one dtype, got ", context.input("Like"), " and, at position ",
            i, ", ", like);
    context.set_output("Out", like, i);
  }
}

Kernel values_of_root(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const auto root = static_cast<int>(context.attr<std::int64_t>("root"));
  return [=, ranks = Ranks(context)] {
    ranks.with([&](Communicator& communicator) {
      require(root < communicator.size(), ranks.label(),
              ": root must be less than the number of ranks, ", communicator.size(), ", got ",
              root);
      if (out.data() != x.data()) std::memcpy(out.data(), x.data(), byte_size(x.spec()));
      const Communicator::Elements elements{out.data(), out.size(), out.spec().dtype};
      communicator.wait(communicator.ibroadcast(elements, root, ranks.label()));
    });
  };
}

template <class T>
Kernel allgather_rows(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const std::int64_t count = context.attr<std::int64_t>("ranks");
  return [=, share = Share(context), ranks = Ranks(context)] {
    ranks.with([&](Communicator& communicator) {
      require(communicator.size() == count, ranks.label(), ": the program is for ", count,
              " ranks, got ", communicator.size(), "; transform it with this communicator");
      const std::int64_t rows = num_selected(x.spec());
      const std::int64_t values = rows * row_width(x.spec());
      std::vector<T> own(static_cast<std::size_t>(values));
      scale_into(x.data(), values, share.of(communicator, ranks.label()), own.data());
      // Rows that are not held must stay so: their numbers are gathered as they are.
      std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows));
      const std::int64_t* held = row_numbers(x.spec(), static_cast<const void*>(x.data()));
      std::copy(held, held + rows, numbers.begin());
      const auto first =
          communicator.iallgather({numbers.data(), rows, DType::kInt64},
                                  row_numbers(out.spec(), static_cast<void*>(out.data())),
                                  str_cat(ranks.label(), ", the numbers of rows"));
      const auto second =
          communicator.iallgather({own.data(), values, dtype_of<T>}, out.data(), ranks.label());
      communicator.wait(first);
      communicator.wait(second);
    });
  };
}

void infer_allgather_rows(InferContext& context) {
  TensorSpec x = context.input("X");
  const std::int64_t ranks = context.attr<std::int64_t>("ranks");
  require(ranks >= 1, context.type(), ": ranks must be at least 1, got ", ranks);
  const std::int64_t held = num_selected(x);
  if (held >= 0) x.rows = held * ranks;
  context.set_output("Out", x);
}

OpDef with_share(OpDef def) {
  return std::move(def)
      .input("Samples",
             "int64 [2], the samples of this rank and those of all: with average, what this rank "
             "has counts the one divided by the other, not 1 / ranks",
             {.optional = true})
      .attr("average", true, "the mean of the ranks, not their sum")
      .attr("params", std::vector<std::string>(),
            "the parameters whose gradients X are, for readers");
}

}  // namespace

void register_collective_ops(OpRegistry& registry) {
  registry.add(
      with_share(
          OpDef("c_allreduce_sum")
              .doc("Begins to add up X over all ranks: Out holds all X, one after the other, "
                   "and their sums, or means, after a c_wait. What runs between the two "
                   "overlaps with the communication.")
              .input("X", "any shapes, one dtype", {.list = true}))
          .output("Request", "int64 [1], what c_wait waits for")
          .infer(infer_allreduce_sum)
          .kernels(cpu_kernels<float, double, Float16, BFloat16, std::int64_t>(
              [](auto tag) -> KernelFactory {
                return allreduce_sum<typename decltype(tag)::type>;
              }))
          .checks_data());
  registry.add(
      OpDef("c_wait")
          .doc("Waits until the sum of Request has been made, and gives each Out its part.")
          .input("Request", "int64 [1], of a c_allreduce_sum")
          .input("Like", "X of the same operator", {.list = true, .shape_only = true})
          .output("Out", "shapes and dtypes of Like", {.list = true})
          .infer(infer_wait)
          .kernels(cpu_kernels<float, double, Float16, BFloat16, std::int64_t>(
              [](auto tag) -> KernelFactory { return wait_kernel<typename decltype(tag)::type>; }))
          .checks_data());
  registry.add(OpDef("c_broadcast")
                   .doc("Out = X of rank root, on all ranks.")
                   .input("X", "any shape, the same on all ranks")
                   .output("Out", "shape and dtype of X")
                   .attr("root", std::int64_t{0}, "the rank whose values all get")
                   .infer([](InferContext& context) {
                     const auto root = context.attr<std::int64_t>("root");
                     require(root >= 0, context.type(), ": root must be at least 0, got ", root);
                     context.set_output("Out", context.input("X"));
                   })
                   .kernels(byte_kernels(values_of_root))
                   .in_place("X", "Out")
                   .not_differentiable()
                   .checks_data());
  registry.add(
      with_share(
          OpDef("c_allgather_rows")
              .doc("Out = the selected rows of all ranks, one after the other, which stand "
                   "for the sum, or the mean, of their tensors. Each rank must hold as many.")
              .input("X", "selected rows", {.only_rows = true}))
          .output("Out", "selected rows, shape and dtype of X", {.only_rows = true})
          .required_attr("ranks", std::int64_t{2}, "how many there are")
          .infer(infer_allgather_rows)
          .kernels(cpu_kernels<float, double>([](auto tag) -> KernelFactory {
            return allgather_rows<typename decltype(tag)::type>;
          }))
          .checks_data());
}

}  // namespace fluidcore
