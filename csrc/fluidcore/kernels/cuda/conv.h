#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "fluidcore/kernels/conv_problem.h"
#include "fluidcore/kernels/cuda/direct_conv.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/cuda/matmul.h"
#include "fluidcore/kernels/cuda/windows.h"
#include "fluidcore/kernels/prepared.h"
#include "fluidcore/tensor/scratch.h"

// Convolutions on a CUDA device: products with the matrix of windows, which has a row for each
// position of the output and a column for each channel and tap. Where groups are so small that
// their products are no work for a matrix unit, each element adds up what it needs.

namespace fluidcore::cuda {

inline bool has_small_groups(const ConvProblem& p) {
  constexpr std::int64_t kSmall = 8;
  return p.groups > 1 && std::min(p.channels, p.filters) / p.groups < kSmall;
}

// Every window is one position, in its place: the input is the matrix.
inline bool is_pointwise(const ConvProblem& p) {
  return product(p.kernel) == 1 && p.stride == Spatial{1, 1, 1} && p.pad == Spatial{0, 0, 0};
}

// The operands of the products, with the batch dimensions [groups, images].

inline MatmulOperand windows_operand(const ConvProblem& p) {
  const std::int64_t plane = p.out_plane();
  if (is_pointwise(p) && !p.channels_last) {
    return {1, plane, {p.channels / p.groups * plane, p.channels * plane}};
  }
  const std::int64_t width = p.channels * product(p.kernel);
  return {width, 1, {p.taps(), plane * width}};
}
inline MatmulOperand filter_operand(const ConvProblem& p) {  // [taps, filters]
  return {1, p.taps(), {p.filters / p.groups * p.taps(), 0}};
}
inline MatmulOperand output_operand(const ConvProblem& p) {
  const std::int64_t plane = p.out_plane();
  const std::int64_t filters = p.filters / p.groups;
  if (p.channels_last) return {p.filters, 1, {filters, plane * p.filters}};
  return {1, plane, {filters * plane, p.filters * plane}};
}
inline MatmulProblem window_product(const ConvProblem& p) {
  return {.batch = {p.groups, p.batch},
          .m = p.out_plane(),
          .n = p.filters / p.groups,
          .k = p.taps(),
          .a = windows_operand(p),
          .b = filter_operand(p),
          .c = output_operand(p)};
}

// The images in parts whose windows fit into limited memory: all but the last have as many.
class ImageParts {
 public:
  ImageParts(const ConvProblem& p, std::size_t element_bytes) : whole_(p), full_(p), last_(p) {
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;
    const std::int64_t bytes = windows_of(1) * static_cast<std::int64_t>(element_bytes);
    full_.batch = std::clamp<std::int64_t>(kMostBytes / std::max<std::int64_t>(bytes, 1), 1,
                                           std::max<std::int64_t>(p.batch, 1));
    last_.batch = p.batch % full_.batch;
  }

  bool is_one() const { return full_.batch == whole_.batch; }
  const ConvProblem& full() const { return full_; }
  const ConvProblem& last() const { return last_; }  // may have no images
  std::int64_t windows_of(std::int64_t images) const {
    return images * whole_.out_plane() * whole_.channels * product(whole_.kernel);
  }

  // f(part, its first image, whether it is the last one with fewer images)
  template <class F>
  void for_each(const F& f) const {
    for (std::int64_t first = 0; first < whole_.batch; first += full_.batch) {
      const bool is_last = whole_.batch - first < full_.batch;
      f(is_last ? last_ : full_, first, is_last);
    }
  }

 private:
  ConvProblem whole_;
  ConvProblem full_;
  ConvProblem last_;
};

// prepared(input, filter, output); for T float, double or 16-bit floats, which are added in float.
template <class T>
Prepared2<T> prepare_conv(DeviceContext& device, const ConvProblem& p, const ScratchPtr& scratch) {
  const std::int64_t outputs = p.batch * p.filters * p.out_plane();
  if (p.is_empty()) {
    return [=, &device](const T*, const T*, T* output) {
      device.zero(output, static_cast<std::size_t>(outputs) * sizeof(T));
    };
  }
  if (has_small_groups(p)) {
    return [=, &device](const T* input, const T* filter, T* output) {
      for_each(device, outputs, DirectConv{p}, input, filter, output);
    };
  }
  if (is_pointwise(p)) return prepare_matmul<T>(device, window_product(p), scratch);
  const ImageParts parts(p, sizeof(T));
  ScratchParts memory(scratch);
  const std::size_t windows_at = memory.add(parts.windows_of(parts.full().batch), sizeof(T));
  const auto full = prepare_matmul<T>(device, window_product(parts.full()), memory.rest());
  const auto last = prepare_matmul<T>(device, window_product(parts.last()), memory.rest());
  return [=, &device](const T* input, const T* filter, T* output) {
    T* const windows = memory.at<T>(windows_at);
    parts.for_each([&](const ConvProblem& part, std::int64_t first, bool is_last) {
      for_each(device, parts.windows_of(part.batch), Windows{part},
               input + first * p.channels * p.in_plane(), windows);
      (is_last ? last : full)(windows, filter, output + first * p.filters * p.out_plane());
    });
  };
}

// prepared(output_grad, filter, input_grad)
template <class T>
Prepared2<T> prepare_conv_input_grad(DeviceContext& device,
                                     const ConvProblem& p,
                                     const ScratchPtr& scratch) {
  const std::int64_t inputs = p.batch * p.channels * p.in_plane();
  if (p.is_empty()) {
    return [=, &device](const T*, const T*, T* dinput) {
      device.zero(dinput, static_cast<std::size_t>(inputs) * sizeof(T));
    };
  }
  if (has_small_groups(p)) {
    return [=, &device](const T* dout, const T* filter, T* dinput) {
      for_each(device, inputs, DirectConvInputGrad{p}, dout, filter, dinput);
    };
  }
  if (is_pointwise(p)) return prepare_matmul<T>(device, a_gradient(window_product(p)), scratch);
  const ImageParts parts(p, sizeof(T));
  ScratchParts memory(scratch);
  const std::size_t windows_at = memory.add(parts.windows_of(parts.full().batch), sizeof(T));
  const auto full =
      prepare_matmul<T>(device, a_gradient(window_product(parts.full())), memory.rest());
  const auto last =
      prepare_matmul<T>(device, a_gradient(window_product(parts.last())), memory.rest());
  return [=, &device](const T* dout, const T* filter, T* dinput) {
    T* const windows = memory.at<T>(windows_at);
    parts.for_each([&](const ConvProblem& part, std::int64_t first, bool is_last) {
      (is_last ? last : full)(dout + first * p.filters * p.out_plane(), filter, windows);
      for_each(device, part.batch * p.channels * p.in_plane(), SumOfWindows{part}, windows,
               dinput + first * p.channels * p.in_plane());
    });
  };
}

// prepared(input, output_grad, filter_grad)
template <class T>
Prepared2<T> prepare_conv_filter_grad(DeviceContext& device,
                                      const ConvProblem& p,
                                      const ScratchPtr& scratch) {
  const std::int64_t size = p.filters * p.taps();
  if (p.is_empty()) {
    return [=, &device](const T*, const T*, T* dfilter) {
      device.zero(dfilter, static_cast<std::size_t>(size) * sizeof(T));
    };
  }
  if (has_small_groups(p)) {
    return [=, &device](const T* input, const T* dout, T* dfilter) {
      for_each_group(device, size, p.batch * p.out_plane(), DirectConvFilterGrad{p}, input, dout,
                     dfilter);
    };
  }
  // With the channels last one product adds up all positions of all images.
  const auto product_of = [](ConvProblem part) {
    part.channels_last = true;
    return b_gradient(window_product(part));
  };
  if (is_pointwise(p) && p.channels_last) return prepare_matmul<T>(device, product_of(p), scratch);
  const ImageParts parts(p, sizeof(T));
  const std::int64_t images = parts.full().batch;
  ScratchParts memory(scratch);
  const std::size_t windows_at = memory.add(parts.windows_of(images), sizeof(T));
  const std::size_t douts_at =
      memory.add(p.channels_last ? 0 : images * p.filters * p.out_plane(), sizeof(T));
  const std::size_t terms_at = memory.add(parts.is_one() ? 0 : size, sizeof(T));
  const auto full = prepare_matmul<T>(device, product_of(parts.full()), memory.rest());
  const auto last = prepare_matmul<T>(device, product_of(parts.last()), memory.rest());
  return [=, &device](const T* input, const T* dout, T* dfilter) {
    T* const windows = memory.at<T>(windows_at);
    parts.for_each([&](const ConvProblem& part, std::int64_t first, bool is_last) {
      for_each(device, parts.windows_of(part.batch), Windows{part},
               input + first * p.channels * p.in_plane(), windows);
      const T* douts = dout + first * p.filters * p.out_plane();
      if (!p.channels_last) {
        T* const turned = memory.at<T>(douts_at);
        for_each(device, part.batch * p.filters * p.out_plane(),
                 ChannelsToLast{output_layout(part)}, douts, turned);
        douts = turned;
      }
      T* const terms = first == 0 ? dfilter : memory.at<T>(terms_at);
      (is_last ? last : full)(windows, douts, terms);
      if (first > 0) for_each(device, size, AddTo{}, static_cast<const T*>(terms), dfilter);
    });
  };
}

}  // namespace fluidcore::cuda
