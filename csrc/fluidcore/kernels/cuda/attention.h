#pragma once

#include <cstdint>
#include <limits>

#include "fluidcore/kernels/cpu/attention.h"
#include "fluidcore/kernels/cuda/launch.h"
#include "fluidcore/kernels/math.h"
#include "fluidcore/kernels/matmul_problem.h"

namespace fluidcore::cuda {

// Attention with the whole matrices of scores in memory, [batch * heads, queries, keys]: what is
// between its products of matrices. See cpu::Attention.

// Where a row of scores is, and what its query sees.
struct AttentionRow {
  FC_HOST_DEVICE AttentionRow(const cpu::Attention& a, std::int64_t row)
      : first(row * a.keys), query(row % a.queries) {
    const std::int64_t head = row / a.queries;
    mask = head / a.heads * a.mask[0] + head % a.heads * a.mask[1] + query * a.mask[2];
    seen = a.causal && query + 1 < a.keys ? query + 1 : a.keys;
  }

  std::int64_t first;
  std::int64_t query;
  std::int64_t mask;
  std::int64_t seen;
};

template <class T>
FC_HOST_DEVICE T attention_score(
    const cpu::Attention& a, const AttentionRow& at, std::int64_t key, const T* mask, T product) {
  const T score = product * static_cast<T>(a.scale);
  return mask == nullptr ? score : score + mask[at.mask + key * a.mask[3]];
}

// Turns Q K^T into weights, in place.
template <class T>
struct AttentionWeights {
  cpu::Attention a;

  FC_HOST_DEVICE void operator()(
      const Group& group, std::int64_t row, const T* mask, T* scores, T* logsumexp) const {
    const AttentionRow at(a, row);
    T* const of_row = scores + at.first;
    T greatest = -std::numeric_limits<T>::infinity();
    for (std::int64_t k = group.rank(); k < at.seen; k += group.size()) {
      of_row[k] = attention_score(a, at, k, mask, of_row[k]);
      greatest = of_row[k] > greatest ? of_row[k] : greatest;
    }
    greatest = group.all(greatest, [](T x, T y) { return x > y ? x : y; });
    const bool sees = greatest > -std::numeric_limits<T>::infinity();
    T sum = 0;
    for (std::int64_t k = group.rank(); k < at.seen; k += group.size()) {
      of_row[k] = math::exp(of_row[k] - greatest);
      sum += of_row[k];
    }
    sum = group.sum(sum);
    for (std::int64_t k = group.rank(); k < a.keys; k += group.size()) {
      of_row[k] = k < at.seen && sees ? of_row[k] / sum : T(0);
    }
    if (logsumexp == nullptr || group.rank() != 0) return;
    logsumexp[row] = sees ? greatest + math::log(sum) : std::numeric_limits<T>::infinity();
  }
};

// From Q K^T to the weights, and from the gradient of these to that of Q K^T; both in place.
template <class T>
struct AttentionWeightsGrad {
  cpu::Attention a;

  FC_HOST_DEVICE void operator()(const Group& group,
                                 std::int64_t row,
                                 const T* mask,
                                 const cpu::AttentionGrads<T>& grads,
                                 T* scores,
                                 T* grad) const {
    const AttentionRow at(a, row);
    const std::int64_t first = row * a.value_depth;
    T mean = 0;
    for (std::int64_t d = group.rank(); d < a.value_depth; d += group.size()) {
      mean += grads.out[first + d] * grads.out_grad[first + d];
    }
    mean = group.sum(mean) - grads.logsumexp_grad[row];
    const T logsumexp = grads.logsumexp[row];
    for (std::int64_t k = group.rank(); k < a.keys; k += group.size()) {
      T& score = scores[at.first + k];
      T& to = grad[at.first + k];
      const T weight =
          k < at.seen ? math::exp(attention_score(a, at, k, mask, score) - logsumexp) : T(0);
      score = weight;
      to = static_cast<T>(a.scale) * (k < at.seen ? weight * (to - mean) : T(0));
    }
  }
};

}  // namespace fluidcore::cuda
