#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cuda/map.h"
#include "fluidcore/kernels/functors.h"
#include "fluidcore/op/communicator.h"
#include "fluidcore/op/contexts.h"
#include "fluidcore/op/op_def.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/on_host.h"

// What operators that all ranks run together share.
namespace fluidcore {

// The ranks of a run, for one operator.
class Ranks {
 public:
  explicit Ranks(const KernelContext& context)
      : type_(context.type()),
        label_(label_of(context)),
        state_(context.run_state()),
        device_(context.device()) {}

  // "c_allreduce_sum of fc_0.w_0@GRAD, fc_0.b_0@GRAD and 3 more"
  const std::string& label() const { return label_; }

  // f(communicator), of memory where the kernel works,
  template <class F>
  auto with(const F& f) const {
    return f(on_host().on(device_));
  }
  // and that of the host's memory.
  Communicator& on_host() const {
    require(state_.communicator != nullptr, type_,
            ": the Executor must have a communicator, got none; write "
            "Executor(communicator=fluid.parallel.world())");
    return *state_.communicator;
  }

  // The same, of as many ranks as the program is for.
  template <class F>
  auto with(std::int64_t count, const F& f) const {
    return with([&](Communicator& communicator) {
      require(communicator.size() == count, label_, ": the program is for ", count, " ranks, got ",
              communicator.size(), "; transform it with this communicator");
      return f(communicator);
    });
  }

 private:
  static std::string label_of(const KernelContext& context) {
    constexpr std::size_t kMost = 2;
    const std::vector<std::string>& names = context.op().input("X");
    const std::size_t shown = std::min(names.size(), kMost);
    const std::string first =
        join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)});
    const std::string more =
        names.size() > shown ? str_cat(" and ", names.size() - shown, " more") : "";
    return str_cat(context.type(), " of ", first, more);
  }

  std::string type_;
  std::string label_;
  const RunState& state_;
  DeviceContext& device_;
};

// Elements in memory where a kernel works.
inline Communicator::Elements elements_at(DeviceContext& device,
                                          void* data,
                                          std::int64_t size,
                                          DType dtype,
                                          std::shared_ptr<const void> owner = nullptr) {
  return {data, size, dtype, std::move(owner), device.device().is_cpu() ? nullptr : &device};
}

// What this rank's values count in a sum.
class Share {
 public:
  explicit Share(const KernelContext& context, bool averages) : averages_(averages) {
    if (context.has_input("Samples")) samples_.emplace(context.raw_input("Samples"));
  }

  double of(const Communicator& communicator, const std::string& label) const {
    if (!averages_) return 1;
    if (!samples_) return 1.0 / communicator.size();
    const auto* const counts = static_cast<const std::int64_t*>(samples_->data());
    const std::int64_t own = counts[0];
    const std::int64_t all = counts[1];
    require(own >= 0 && own <= all && all > 0, label,
            ": Samples must be the number of this rank's and the positive one of all ranks, got ",
            own, " and ", all);
    return static_cast<double>(own) / static_cast<double>(all);
  }

 private:
  bool averages_;
  std::optional<OnHost> samples_;
};

// 16 bits are added up in float32.
template <class T>
using SumType = std::conditional_t<std::is_integral_v<T>, T, ComputeType<T>>;

// to[i] = from[i] * factor
template <class From, class To>
void scale_into(DeviceContext& device, const From* from, std::int64_t size, double factor, To* to) {
  if constexpr (kHasCuda) {
    if (!device.device().is_cpu()) return cuda::map(device, Scale{factor}, size, to, from);
  }
  parallel_for(size, cpu::kGrain, [=](std::int64_t begin, std::int64_t end) {
    const Scale scale{factor};
    for (std::int64_t i = begin; i < end; ++i) {
      to[i] = static_cast<To>(scale(static_cast<ComputeType<From>>(from[i])));
    }
  });
}

// The elements of a rank's part of so many, the same for all ranks; the last ones have zeros. Of
// -1, which is not known, -1.
inline std::int64_t part_size(std::int64_t elements, std::int64_t ranks) {
  return elements < 0 ? -1 : elements / ranks + (elements % ranks == 0 ? 0 : 1);
}

// The elements of all variables of an input slot together; -1 where one has no known number.
// Throws InvalidArgument unless there is one, all have one dtype, and an int64 can count them.
inline std::int64_t total_elements(const InferContext& context, std::string_view slot) {
  require(context.input_count(slot) > 0, context.type(), ": ", slot,
          " must hold at least one variable, got none");
  const TensorSpec& first = context.input(slot);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < context.input_count(slot); ++i) {
    const TensorSpec& each = context.input(slot, i);
    require(each.dtype == first.dtype, context.type(), ": all of ", slot,
            " must have one dtype, got ", first, " and, at position ", i, ", ", each);
    const std::int64_t size = each.shape.num_elements();
    if (total < 0 || size < 0) {
      total = -1;
      continue;
    }
    require(!__builtin_add_overflow(total, size, &total), context.type(), ": ", slot,
            " has more elements than an int64 can count");
  }
  return total;
}

inline OpDef with_samples(OpDef def) {
  return std::move(def).input(
      "Samples",
      "int64 [2], the samples of this rank and those of all: in a mean, what this rank has counts "
      "the one divided by the other, not 1 / ranks",
      {.optional = true});
}

inline void check_samples(const InferContext& context) {
  if (!context.has_input("Samples")) return;
  const TensorSpec& samples = context.input("Samples");
  require(samples.dtype == DType::kInt64 && compatible(samples.shape.num_elements(), 2),
          context.type(), ": Samples must be int64 [2], got ", samples);
}

}  // namespace fluidcore
