#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "fluidcore/tensor/scratch.h"

namespace fluidcore::cpu {

// Attention of `queries` to `keys`, for every head of every example: Q [batch, heads, queries,
// depth], K [batch, heads, keys, depth], V [batch, heads, keys, value_depth].
struct Attention {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t depth = 0;
  std::int64_t value_depth = 0;
  double scale = 1;
  bool causal = false;                    // query i sees the keys 0 .. i
  std::array<std::int64_t, 4> mask = {};  // its strides; 0 where it is broadcast
};

// How far apart examples, heads and rows of an operand are, in elements. The elements of a row
// follow each other.
struct AttentionStrides {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;

  std::int64_t offset(std::int64_t head_of_all, std::int64_t heads) const {
    return head_of_all / heads * batch + head_of_all % heads * head;
  }
};
struct AttentionLayout {
  AttentionStrides q;
  AttentionStrides k;
  AttentionStrides v;
  AttentionStrides out;
};

template <class T>
struct AttentionValues {
  const T* q;
  const T* k;
  const T* v;
  const T* mask;  // null: none
};

// Out and the logarithm of the sum of exp(score), infinity for a query that sees nothing.
template <class T>
using PreparedAttention = std::function<void(const AttentionValues<T>&, T* out, T* logsumexp)>;

// Blockwise, with a maximum that is corrected from block to block, so that no more than a tile of
// the scores is in memory for each thread (Milakov, Gimelshein 2018; Dao et al. 2022). For T float
// or double; the result does not depend on the number of threads.
template <class T>
PreparedAttention<T> prepare_attention(const Attention& problem,
                                       const AttentionLayout& layout,
                                       const ScratchPtr& scratch);

template <class T>
struct AttentionGrads {
  const T* out;
  const T* logsumexp;
  const T* out_grad;
  const T* logsumexp_grad;
  T* q_grad;  // this and the following may be null
  T* k_grad;
  T* v_grad;
  T* mask_grad;  // of as many elements as `mask_size`
  std::int64_t mask_size;
};

template <class T>
using PreparedAttentionGrad =
    std::function<void(const AttentionValues<T>&, const AttentionGrads<T>&)>;

// The scores are calculated again, tile by tile. All operands are dense.
template <class T>
PreparedAttentionGrad<T> prepare_attention_grad(const Attention& problem,
                                                const ScratchPtr& scratch);

}  // namespace fluidcore::cpu
