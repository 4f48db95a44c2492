#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fluidcore/op/communicator.h"
#include "fluidcore/ops/collective.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

namespace {

// What a kernel adds up, and the sums: the same memory in every run, unless an operation has it.
template <class Sum>
class SumMemory {
 public:
  struct Both {
    Communicator::Elements own;
    Communicator::Elements sum;
  };

  explicit SumMemory(DeviceContext& device) : device_(&device) {}

  Both of(std::int64_t size, std::int64_t sums) {
    if (!held_ || held_.use_count() > 1) {
      const std::size_t bytes = static_cast<std::size_t>(size + sums) * sizeof(Sum);
      held_ = device_->allocate(bytes);
      device_->zero(held_.get(), bytes);
    }
    auto* const memory = static_cast<Sum*>(held_.get());
    return {elements_at(*device_, memory, size, dtype_of<Sum>, held_),
            elements_at(*device_, memory + size, sums, dtype_of<Sum>, held_)};
  }

 private:
  DeviceContext* device_;
  std::shared_ptr<void> held_;
};

// Begins to add up X over the ranks, this rank's part of it or all.
template <class T>
Kernel begin_sum(const KernelContext& context, bool has_parts) {
  using Sum = SumType<T>;
  std::vector<Arg<const T>> parts;
  parts.reserve(context.input_count("X"));
  std::int64_t size = 0;
  for (std::size_t i = 0; i < context.input_count("X"); ++i) {
    parts.push_back(context.input<T>("X", i));
    size += parts.back().size();
  }
  const auto request = context.output<std::int64_t>("Request");
  return [=, share = Share(context, context.attr<bool>("average")), ranks = Ranks(context),
          &device = context.device(), memory = SumMemory<Sum>(context.device())]() mutable {
    ranks.with([&](Communicator& communicator) {
      const double factor = share.of(communicator, ranks.label());
      const std::int64_t count = has_parts ? communicator.size() : 1;
      const std::int64_t sums = part_size(size, count);
      // Behind X there are zeros, which nothing writes.
      const auto [own, sum] = memory.of(sums * count, sums);
      auto* to = static_cast<Sum*>(own.data);
      for (const auto& part : parts) {
        scale_into(device, part.data(), part.size(), factor, to);
        to += part.size();
      }
      write_element(request, communicator.begin_sum(own, sum, ranks.label()));
    });
  };
}

template <class T>
Kernel allreduce_sum(const KernelContext& context) {
  return begin_sum<T>(context, false);
}

template <class T>
Kernel reduce_scatter(const KernelContext& context) {
  return begin_sum<T>(context, true);
}

void infer_begun_sum(InferContext& context) {
  total_elements(context, "X");
  check_samples(context);
  require(!context.attr<bool>("average") || is_floating(context.input("X").dtype), context.type(),
          ": X must be floating where average is true, got ", context.input("X"));
  context.set_output("Request", {Shape({1}), DType::kInt64});
}

template <class T>
Kernel wait_kernel(const KernelContext& context) {
  using Sum = SumType<T>;
  const auto request = context.input<std::int64_t>("Request");
  std::vector<Arg<T>> parts;
  parts.reserve(context.output_count("Out"));
  std::int64_t size = 0;
  for (std::size_t i = 0; i < context.output_count("Out"); ++i) {
    parts.push_back(context.output<T>("Out", i));
    size += parts.back().size();
  }
  return [=, type = context.type(), ranks = Ranks(context), &device = context.device()] {
    ranks.with([&](Communicator& communicator) {
      const Communicator::Elements sum = communicator.end_sum(read_element(request));
      require(sum.size == size && sum.dtype == dtype_of<Sum>, type,
              ": Like must have the elements of the sum, got ", dtype_of<Sum>, " [", size,
              "] for a sum of ", sum.dtype, " [", sum.size, "]");
      const auto* from = static_cast<const Sum*>(sum.data);
      for (const auto& part : parts) {
        scale_into(device, from, part.size(), 1, part.data());
        from += part.size();
      }
    });
  };
}

void infer_wait(InferContext& context) {
  require(context.input_count("Like") == context.output_count("Out"), context.type(),
          ": Like must hold as many variables as Out, got ", context.input_count("Like"), " and ",
          context.output_count("Out"));
  total_elements(context, "Like");
  for (std::size_t i = 0; i < context.input_count("Like"); ++i) {
    context.set_output("Out", context.input("Like", i), i);
  }
}

template <class T>
Kernel average(const KernelContext& context) {
  using Sum = SumType<T>;
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  return [=, share = Share(context, true), ranks = Ranks(context), &device = context.device(),
          memory = SumMemory<Sum>(context.device())]() mutable {
    ranks.with([&](Communicator& communicator) {
      const auto [own, sum] = memory.of(x.size(), x.size());
      scale_into(device, x.data(), x.size(), share.of(communicator, ranks.label()),
                 static_cast<Sum*>(own.data));
      communicator.wait(communicator.iallreduce(own, sum, ranks.label()));
      scale_into(device, static_cast<const Sum*>(sum.data), out.size(), 1, out.data());
    });
  };
}

// Each rank's X is a part of the means of all ranks, and these are parts of the mean of their
// losses: what counts is the mean of what they pass back.
std::vector<OpDesc> average_grad(GradContext& context) {
  SlotMap inputs{{"X", context.output_grad("Out")}};
  if (!context.input("Samples").empty()) inputs["Samples"] = context.input("Samples");
  return {OpDesc("c_average", inputs, {{"Out", context.input_grad("X")}})};
}

// Of sums that c_wait ends.
OpDef with_sum_slots(OpDef def) {
  return with_samples(std::move(def).input("X", "any shapes, one dtype", {.list = true}))
      .attr("average", true, "the mean of the ranks, not their sum")
      .attr("params", std::vector<std::string>(),
            "the parameters whose gradients X are, for readers")
      .output("Request", "int64 [1], what c_wait waits for")
      .infer(infer_begun_sum)
      .checks_data();
}

}  // namespace

void register_collective_sums(OpRegistry& registry) {
  registry.add(with_sum_slots(OpDef("c_allreduce_sum"))
                   .doc("Begins to add up X over all ranks: c_wait gives the sums, or means. What "
                        "runs between the two overlaps with the communication.")
                   .kernels(kernels_everywhere<float, double, Float16, BFloat16, std::int64_t>(
                       [](auto tag) -> KernelFactory {
                         return allreduce_sum<typename decltype(tag)::type>;
                       })));
  registry.add(with_sum_slots(OpDef("c_reduce_scatter"))
                   .doc("Begins to add up X, one after the other, over all ranks: c_wait gives "
                        "each rank its part of the sums, or means. Parts have as many elements "
                        "each, of the last ones some that are 0.")
                   .kernels(kernels_everywhere<float, double, Float16, BFloat16, std::int64_t>(
                       [](auto tag) -> KernelFactory {
                         return reduce_scatter<typename decltype(tag)::type>;
                       })));
  registry.add(
      OpDef("c_wait")
          .doc("Waits until the sum of Request has been made, and gives each Out its part.")
          .input("Request", "int64 [1], of a c_allreduce_sum or c_reduce_scatter")
          .input("Like", "together as many elements as the sum", {.list = true, .shape_only = true})
          .output("Out", "shapes and dtypes of Like", {.list = true})
          .infer(infer_wait)
          .kernels(kernels_everywhere<float, double, Float16, BFloat16, std::int64_t>(
              [](auto tag) -> KernelFactory { return wait_kernel<typename decltype(tag)::type>; }))
          .checks_data());
  registry.add(
      with_samples(OpDef("c_average")
                       .doc("Out = the mean of X over all ranks, which it waits for. Its "
                            "gradient is the mean of theirs.")
                       .input("X", "any shape, the same on all ranks"))
          .output("Out", "shape and dtype of X")
          .infer([](InferContext& context) {
            check_samples(context);
            context.set_output("Out", context.input("X"));
          })
          .kernels(kernels_everywhere<float, double, Float16, BFloat16>(
              [](auto tag) -> KernelFactory { return average<typename decltype(tag)::type>; }))
          .grad(average_grad)
          .checks_data());
}

}  // namespace fluidcore
