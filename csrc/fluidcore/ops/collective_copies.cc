#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "fluidcore/op/communicator.h"
#include "fluidcore/op/sub_block.h"
#include "fluidcore/ops/collective.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/selected_rows.h"
#include "fluidcore/tensor/selected_rows.h"

namespace fluidcore {

namespace {

std::int64_t checked_ranks(const InferContext& context) {
  const auto ranks = context.attr<std::int64_t>("ranks");
  require(ranks >= 1 && ranks <= std::numeric_limits<int>::max(), context.type(),
          ": ranks must be at least 1 and less than 2^31, got ", ranks);
  return ranks;
}

Kernel values_of_root(const KernelContext& context) {
  const auto x = context.raw_input("X");
  const auto out = context.raw_output("Out");
  const auto root = context.attr<std::int64_t>("root");
  return [=, ranks = Ranks(context), &device = context.device()] {
    ranks.with([&](Communicator& communicator) {
      require(root < communicator.size(), ranks.label(),
              ": root must be less than the number of ranks, ", communicator.size(), ", got ",
              root);
      if (out.data() != x.data()) device.copy(out.data(), x.data(), byte_size(x.spec()));
      const auto elements = elements_at(device, out.data(), out.size(), out.spec().dtype);
      communicator.wait(communicator.ibroadcast(elements, static_cast<int>(root), ranks.label()));
    });
  };
}

// The part of X, one after the other, that belongs to this rank.
Kernel part_of_rank(const KernelContext& context) {
  std::vector<Arg<const void>> whole;
  whole.reserve(context.input_count("X"));
  for (std::size_t i = 0; i < context.input_count("X"); ++i)
    whole.push_back(context.raw_input("X", i));
  const auto out = context.raw_output("Out");
  const auto count = context.attr<std::int64_t>("ranks");
  return [=, ranks = Ranks(context), &device = context.device()] {
    ranks.with(count, [&](const Communicator& communicator) {
      const std::size_t size = byte_size(out.spec());
      const std::size_t first = static_cast<std::size_t>(communicator.rank()) * size;
      auto* to = static_cast<std::byte*>(out.data());
      device.zero(to, size);
      std::size_t place = 0;  // of a variable, in all bytes
      for (const auto& each : whole) {
        const std::size_t bytes = byte_size(each.spec());
        const std::size_t begin = std::max(place, first);
        const std::size_t end = std::min(place + bytes, first + size);
        if (begin < end) {
          const auto* from = static_cast<const std::byte*>(each.data());
          device.copy(to + (begin - first), from + (begin - place), end - begin);
        }
        place += bytes;
      }
    });
  };
}

void infer_part(InferContext& context) {
  const std::int64_t total = total_elements(context, "X");
  const std::int64_t ranks = checked_ranks(context);
  context.set_output("Out", {Shape({part_size(total, ranks)}), context.input("X").dtype});
}

// Parts of all ranks, one after the other, cut into variables.
Kernel allgather(const KernelContext& context) {
  const auto x = context.raw_input("X");
  std::vector<Arg<void>> whole;
  whole.reserve(context.output_count("Out"));
  for (std::size_t i = 0; i < context.output_count("Out"); ++i)
    whole.push_back(context.raw_output("Out", i));
  const auto count = context.attr<std::int64_t>("ranks");
  return [=, ranks = Ranks(context), &device = context.device()] {
    ranks.with(count, [&](Communicator& communicator) {
      const std::size_t size = byte_size(x.spec());
      const std::shared_ptr<void> all = device.allocate(size * static_cast<std::size_t>(count));
      // Only read, as the interface has no elements that are.
      const auto own = elements_at(device, const_cast<void*>(x.data()), x.size(), x.spec().dtype);
      communicator.wait(communicator.iallgather(own, all.get(), ranks.label()));
      const auto* from = static_cast<const std::byte*>(all.get());
      for (const auto& each : whole) {
        const std::size_t bytes = byte_size(each.spec());
        device.copy(each.data(), from, bytes);
        from += bytes;
      }
    });
  };
}

void infer_allgather(InferContext& context) {
  require(context.input_count("Like") == context.output_count("Out"), context.type(),
          ": Like must hold as many variables as Out, got ", context.input_count("Like"), " and ",
          context.output_count("Out"));
  const std::int64_t total = total_elements(context, "Like");
  const std::int64_t ranks = checked_ranks(context);
  const TensorSpec& x = context.input("X");
  require(x.dtype == context.input("Like").dtype &&
              compatible(x.shape.num_elements(), part_size(total, ranks)),
          context.type(), ": X must be the part of one of ", ranks, " ranks, ",
          context.input("Like").dtype, " [", part_size(total, ranks), "] of ", total,
          " elements, got ", x);
  for (std::size_t i = 0; i < context.input_count("Like"); ++i) {
    context.set_output("Out", context.input("Like", i), i);
  }
}

// Ranks that count their samples may hold different numbers of rows: then each one's are followed
// by unused ones. Throws ExtentsChanged on all ranks if there is no room on one of them, or other
// room than on others: all go back to the begin together.
void agree_on_room(Communicator& communicator,
                   std::int64_t rows,
                   std::int64_t room,
                   const std::string& label) {
  std::array<std::int64_t, 2> own{rows, room};
  std::vector<std::array<std::int64_t, 2>> all(static_cast<std::size_t>(communicator.size()));
  communicator.wait(communicator.iallgather({own.data(), own.size(), DType::kInt64}, all.data(),
                                            str_cat(label, ", how many rows")));
  const std::int64_t most = std::max_element(all.begin(), all.end())->front();
  const bool fits = most <= room && room <= kFarTooMuchRoom * room_for(most);
  const auto is_alike = [&](const auto& each) { return each[1] == room; };
  if (!fits || !std::all_of(all.begin(), all.end(), is_alike)) {
    throw ExtentsChanged({communicator.size() * room_for(most)});
  }
}

template <class T>
Kernel allgather_rows(const KernelContext& context) {
  const auto x = context.input<T>("X");
  const auto out = context.output<T>("Out");
  const std::int64_t count = context.attr<std::int64_t>("ranks");
  return [=, share = Share(context, context.attr<bool>("average")), ranks = Ranks(context),
          may_differ = context.has_input("Samples"), &device = context.device()] {
    ranks.with(count, [&](Communicator& communicator) {
      const std::int64_t rows = num_selected(x.spec());
      const std::int64_t room = num_selected(out.spec()) / count;
      if (may_differ) agree_on_room(ranks.on_host(), rows, room, ranks.label());
      const std::int64_t width = row_width(x.spec());
      const std::size_t bytes = static_cast<std::size_t>(room * width) * sizeof(T);
      const std::shared_ptr<void> own = device.allocate(bytes);
      device.zero(own.get(), bytes);
      scale_into(device, x.data(), rows * width, share.of(communicator, ranks.label()),
                 static_cast<T*>(own.get()));
      // Rows that are not held must stay so: their numbers are gathered as they are.
      const std::vector<std::int64_t> unused(static_cast<std::size_t>(room), -1);
      const std::size_t row_bytes = unused.size() * sizeof(std::int64_t);
      const std::shared_ptr<void> numbers = device.allocate(row_bytes);
      device.copy_in(numbers.get(), unused.data(), row_bytes);
      device.copy(numbers.get(), row_numbers(x.spec(), static_cast<const void*>(x.data())),
                  static_cast<std::size_t>(rows) * sizeof(std::int64_t));
      const auto first =
          communicator.iallgather(elements_at(device, numbers.get(), room, DType::kInt64, numbers),
                                  row_numbers(out.spec(), static_cast<void*>(out.data())),
                                  str_cat(ranks.label(), ", the numbers of rows"));
      const auto second =
          communicator.iallgather(elements_at(device, own.get(), room * width, dtype_of<T>, own),
                                  out.data(), ranks.label());
      communicator.wait(first);
      communicator.wait(second);
    });
  };
}

void infer_allgather_rows(InferContext& context) {
  check_samples(context);
  TensorSpec x = context.input("X");
  const std::int64_t ranks = checked_ranks(context);
  const std::int64_t held = num_selected(x);
  if (context.has_input("Samples")) {
    x.rows = context.extents_from_data().value_or(Shape{-1})[0];
  } else if (held >= 0) {
    std::int64_t rows = 0;
    require(!__builtin_mul_overflow(held, ranks, &rows), context.type(), ": X has ", held,
            " selected rows, and ", ranks, " times as many are more than an int64 can count");
    x.rows = rows;
  }
  context.set_output("Out", x);
}

constexpr const char* kRanksDoc = "how many there are";

}  // namespace

void register_collective_copies(OpRegistry& registry) {
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
                   .kernels(byte_kernels_everywhere(values_of_root))
                   .in_place("X", "Out")
                   .not_differentiable()
                   .checks_data());
  registry.add(OpDef("c_part")
                   .doc("Out = this rank's part of X, one after the other. Parts have as many "
                        "elements each, of the last ones some that are 0.")
                   .input("X", "any shapes, one dtype", {.list = true})
                   .output("Out", "[elements of X / ranks, rounded up], dtype of X")
                   .required_attr("ranks", std::int64_t{2}, kRanksDoc)
                   .infer(infer_part)
                   .kernels(byte_kernels_everywhere(part_of_rank))
                   .not_differentiable()
                   .checks_data());
  registry.add(OpDef("c_allgather")
                   .doc("Out = the parts of all ranks, one after the other, as c_part cuts them.")
                   .input("X", "[elements of Out / ranks, rounded up]")
                   .input("Like", "any shapes, one dtype", {.list = true, .shape_only = true})
                   .output("Out", "shapes and dtypes of Like", {.list = true})
                   .required_attr("ranks", std::int64_t{2}, kRanksDoc)
                   .infer(infer_allgather)
                   .kernels(byte_kernels_everywhere(allgather))
                   .not_differentiable()
                   .checks_data());
  registry.add(
      with_samples(
          OpDef("c_allgather_rows")
              .doc("Out = the selected rows of all ranks, one after the other, which stand "
                   "for the sum, or the mean, of their tensors. Without Samples each rank must "
                   "hold as many; with them some of Out may be unused.")
              .input("X", "selected rows", {.only_rows = true}))
          .output("Out", "selected rows, shape and dtype of X", {.only_rows = true})
          .attr("average", true, "the mean of the ranks, not their sum")
          .attr("params", std::vector<std::string>(),
                "the parameters whose gradients X are, for readers")
          .required_attr("ranks", std::int64_t{2}, kRanksDoc)
          .infer(infer_allgather_rows)
          .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
            return allgather_rows<typename decltype(tag)::type>;
          }))
          .extents_from_data("Samples")
          .checks_data());
}

}  // namespace fluidcore
