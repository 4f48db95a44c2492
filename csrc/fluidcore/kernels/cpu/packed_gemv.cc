#include "fluidcore/kernels/cpu/packed_gemv.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "fluidcore/base/division.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/float_vectors.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::cpu {

namespace {

constexpr std::int64_t kPanelColumns = 64;
constexpr std::int64_t kPanelWork = std::int64_t{1} << 15;  // elements that are worth a thread
// How far ahead of its use the stream is asked for.
constexpr std::int64_t kAhead = 2048 / sizeof(float);

class PackedGemv {
 public:
  PackedGemv(const MatmulProblem& p, Isa isa)
      : depth_(p.k),
        columns_(p.n),
        panels_(divide_up(p.n, kPanelColumns)),
        row_stride_(p.b.row),
        column_stride_(p.b.col),
        isa_(isa) {}

  void run(const float* x,
           const float* weights,
           std::uint64_t version,
           float* out,
           const Epilogue& epilogue) {
    if (std::exchange(version_, version) != version || version == 0) pack(weights);
    const auto* const packed = reinterpret_cast<const float*>(packed_.data());
    const std::int64_t grain = divide_up(kPanelWork, depth_ * kPanelColumns);
    parallel_for(panels_, grain, [&](std::int64_t begin, std::int64_t end) {
      on_vectors(isa_, [&](auto bytes) {
        for (std::int64_t panel = begin; panel < end; ++panel) {
          std::array<float, kPanelColumns> sums;
          multiply<bytes()>(x, packed + panel * depth_ * kPanelColumns, sums.data());
          finish(panel * kPanelColumns, sums.data(), epilogue, out);
        }
      });
    });
  }

 private:
  void pack(const float* weights) {
    packed_.reserve(sizeof(float) *
                    static_cast<std::size_t>(panels_ * depth_ * kPanelColumns + kAhead));
    auto* const packed = reinterpret_cast<float*>(packed_.data());
    parallel_for(panels_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t panel = begin; panel < end; ++panel) {
        const std::int64_t first = panel * kPanelColumns;
        const std::int64_t count = std::min(kPanelColumns, columns_ - first);
        float* to = packed + first * depth_;
        for (std::int64_t i = 0; i < depth_; ++i, to += kPanelColumns) {
          const float* const from = weights + i * row_stride_ + first * column_stride_;
          for (std::int64_t j = 0; j < count; ++j) to[j] = from[j * column_stride_];
          std::fill(to + count, to + kPanelColumns, 0.0F);
        }
      }
    });
  }

  // sums[j] = sum over i of x[i] panel[i][j].
  template <int kBytes>
  [[gnu::always_inline]] void multiply(const float* x, const float* panel, float* sums) const {
    using Vector = typename FloatVector<kBytes>::Type;
    constexpr int kLanes = FloatVector<kBytes>::kLanes;
    constexpr int kVectors = kPanelColumns / kLanes;
    std::array<Vector, kVectors> total{};
    for (std::int64_t i = 0; i < depth_; ++i, panel += kPanelColumns) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        if (v * kBytes % 64 == 0) __builtin_prefetch(panel + v * kLanes + kAhead);
        total[v] += x[i] * *reinterpret_cast<const Vector*>(panel + v * kLanes);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      *reinterpret_cast<typename FloatVector<kBytes>::Unaligned*>(sums + v * kLanes) = total[v];
    }
  }

  [[gnu::always_inline]] void finish(std::int64_t first,
                                     float* sums,
                                     const Epilogue& epilogue,
                                     float* out) const {
    const std::int64_t count = std::min(kPanelColumns, columns_ - first);
    if (epilogue.scale != nullptr) {
      for (std::int64_t j = 0; j < count; ++j) sums[j] *= epilogue.scale[first + j];
    }
    for (const float* terms : {epilogue.bias, epilogue.residual}) {
      if (terms == nullptr) continue;
      for (std::int64_t j = 0; j < count; ++j) sums[j] += terms[first + j];
    }
    if (epilogue.relu) {
      for (std::int64_t j = 0; j < count; ++j) sums[j] = sums[j] < 0.0F ? 0.0F : sums[j];
    }
    std::copy_n(sums, count, out + first);
  }

  std::int64_t depth_;
  std::int64_t columns_;
  std::int64_t panels_;
  std::int64_t row_stride_;  // of the weights
  std::int64_t column_stride_;
  Isa isa_;
  Scratch packed_;  // panel by panel, row by row
  std::uint64_t version_ = 0;
};

}  // namespace

FusedKernel prepare_packed_gemv(const MatmulProblem& original, Isa isa) {
  const MatmulProblem p = simplified(original);
  const auto is_dense = [](std::int64_t stride, std::int64_t extent) {
    return stride == 1 || extent == 1;
  };
  const bool is_vector = p.batch.empty() && !p.is_empty() && p.m == 1;
  if (!is_vector || !is_dense(p.a.col, p.k) || !is_dense(p.c.col, p.n)) return nullptr;
  constexpr std::int64_t kMostPadding = 8;  // one column of so many
  if (round_up(p.n, kPanelColumns) - p.n > p.n / kMostPadding) return nullptr;
  return [gemv = std::make_shared<PackedGemv>(p, isa)](
             const float* x, const float* weights, std::uint64_t version, float* out,
             const Epilogue& epilogue) { gemv->run(x, weights, version, out, epilogue); };
}

}  // namespace fluidcore::cpu
