#pragma once

#include <cstdint>

#include "fluidcore/base/host_device.h"

namespace fluidcore::cuda {

struct ImageElement {
  std::int64_t image;
  std::int64_t channel;
  std::int64_t position;  // in a plane
};

// Where the elements of images are.
struct ImageLayout {
  bool channels_last;
  std::int64_t channels;
  std::int64_t plane;

  FC_HOST_DEVICE std::int64_t at(std::int64_t image,
                                 std::int64_t channel,
                                 std::int64_t position) const {
    return channels_last ? (image * plane + position) * channels + channel
                         : (image * channels + channel) * plane + position;
  }

  FC_HOST_DEVICE ImageElement element(std::int64_t i) const {
    const std::int64_t inner = channels_last ? channels : plane;
    const std::int64_t outer = i / inner;
    const std::int64_t middle = channels_last ? plane : channels;
    const std::int64_t image = outer / middle;
    const std::int64_t between = outer - image * middle;
    if (channels_last) return {image, i - outer * inner, between};
    return {image, between, i - outer * inner};
  }
};

}  // namespace fluidcore::cuda
