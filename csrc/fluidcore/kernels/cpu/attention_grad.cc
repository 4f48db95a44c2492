#include <algorithm>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cpu/attention.h"
#include "fluidcore/kernels/cpu/attention_tiles.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/math.h"

namespace fluidcore::cpu {

namespace {

// The weights of a tile from its scores.
template <class T>
void weigh_again(
    const Attention& a, Range queries, Range keys, const T* mask, const T* lse, T* scores) {
  for (std::int64_t r = 0; r < queries.count; ++r) {
    T* const row = scores + r * kTileKeys;
    const std::int64_t count = seen(a, queries.first + r, keys);
    finish_scores(a, queries.first + r, keys, count, mask, row);
    const T of_row = lse[r];
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) row[i] = math::exp(row[i] - of_row);
    std::fill(row + count, row + keys.count, T(0));
  }
}

// grads = the gradients of the scores, from those of the weights; `mean[r]` is their mean under the
// weights, less the gradient of the logarithm of the sum.
template <class T>
void score_grads(Range queries, Range keys, const T* weights, const T* mean, T* grads) {
  for (std::int64_t r = 0; r < queries.count; ++r) {
    const T* const weight = weights + r * kTileKeys;
    T* const grad = grads + r * kTileKeys;
    const T of_row = mean[r];
#pragma omp simd
    for (std::int64_t i = 0; i < keys.count; ++i) grad[i] = weight[i] * (grad[i] - of_row);
  }
}

template <class T>
void add_mask_grad(const Attention& a, Range queries, Range keys, const T* grads, T* mask_grad) {
  for (std::int64_t r = 0; r < queries.count; ++r) {
    const T* const grad = grads + r * kTileKeys;
    T* const to = mask_grad + (queries.first + r) * a.mask[2] + keys.first * a.mask[3];
    for (std::int64_t i = 0; i < keys.count; ++i) to[i * a.mask[3]] += grad[i];
  }
}

// Multiplies with the factor that the scores have.
template <class T>
void scale_all(const Attention& a, std::int64_t size, T* values) {
  const auto scale = static_cast<T>(a.scale);
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) values[i] *= scale;
}

}  // namespace

template <class T>
PreparedAttentionGrad<T> prepare_attention_grad(const Attention& a, const ScratchPtr& scratch) {
  const std::int64_t d = a.depth;
  const std::int64_t dv = a.value_depth;
  const TileProduct<T> score(a, [=](std::int64_t m, std::int64_t n) {
    return Gemm<T>(m, n, d, {d, 1}, {1, d}, {kTileKeys, 1});
  });
  const TileProduct<T> to_weights(a, [=](std::int64_t m, std::int64_t n) {
    return Gemm<T>(m, n, dv, {dv, 1}, {1, dv}, {kTileKeys, 1});
  });
  const TileProduct<T> to_v(a, [=](std::int64_t m, std::int64_t n) {
    return Gemm<T>(n, dv, m, {1, kTileKeys}, {dv, 1}, {dv, 1});
  });
  const TileProduct<T> to_q(a, [=](std::int64_t m, std::int64_t n) {
    return Gemm<T>(m, d, n, {kTileKeys, 1}, {d, 1}, {d, 1});
  });
  const TileProduct<T> to_k(a, [=](std::int64_t m, std::int64_t n) {
    return Gemm<T>(n, d, m, {1, kTileKeys}, {d, 1}, {d, 1});
  });
  const std::size_t memory_bytes =
      std::max({score.scratch_bytes(), to_weights.scratch_bytes(), to_v.scratch_bytes(),
                to_q.scratch_bytes(), to_k.scratch_bytes()});
  const std::int64_t heads = a.batch * a.heads;
  const Workspace<T> workspace(scratch, heads, 2 * kTileQueries * kTileKeys + a.queries,
                               memory_bytes);
  // Heads that share elements of a mask add to its gradient one after the other.
  const bool shares_mask = (a.mask[0] == 0 && a.batch > 1) || (a.mask[1] == 0 && a.heads > 1);
  return [=](const AttentionValues<T>& in, const AttentionGrads<T>& grads) {
    if (grads.mask_grad != nullptr) std::fill_n(grads.mask_grad, grads.mask_size, T(0));
    const auto head_grads = [&](std::int64_t head, T* weights, T* memory) {
      T* const scores = weights + kTileQueries * kTileKeys;
      T* const means = scores + kTileQueries * kTileKeys;
      const std::int64_t first_query = head * a.queries;
      const std::int64_t first_key = head * a.keys;
      run_on(cpu_isa(), [=] {
        for (std::int64_t r = 0; r < a.queries; ++r) {
          const T* const out = grads.out + (first_query + r) * dv;
          const T* const grad = grads.out_grad + (first_query + r) * dv;
          T sum = 0;
#pragma omp simd reduction(+ : sum)
          for (std::int64_t i = 0; i < dv; ++i) sum += out[i] * grad[i];
          means[r] = sum - grads.logsumexp_grad[first_query + r];
        }
      });
      T* const q_grad = grads.q_grad == nullptr ? nullptr : grads.q_grad + first_query * d;
      T* const k_grad = grads.k_grad == nullptr ? nullptr : grads.k_grad + first_key * d;
      T* const v_grad = grads.v_grad == nullptr ? nullptr : grads.v_grad + first_key * dv;
      if (q_grad != nullptr) std::fill_n(q_grad, a.queries * d, T(0));
      if (k_grad != nullptr) std::fill_n(k_grad, a.keys * d, T(0));
      if (v_grad != nullptr) std::fill_n(v_grad, a.keys * dv, T(0));
      const T* const mask = mask_of(a, in.mask, head);
      T* const mask_grad = mask_of(a, grads.mask_grad, head);
      for (std::int64_t j = 0; j < divide_up(a.keys, kTileKeys); ++j) {
        const Range keys = tile_of(a.keys, kTileKeys, j);
        const T* const k = in.k + (first_key + keys.first) * d;
        for (std::int64_t i = 0; i < divide_up(a.queries, kTileQueries); ++i) {
          const Range queries = tile_of(a.queries, kTileQueries, i);
          if (seen(a, queries.last() - 1, keys) == 0) continue;
          const std::int64_t row = first_query + queries.first;
          const T* const out_grad = grads.out_grad + row * dv;
          score(queries, keys, in.q + row * d, k, weights, false, memory);
          run_on(cpu_isa(),
                 [=] { weigh_again(a, queries, keys, mask, grads.logsumexp + row, weights); });
          if (v_grad != nullptr) {
            to_v(queries, keys, weights, out_grad, v_grad + keys.first * dv, true, memory);
          }
          if (q_grad == nullptr && k_grad == nullptr && mask_grad == nullptr) continue;
          to_weights(queries, keys, out_grad, in.v + (first_key + keys.first) * dv, scores, false,
                     memory);
          run_on(cpu_isa(),
                 [=] { score_grads(queries, keys, weights, means + queries.first, scores); });
          if (mask_grad != nullptr) add_mask_grad(a, queries, keys, scores, mask_grad);
          if (q_grad != nullptr) {
            to_q(queries, keys, scores, k, q_grad + queries.first * d, true, memory);
          }
          if (k_grad != nullptr) {
            to_k(queries, keys, scores, in.q + row * d, k_grad + keys.first * d, true, memory);
          }
        }
      }
      if (q_grad != nullptr) scale_all(a, a.queries * d, q_grad);
      if (k_grad != nullptr) scale_all(a, a.keys * d, k_grad);
    };
    if (grads.mask_grad != nullptr && shares_mask) {
      const ThreadCountScope alone(1);
      workspace.run(head_grads);
    } else {
      workspace.run(head_grads);
    }
  };
}

template PreparedAttentionGrad<float> prepare_attention_grad<float>(const Attention&,
                                                                    const ScratchPtr&);
template PreparedAttentionGrad<double> prepare_attention_grad<double>(const Attention&,
                                                                      const ScratchPtr&);

}  // namespace fluidcore::cpu
