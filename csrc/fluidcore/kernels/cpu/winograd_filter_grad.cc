#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/base/shared_tasks.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/winograd.h"
#include "fluidcore/kernels/cpu/winograd_filter.h"
#include "fluidcore/kernels/cpu/winograd_tiles.h"

namespace fluidcore::cpu {

namespace {

using namespace winograd;

constexpr std::int64_t kBlock = 64;     // tiles
constexpr std::int64_t kChannels = 64;  // of a job
// The work is cut into at least so many jobs where there are enough tiles.
constexpr std::int64_t kJobs = 8;
constexpr std::int64_t kTilesOfJob = 128;

// A job adds up some of the tiles, for some of the channels; what jobs leave for the same channels
// is added in their order. The problem alone decides the jobs, so that the number of threads has no
// influence on the sums.
class FilterGrad {
 public:
  FilterGrad(const ConvProblem& p, ScratchPtr scratch, Isa isa)
      : p_(p),
        scratch_(std::move(scratch)),
        isa_(isa),
        tiles_(p),
        channels_(std::min(kChannels, round_up(p.channels, kLanes))),
        groups_(divide_up(p.channels, kChannels)),
        parts_(std::clamp<std::int64_t>(tiles_.count / kTilesOfJob, 1, divide_up(kJobs, groups_))),
        input_(kBlock, channels_),
        output_(kBlock, p.filters),
        result_(channels_, p.filters),
        workers_(std::min<std::int64_t>(num_threads(), groups_ * parts_)) {
    scratch_->reserve(
        sizeof(float) *
        static_cast<std::size_t>(zeros_size() + workers_ * worker_size() + (parts_ - 1) * size()));
  }

  void run(const float* input, const float* output_grad, float* filter_grad) {
    auto* const zeros = reinterpret_cast<float*>(scratch_->data());
    std::fill_n(zeros, zeros_size(), 0.0F);
    float* const matrices = zeros + zeros_size();
    float* const partial = matrices + workers_ * worker_size();
    const std::int64_t jobs = groups_ * parts_;
    parallel_workers(workers_, jobs, [&](std::int64_t worker, const auto& next_job) {
      while (const std::optional<std::int64_t> job = next_job()) {
        const std::int64_t part = *job / groups_;
        float* const to = part == 0 ? filter_grad : partial + (part - 1) * size();
        with_vectors(isa_, [&](auto bytes) {
          run_job<bytes()>(part, *job % groups_, input, output_grad, zeros,
                           matrices + worker * worker_size(), to);
        });
      }
    });
    if (parts_ == 1) return;
    constexpr std::int64_t kGrain = 16384;
    parallel_for(size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = 0; part + 1 < parts_; ++part) {
        const float* more = partial + part * size();
#pragma GCC ivdep
        for (std::int64_t i = begin; i < end; ++i) filter_grad[i] += more[i];
      }
    });
  }

 private:
  std::int64_t zeros_size() const { return round_up(std::max(p_.channels, p_.filters), kLanes); }
  std::int64_t worker_size() const { return input_.size() + output_.size() + result_.size(); }
  std::int64_t size() const { return p_.filters * p_.taps(); }

  template <int kBytes>
  [[gnu::always_inline]] void run_job(std::int64_t part,
                                      std::int64_t group,
                                      const float* input,
                                      const float* output_grad,
                                      const float* zeros,
                                      float* scratch,
                                      float* filter_grad) const {
    const std::int64_t first_channel = group * kChannels;
    const std::int64_t last_channel = std::min(first_channel + kChannels, p_.channels);
    float* const a = scratch;
    float* const b = a + input_.size();
    float* const c = b + output_.size();
    const std::int64_t begin = tiles_.count * part / parts_;
    const std::int64_t end = tiles_.count * (part + 1) / parts_;
    for (std::int64_t first = begin; first < end; first += kBlock) {
      const std::int64_t last = std::min(first + kBlock, end);
      float* row = a;
      tiles_.for_each(first, last, [&](std::int64_t image, std::int64_t y, std::int64_t x) {
        transform_patch<kBytes, OfInput, 4>(input_of(p_), input, image, y - p_.pad[kHeight],
                                            x - p_.pad[kWidth], first_channel, last_channel, zeros,
                                            input_, row);
        row += kLanes;
      });
      row = b;
      tiles_.for_each(first, last, [&](std::int64_t image, std::int64_t y, std::int64_t x) {
        transform_patch<kBytes, OfOutputGrad, 2>(output_of(p_), output_grad, image, y, x, 0,
                                                 p_.filters, zeros, output_, row);
        row += kLanes;
      });
      const PanelProduct product{round_up(last_channel - first_channel, kLanes),
                                 last - first,
                                 output_.count,
                                 input_.panel,
                                 output_.panel,
                                 result_.panel,
                                 first > begin};
      for (std::int64_t i = 0; i < kElements; ++i) {
        multiply<kBytes, Along::kRows>(product, a + i * input_.matrix, b + i * output_.matrix,
                                       c + i * result_.matrix);
      }
    }
    transform_filter_grad<kBytes>(filter_matrix(p_), c, result_, first_channel, last_channel,
                                  filter_grad);
  }

  ConvProblem p_;
  ScratchPtr scratch_;
  Isa isa_;
  Tiles tiles_;
  std::int64_t channels_;  // of a job
  std::int64_t groups_;    // of channels
  std::int64_t parts_;     // of the tiles
  Panels input_;
  Panels output_;
  Panels result_;
  std::int64_t workers_;
};

}  // namespace

Prepared2<float> prepare_winograd_filter_grad(const ConvProblem& p,
                                              const ScratchPtr& scratch,
                                              Isa isa) {
  auto grad = std::make_shared<FilterGrad>(p, scratch, isa);
  return [grad](const float* input, const float* output_grad, float* filter_grad) {
    grad->run(input, output_grad, filter_grad);
  };
}

}  // namespace fluidcore::cpu
