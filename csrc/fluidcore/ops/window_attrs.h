#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/base/shape.h"

namespace fluidcore {

// An attribute of two numbers of convolutions and poolings.
struct HeightWidth {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// What the numbers that describe windows may be at most: sums and products of two are exact.
inline constexpr std::int64_t kMostOfWindow = std::int64_t{1} << 30;

// Throws InvalidArgument unless attribute `name` is a list of two numbers, each at least `least`.
template <class Context>
HeightWidth height_width(const Context& context, std::string_view name, std::int64_t least) {
  const auto& list = context.template attr<std::vector<std::int64_t>>(name);
  require(list.size() == 2, context.type(), ": ", name, " must be a list of two numbers, got ",
          Shape(list));
  for (const std::int64_t value : list) {
    require(value >= least && value <= kMostOfWindow, context.type(), ": ", name,
            " must be at least ", least, " and at most ", kMostOfWindow, ", got ", Shape(list));
  }
  return {list[0], list[1]};
}

// Throws InvalidArgument unless the height and width of `shape` are small enough to calculate with.
template <class Context>
void check_plane(const Context& context, std::string_view slot, const Shape& shape) {
  require(shape[2] <= kMostOfWindow && shape[3] <= kMostOfWindow, context.type(), ": ", slot,
          " must have a height and width of at most ", kMostOfWindow, ", got ", shape);
}

// data_format is accepted for programs that set it; memory is always in the order [N, C, H, W].
template <class Context>
void check_data_format(const Context& context) {
  const auto& format = context.template attr<std::string>("data_format");
  require(format == "AnyLayout" || format == "NCHW", context.type(),
          ": data_format must be 'AnyLayout' or 'NCHW', got '", format,
          "'; write transpose before and after");
}

}  // namespace fluidcore
