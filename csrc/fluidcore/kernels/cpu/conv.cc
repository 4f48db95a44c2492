#include "fluidcore/kernels/cpu/conv.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

#include "fluidcore/base/division.h"
#include "fluidcore/base/shared_tasks.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/gemm.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::cpu {

namespace {

// Columns of a product that pay for packing the filters.
constexpr std::int64_t kPackedColumns = 64;

// The outputs j of a row for which j * stride + offset lies in [0, extent).
struct Inside {
  std::int64_t first;
  std::int64_t last;
};
Inside inside(std::int64_t offset, std::int64_t stride, std::int64_t extent, std::int64_t outputs) {
  const std::int64_t first = offset < 0 ? divide_up(-offset, stride) : 0;
  const std::int64_t last = extent > offset ? divide_up(extent - offset, stride) : 0;
  return {std::min(first, outputs), std::clamp(last, std::min(first, outputs), outputs)};
}

// The element of the input, along `axis`, that a tap of the filter multiplies for an output.
std::int64_t position(const ConvProblem& p,
                      std::size_t axis,
                      std::int64_t output,
                      const Spatial& tap) {
  return output * p.stride[axis] + tap[axis] * p.dilation[axis] - p.pad[axis];
}

// The tap after `tap` in memory; the depth is the last one to move.
void next(const Spatial& kernel, Spatial& tap) {
  if (++tap[kWidth] < kernel[kWidth]) return;
  tap[kWidth] = 0;
  if (++tap[kHeight] < kernel[kHeight]) return;
  tap[kHeight] = 0;
  ++tap[kDepth];
}

// Calls f(to, from, range) for every row of the matrix of windows and every line of the output: the
// elements at `to` are input[from + j * stride] for j in `range`, and zeros elsewhere. Rows are
// `columns` apart.
template <class F>
void for_window_lines(const ConvProblem& p, std::int64_t columns, const F& f) {
  std::int64_t row = 0;
  for (std::int64_t channel = 0; channel < p.channels / p.groups; ++channel) {
    for (Spatial tap{}; tap[kDepth] < p.kernel[kDepth]; ++row, next(p.kernel, tap)) {
      const std::int64_t x = tap[kWidth] * p.dilation[kWidth] - p.pad[kWidth];
      const Inside range = inside(x, p.stride[kWidth], p.in[kWidth], p.out[kWidth]);
      std::int64_t to = row * columns;
      for (std::int64_t plane = 0; plane < p.out[kDepth]; ++plane) {
        const std::int64_t z = position(p, kDepth, plane, tap);
        for (std::int64_t line = 0; line < p.out[kHeight]; ++line, to += p.out[kWidth]) {
          const std::int64_t y = position(p, kHeight, line, tap);
          const bool padding = z < 0 || z >= p.in[kDepth] || y < 0 || y >= p.in[kHeight];
          f(to, channel * p.in_plane() + (z * p.in[kHeight] + y) * p.in[kWidth] + x,
            padding ? Inside{0, 0} : range);
        }
      }
    }
  }
}

template <class T>
void windows_of(const ConvProblem& p, const T* input, T* windows, std::int64_t columns) {
  for_window_lines(p, columns, [&](std::int64_t to, std::int64_t from, Inside range) {
    T* line = windows + to;
    std::fill(line, line + range.first, T(0));
    if (p.stride[kWidth] == 1) {
      std::copy(input + from + range.first, input + from + range.last, line + range.first);
    } else {
      for (std::int64_t j = range.first; j < range.last; ++j)
        line[j] = input[from + j * p.stride[kWidth]];
    }
    std::fill(line + range.last, line + p.out[kWidth], T(0));
  });
}

template <class T>
void add_windows(const ConvProblem& p, const T* windows, T* input) {
  for_window_lines(p, p.out_plane(), [&](std::int64_t from, std::int64_t to, Inside range) {
    const T* line = windows + from;
    for (std::int64_t j = range.first; j < range.last; ++j)
      input[to + j * p.stride[kWidth]] += line[j];
  });
}

// Workers that share the images, each with memory: a matrix of windows and what the product needs.
template <class T>
class Workers {
 public:
  // `together` images share a matrix of windows, and as many output planes of their own.
  Workers(const ConvProblem& p, const Gemm<T>& gemm, std::int64_t limit, std::int64_t together = 1)
      : images_(p.batch),
        together_(together),
        count_(std::clamp<std::int64_t>(
            std::min(p.batch,
                     static_cast<std::int64_t>(std::min(p.flops() / kOperationsOfThread, 1e6))),
            1,
            limit)),
        window_bytes_(padded(byte_size(
            {{p.taps(), together, p.out[kDepth], p.out[kHeight], p.out[kWidth]}, dtype_of<T>}))),
        output_bytes_(together == 1
                          ? 0
                          : padded(byte_size({{p.filters / p.groups, together, p.out[kDepth],
                                               p.out[kHeight], p.out[kWidth]},
                                              dtype_of<T>}))),
        bytes_of_worker_(window_bytes_ + output_bytes_ + padded(gemm.scratch_bytes())),
        memory_(allocate(bytes_of_worker_ * static_cast<std::size_t>(count_))) {}

  struct Scratch {
    T* windows;
    T* outputs;
    T* product;
  };

  // Calls f(first, last, scratch) for images [first, last), at most `together` of them, until all
  // had their turn, on several threads.
  template <class F>
  void for_images(const F& f) const {
    const std::int64_t tasks = divide_up(images_, together_);
    parallel_workers(count_, tasks, [&](std::int64_t worker, const auto& next_task) {
      auto* memory = static_cast<std::byte*>(memory_.get()) +
                     bytes_of_worker_ * static_cast<std::size_t>(worker);
      const Scratch scratch{reinterpret_cast<T*>(memory),
                            reinterpret_cast<T*>(memory + window_bytes_),
                            reinterpret_cast<T*>(memory + window_bytes_ + output_bytes_)};
      while (const std::optional<std::int64_t> task = next_task()) {
        const std::int64_t first = *task * together_;
        f(first, std::min(first + together_, images_), scratch);
      }
    });
  }

 private:
  static std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

  std::int64_t images_;
  std::int64_t together_;
  std::int64_t count_;
  std::size_t window_bytes_;
  std::size_t output_bytes_;
  std::size_t bytes_of_worker_;
  std::shared_ptr<void> memory_;
};

// Elements of one group of one image, and of the group's filters.
struct GroupSizes {
  explicit GroupSizes(const ConvProblem& p)
      : filters(p.filters / p.groups),
        input(p.channels / p.groups * p.in_plane()),
        output(filters * p.out_plane()),
        filter(filters * p.taps()) {}

  std::int64_t filters;
  std::int64_t input;
  std::int64_t output;
  std::int64_t filter;
};

}  // namespace

template <class T>
Prepared2<T> prepare_conv(const ConvProblem& p) {
  const GroupSizes size(p);
  const std::int64_t plane = p.out_plane();
  // Images so small that their filters would be read for hardly any outputs are taken together.
  const std::int64_t share = divide_up(p.batch, num_threads());
  const std::int64_t together = std::clamp<std::int64_t>(
      kPackedColumns / std::max<std::int64_t>(plane, 1), 1, std::max<std::int64_t>(share, 1));
  const std::int64_t columns = together * plane;
  const Gemm<T> gemm(size.filters, columns, p.taps(), {p.taps(), 1}, {columns, 1}, {columns, 1});
  const Workers<T> workers(p, gemm, num_threads(), together);
  return [=](const T* input, const T* filter, T* output) {
    workers.for_images([&](std::int64_t first, std::int64_t last, const auto& scratch) {
      for (std::int64_t group = 0; group < p.groups; ++group) {
        for (std::int64_t i = first; i < last; ++i) {
          windows_of(p, input + (i * p.groups + group) * size.input,
                     scratch.windows + (i - first) * plane, columns);
        }
        T* const outputs =
            together == 1 ? output + (first * p.groups + group) * size.output : scratch.outputs;
        gemm(filter + group * size.filter, scratch.windows, outputs, false, scratch.product);
        if (together == 1) continue;
        for (std::int64_t i = first; i < last; ++i) {
          T* to = output + (i * p.groups + group) * size.output;
          const T* from = outputs + (i - first) * plane;
          for (std::int64_t f = 0; f < size.filters; ++f) {
            std::copy_n(from + f * columns, plane, to + f * plane);
          }
        }
      }
    });
  };
}

template <class T>
Prepared2<T> prepare_conv_input_grad(const ConvProblem& p) {
  const GroupSizes size(p);
  const Gemm<T> gemm(p.taps(), p.out_plane(), size.filters, {1, p.taps()}, {p.out_plane(), 1},
                     {p.out_plane(), 1});
  const Workers<T> workers(p, gemm, num_threads());
  return [=](const T* output_grad, const T* filter, T* input_grad) {
    workers.for_images([&](std::int64_t image, std::int64_t /*end*/, const auto& scratch) {
      for (std::int64_t group = 0; group < p.groups; ++group) {
        const std::int64_t index = image * p.groups + group;
        T* grad = input_grad + index * size.input;
        gemm(filter + group * size.filter, output_grad + index * size.output, scratch.windows,
             false, scratch.product);
        std::fill_n(grad, size.input, T(0));
        add_windows(p, scratch.windows, grad);
      }
    });
  };
}

template <class T>
Prepared2<T> prepare_conv_filter_grad(const ConvProblem& p) {
  const GroupSizes size(p);
  const Gemm<T> gemm(size.filters, p.taps(), p.out_plane(), {p.out_plane(), 1}, {1, p.out_plane()},
                     {p.taps(), 1});
  // One worker: all images add to the same gradient, in their order.
  const Workers<T> workers(p, gemm, 1);
  return [=](const T* input, const T* output_grad, T* filter_grad) {
    if (p.batch == 0) std::fill_n(filter_grad, p.groups * size.filter, T(0));
    workers.for_images([&](std::int64_t image, std::int64_t /*end*/, const auto& scratch) {
      for (std::int64_t group = 0; group < p.groups; ++group) {
        const std::int64_t index = image * p.groups + group;
        windows_of(p, input + index * size.input, scratch.windows, p.out_plane());
        gemm(output_grad + index * size.output, scratch.windows, filter_grad + group * size.filter,
             image > 0, scratch.product);
      }
    });
  };
}

template Prepared2<float> prepare_conv<float>(const ConvProblem&);
template Prepared2<double> prepare_conv<double>(const ConvProblem&);
template Prepared2<float> prepare_conv_input_grad<float>(const ConvProblem&);
template Prepared2<double> prepare_conv_input_grad<double>(const ConvProblem&);
template Prepared2<float> prepare_conv_filter_grad<float>(const ConvProblem&);
template Prepared2<double> prepare_conv_filter_grad<double>(const ConvProblem&);

}  // namespace fluidcore::cpu
