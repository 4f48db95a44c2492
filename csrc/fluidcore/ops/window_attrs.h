#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/base/shape.h"
#include "fluidcore/kernels/spatial.h"

namespace fluidcore {

// What convolutions and poolings over `axes` spatial axes (1, 2 or 3) have in common.

// What the numbers that describe windows may be at most: sums and products of two are exact.
inline constexpr std::int64_t kMostOfWindow = std::int64_t{1} << 30;

inline std::string_view number_word(std::size_t axes) {
  constexpr std::string_view kWords[] = {"one number", "two numbers", "three numbers"};
  return kWords[axes - 1];
}

// For documentation: "[height, width]".
inline std::string axes_doc(std::size_t axes) {
  constexpr std::string_view kDocs[] = {"[length]", "[height, width]", "[depth, height, width]"};
  return std::string(kDocs[axes - 1]);
}

// "kernel height, kernel width"
inline std::string kernel_doc(std::size_t axes) {
  constexpr std::string_view kDocs[] = {"kernel length", "kernel height, kernel width",
                                        "kernel depth, kernel height, kernel width"};
  return std::string(kDocs[axes - 1]);
}

// "a height and width"
inline std::string_view axes_phrase(std::size_t axes) {
  constexpr std::string_view kPhrases[] = {"a length", "a height and width",
                                           "a depth, height and width"};
  return kPhrases[axes - 1];
}

// "NCHW", and "NHWC" with the channels last.
inline std::string layout_name(std::size_t axes, bool channels_last = false) {
  constexpr std::string_view kFirst[] = {"NCL", "NCHW", "NCDHW"};
  constexpr std::string_view kLast[] = {"NLC", "NHWC", "NDHWC"};
  return std::string(channels_last ? kLast[axes - 1] : kFirst[axes - 1]);
}

// "[N, C, H, W]"
inline std::string layout_doc(std::size_t axes) {
  constexpr std::string_view kDocs[] = {"[N, C, L]", "[N, C, H, W]", "[N, C, D, H, W]"};
  return std::string(kDocs[axes - 1]);
}

// The last dimensions of `shape` from its third on; `before` for the axes that it lacks.
inline Spatial spatial_of(const Shape& shape, std::int64_t before = 1) {
  Spatial extents{before, before, before};
  const std::size_t axes = shape.rank() - 2;
  for (std::size_t i = 0; i < axes; ++i) extents[extents.size() - axes + i] = shape[2 + i];
  return extents;
}

// The last `axes` of `extents` for a message.
inline Shape shown(const Spatial& extents, std::size_t axes) {
  return Shape(
      std::vector<std::int64_t>(extents.end() - static_cast<std::ptrdiff_t>(axes), extents.end()));
}

// [first, second, the last `axes` of `extents`]
inline Shape image_shape(std::int64_t first,
                         std::int64_t second,
                         const Spatial& extents,
                         std::size_t axes) {
  std::vector<std::int64_t> shape{first, second};
  shape.insert(shape.end(), extents.end() - static_cast<std::ptrdiff_t>(axes), extents.end());
  return Shape(std::move(shape));
}

// Attribute `name`; `least` for the axes that it lacks. Throws InvalidArgument unless it is a list
// of `axes` numbers, each at least `least`.
template <class Context>
Spatial window_attr(const Context& context,
                    std::string_view name,
                    std::size_t axes,
                    std::int64_t least) {
  const auto& list = context.template attr<std::vector<std::int64_t>>(name);
  require(list.size() == axes, context.type(), ": ", name, " must be a list of ", number_word(axes),
          ", got ", Shape(list));
  Spatial values{least, least, least};
  for (std::size_t i = 0; i < axes; ++i) {
    require(list[i] >= least && list[i] <= kMostOfWindow, context.type(), ": ", name,
            " must be at least ", least, " and at most ", kMostOfWindow, ", got ", Shape(list));
    values[values.size() - axes + i] = list[i];
  }
  return values;
}

// Throws InvalidArgument unless the spatial extents of `shape` are small enough to calculate with.
template <class Context>
void check_extents(const Context& context, std::string_view slot, const Shape& shape) {
  double plane = 1;
  for (std::size_t i = 2; i < shape.rank(); ++i) {
    require(shape[i] <= kMostOfWindow, context.type(), ": ", slot, " must have ",
            axes_phrase(shape.rank() - 2), " of at most ", kMostOfWindow, ", got ", shape);
    if (shape[i] != -1) plane *= static_cast<double>(shape[i]);
  }
  constexpr double kMostOfPlane = static_cast<double>(kMostOfWindow) * kMostOfWindow;
  require(plane <= kMostOfPlane, context.type(), ": ", slot, " must have at most ",
          kMostOfWindow * kMostOfWindow, " elements in a channel, got ", shape);
}

// The documentation of the attribute data_format.
inline std::string data_format_doc(std::size_t axes) {
  return "'" + layout_name(axes) + "', which 'AnyLayout' means too, or '" +
         layout_name(axes, true) + "': where the channels of images are";
}

// Whether data_format says that the channels of images are their last dimension. Throws
// InvalidArgument where there is no such format.
template <class Context>
bool has_channels_last(const Context& context, std::size_t axes) {
  const auto& format = context.template attr<std::string>("data_format");
  const bool is_last = format == layout_name(axes, true);
  require(is_last || format == "AnyLayout" || format == layout_name(axes), context.type(),
          ": data_format must be '", layout_name(axes), "' or '", layout_name(axes, true),
          "', got '", format, "'");
  return is_last;
}

// The shape of an image in the order [N, C, ...], whatever data_format says; and what stands for
// such a shape in the order that it says.
template <class Context>
Shape channels_first(const Context& context, const Shape& image) {
  if (!has_channels_last(context, image.rank() - 2)) return image;
  std::vector<std::int64_t> shape(image.begin(), image.end());
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return Shape(std::move(shape));
}
template <class Context>
Shape in_data_format(const Context& context, const Shape& image) {
  if (!has_channels_last(context, image.rank() - 2)) return image;
  std::vector<std::int64_t> shape(image.begin(), image.end());
  std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return Shape(std::move(shape));
}

}  // namespace fluidcore
