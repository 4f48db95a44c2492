#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fluidcore/kernels/cpu/resample.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::cuda {

// A cpu::AxisTable in a device's memory.
class AxisTable {
 public:
  AxisTable(const cpu::AxisTable& table, const Device& device)
      : inputs_(table.inputs),
        outputs_(table.outputs()),
        start_(on_device(table.start, device)),
        source_(on_device(table.source, device)),
        weight_(on_device(table.weight, device)) {}

  // [outer, inputs, inner] -> [outer, outputs, inner], as cpu::resample_axis().
  template <class T>
  void resample(
      DeviceContext& device, std::int64_t outer, std::int64_t inner, const T* from, T* to) const {
    for_each(device, outer * outputs_ * inner,
             Resample{inputs_, outputs_, inner, static_cast<const std::int64_t*>(start_.raw()),
                      static_cast<const std::int64_t*>(source_.raw()),
                      static_cast<const double*>(weight_.raw())},
             from, to);
  }

  // The body of the kernel, by element of the result.
  struct Resample {
    std::int64_t inputs;
    std::int64_t outputs;
    std::int64_t inner;
    const std::int64_t* start;
    const std::int64_t* source;
    const double* weight;

    template <class Index, class T>
    FC_HOST_DEVICE void operator()(Index i, const T* from, T* to) const {
      const std::int64_t row = i / inner;
      const std::int64_t column = i - row * inner;
      const std::int64_t outer = row / outputs;
      const std::int64_t output = row - outer * outputs;
      T sum = 0;
      for (std::int64_t t = start[output]; t < start[output + 1]; ++t) {
        sum += static_cast<T>(weight[t]) * from[(outer * inputs + source[t]) * inner + column];
      }
      to[i] = sum;
    }
  };

 private:
  template <class T>
  static Tensor on_device(const std::vector<T>& numbers, const Device& device) {
    Tensor tensor({{static_cast<std::int64_t>(numbers.size())}, dtype_of<T>});
    std::copy(numbers.begin(), numbers.end(), static_cast<T*>(tensor.raw()));
    return tensor.to(device);
  }

  std::int64_t inputs_;
  std::int64_t outputs_;
  Tensor start_;
  Tensor source_;
  Tensor weight_;
};

}  // namespace fluidcore::cuda
