#include "fluidcore/kernels/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cpu/attention_tiles.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/math.h"

namespace fluidcore::cpu {

namespace {

// Makes the scores of a tile weights that lack a factor for each query, the sums of which go on
// from the tiles before.
template <class T>
void weigh(const Attention& a,
           Range queries,
           Range keys,
           const T* mask,
           T* scores,
           T* greatest,
           T* sums,
           T* out,
           std::int64_t out_row) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (std::int64_t r = 0; r < queries.count; ++r) {
    T* const row = scores + r * kTileKeys;
    const std::int64_t count = seen(a, queries.first + r, keys);
    finish_scores(a, queries.first + r, keys, count, mask, row);
    T most = greatest[r];
#pragma omp simd reduction(max : most)
    for (std::int64_t i = 0; i < count; ++i) most = row[i] > most ? row[i] : most;
    const T base = most == kNothing ? T(0) : most;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) {
      row[i] = math::exp(row[i] - base);
      sum += row[i];
    }
    std::fill(row + count, row + keys.count, T(0));
    if (most != greatest[r]) {
      const T factor = greatest[r] == kNothing ? T(0) : math::exp(greatest[r] - base);
      sums[r] *= factor;
      T* const values = out + r * out_row;
#pragma omp simd
      for (std::int64_t i = 0; i < a.value_depth; ++i) values[i] *= factor;
      greatest[r] = most;
    }
    sums[r] += sum;
  }
}

template <class T>
void finish(const Attention& a,
            Range queries,
            const T* greatest,
            const T* sums,
            T* out,
            std::int64_t out_row,
            T* lse) {
  for (std::int64_t r = 0; r < queries.count; ++r) {
    const bool any = sums[r] > T(0) || std::isnan(sums[r]);
    const T factor = any ? T(1) / sums[r] : T(0);
    T* const values = out + r * out_row;
#pragma omp simd
    for (std::int64_t i = 0; i < a.value_depth; ++i) values[i] *= factor;
  }
  if (lse == nullptr) return;
#pragma omp simd
  for (std::int64_t r = 0; r < queries.count; ++r) {
    const bool none = sums[r] <= T(0);
    lse[r] = none ? std::numeric_limits<T>::infinity() : greatest[r] + math::log(sums[r]);
  }
}

}  // namespace

template <class T>
PreparedAttention<T> prepare_attention(const Attention& a,
                                       const AttentionLayout& layout,
                                       const ScratchPtr& scratch) {
  const std::int64_t dv = a.value_depth;
  const TileProduct<T> score(a, [&](std::int64_t m, std::int64_t n) {
    return Gemm<T>(m, n, a.depth, {layout.q.row, 1}, {1, layout.k.row}, {kTileKeys, 1});
  });
  const TileProduct<T> mix(a, [&](std::int64_t m, std::int64_t n) {
    return Gemm<T>(m, dv, n, {kTileKeys, 1}, {layout.v.row, 1}, {layout.out.row, 1});
  });
  const std::int64_t tiles = divide_up(a.queries, kTileQueries);
  const Workspace<T> workspace(scratch, a.batch * a.heads * tiles, kTileQueries * (kTileKeys + 2),
                               std::max(score.scratch_bytes(), mix.scratch_bytes()));
  return [=](const AttentionValues<T>& in, T* out, T* logsumexp) {
    workspace.run([&](std::int64_t task, T* scores, T* memory) {
      const std::int64_t head = task / tiles;
      const Range queries = tile_of(a.queries, kTileQueries, task % tiles);
      const std::int64_t out_row = layout.out.row;
      const T* const q = in.q + layout.q.offset(head, a.heads) + queries.first * layout.q.row;
      const T* const k = in.k + layout.k.offset(head, a.heads);
      const T* const v = in.v + layout.v.offset(head, a.heads);
      T* const values = out + layout.out.offset(head, a.heads) + queries.first * out_row;
      T* const greatest = scores + kTileQueries * kTileKeys;
      T* const sums = greatest + kTileQueries;
      std::fill_n(greatest, queries.count, -std::numeric_limits<T>::infinity());
      std::fill_n(sums, queries.count, T(0));
      for (std::int64_t r = 0; r < queries.count; ++r) std::fill_n(values + r * out_row, dv, T(0));
      const T* const mask = mask_of(a, in.mask, head);
      for (std::int64_t j = 0; j < divide_up(a.keys, kTileKeys); ++j) {
        const Range keys = tile_of(a.keys, kTileKeys, j);
        if (seen(a, queries.last() - 1, keys) == 0) break;
        score(queries, keys, q, k + keys.first * layout.k.row, scores, false, memory);
        run_on(cpu_isa(),
               [=] { weigh(a, queries, keys, mask, scores, greatest, sums, values, out_row); });
        mix(queries, keys, scores, v + keys.first * layout.v.row, values, true, memory);
      }
      T* const lse = logsumexp == nullptr ? nullptr : logsumexp + head * a.queries + queries.first;
      run_on(cpu_isa(), [=] { finish(a, queries, greatest, sums, values, out_row, lse); });
    });
  };
}

template PreparedAttention<float> prepare_attention<float>(const Attention&,
                                                           const AttentionLayout&,
                                                           const ScratchPtr&);
template PreparedAttention<double> prepare_attention<double>(const Attention&,
                                                             const AttentionLayout&,
                                                             const ScratchPtr&);

}  // namespace fluidcore::cpu
