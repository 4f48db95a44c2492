#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluidcore/op/communicator.h"
#include "fluidcore/ops/collective.h"

// The batch whose statistics a batch norm uses. T is float or double.
namespace fluidcore {

// f(first, second) on the host, of two times as many numbers in a device's memory.
template <class T, class F>
void on_host(DeviceContext& device, T* first, T* second, std::int64_t count, const F& f) {
  std::vector<T> a(static_cast<std::size_t>(count));
  std::vector<T> b(a.size());
  const std::size_t bytes = a.size() * sizeof(T);
  device.copy_out(a.data(), first, bytes);
  device.copy_out(b.data(), second, bytes);
  f(a, b);
  device.copy_in(first, a.data(), bytes);
  device.copy_in(second, b.data(), bytes);
}

// That of this process.
struct OwnBatch {
  static constexpr bool kOfAllRanks = false;

  explicit OwnBatch(const KernelContext& /*context*/) {}

  template <class T>
  void moments(std::vector<T>& /*mean*/, std::vector<T>& /*variance*/) const {}
  template <class T>
  void sums(std::vector<T>& /*first*/, std::vector<T>& /*second*/) const {}
};

// Those of all ranks together, each of which counts by its samples.
class WholeBatch {
 public:
  static constexpr bool kOfAllRanks = true;

  explicit WholeBatch(const KernelContext& context) : ranks_(context), share_(context, true) {}

  // From the mean and the variance of each channel on this rank to those of all. All ranks do the
  // same arithmetic: Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance",
  // equation 2.1, with shares for numbers of samples.
  template <class T>
  void moments(std::vector<T>& mean, std::vector<T>& variance) const {
    const std::size_t channels = mean.size();
    std::vector<double> own{share_.of(ranks_.on_host(), ranks_.label())};
    own.insert(own.end(), mean.begin(), mean.end());
    own.insert(own.end(), variance.begin(), variance.end());
    const std::vector<double> all = gathered(own);
    const auto over_ranks = [&](const auto& f) {
      double sum = 0;
      for (const double* rank = all.data(); rank != all.data() + all.size(); rank += own.size()) {
        sum += rank[0] * f(rank + 1);
      }
      return sum;
    };
    for (std::size_t i = 0; i < channels; ++i) {
      const double center = over_ranks([&](const double* rank) { return rank[i]; });
      mean[i] = static_cast<T>(center);
      variance[i] = static_cast<T>(over_ranks([&](const double* rank) {
        return rank[channels + i] + (rank[i] - center) * (rank[i] - center);
      }));
    }
  }

  // From sums of cotangents over this rank's elements to their means over the ranks.
  template <class T>
  void sums(std::vector<T>& first, std::vector<T>& second) const {
    Communicator& communicator = ranks_.on_host();
    const double share = share_.of(communicator, ranks_.label());
    std::vector<double> own(first.begin(), first.end());
    own.insert(own.end(), second.begin(), second.end());
    for (double& each : own) each *= share;
    std::vector<double> sum(own.size());
    communicator.wait(communicator.iallreduce(elements(own), elements(sum), ranks_.label()));
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i] = static_cast<T>(sum[i]);
      second[i] = static_cast<T>(sum[first.size() + i]);
    }
  }

 private:
  static Communicator::Elements elements(std::vector<double>& values) {
    return {values.data(), static_cast<std::int64_t>(values.size()), DType::kFloat64};
  }

  std::vector<double> gathered(std::vector<double>& own) const {
    Communicator& communicator = ranks_.on_host();
    std::vector<double> all(own.size() * static_cast<std::size_t>(communicator.size()));
    communicator.wait(communicator.iallgather(elements(own), all.data(), ranks_.label()));
    return all;
  }

  Ranks ranks_;
  Share share_;
};

}  // namespace fluidcore
