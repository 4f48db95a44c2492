#include "fluidcore/kernels/cpu/attention.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/base/division.h"
#include "fluidcore/kernels/cuda/attention.h"
#include "fluidcore/kernels/cuda/matmul.h"
#include "fluidcore/kernels/cuda/reduce.h"
#include "fluidcore/op/decomposition.h"
#include "fluidcore/ops/elementwise.h"
#include "fluidcore/ops/infer_checks.h"
#include "fluidcore/ops/optional_output.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/ops/softmax.h"

namespace fluidcore {

namespace {

using Ints = std::vector<std::int64_t>;

// Position d of a mask that is aligned with the last dimensions of the scores; 1 before its first.
std::int64_t mask_extent(const Shape& mask, std::size_t d) {
  const std::size_t missing = 4 - mask.rank();
  return d < missing ? 1 : mask[d - missing];
}

Shape checked_scores(const InferContext& context) {
  const Shape& q = context.input("Q").shape;
  const Shape& k = context.input("K").shape;
  const Shape& v = context.input("V").shape;
  for (const char* slot : {"Q", "K", "V"}) {
    require_rank(context, slot, 4, "[batch, heads, length, depth]");
    require_dtype(context, slot, context.input("Q").dtype);
  }
  require(compatible(q[0], k[0]) && compatible(q[1], k[1]) && compatible(q[3], k[3]),
          context.type(), ": Q and K must be alike in batch, heads and depth, got Q ", q, ", K ",
          k);
  require(compatible(k[0], v[0]) && compatible(k[1], v[1]) && compatible(k[2], v[2]),
          context.type(), ": K and V must be alike in batch, heads and length, got K ", k, ", V ",
          v);
  require(q[3] != 0, context.type(), ": Q must have a depth of at least 1, got ", q);
  const double scale = context.attr<double>("scale");
  require(std::isfinite(scale), context.type(), ": scale must be finite, got ", scale);
  const Shape scores{q[0], q[1], q[2], k[2]};
  if (!context.has_input("Mask")) return scores;
  require_dtype(context, "Mask", context.input("Q").dtype);
  const Shape& mask = context.input("Mask").shape;
  bool fits = mask.rank() <= 4;
  for (std::size_t d = 0; fits && d < 4; ++d) {
    const std::int64_t extent = mask_extent(mask, d);
    fits = extent == 1 || compatible(extent, scores[d]);
  }
  require(fits, context.type(), ": Mask must broadcast to [batch, heads, queries, keys], which is ",
          scores, ", got ", mask);
  return scores;
}

cpu::Attention attention_of(const KernelContext& context) {
  const Shape& q = context.raw_input("Q").shape();
  const Shape& v = context.raw_input("V").shape();
  const double scale = context.attr<double>("scale");
  cpu::Attention a{.batch = q[0],
                   .heads = q[1],
                   .queries = q[2],
                   .keys = v[2],
                   .depth = q[3],
                   .value_depth = v[3],
                   .scale = scale == 0 ? 1.0 / std::sqrt(static_cast<double>(q[3])) : scale,
                   .causal = context.attr<bool>("causal")};
  if (!context.has_input("Mask")) return a;
  const Shape& mask = context.raw_input("Mask").shape();
  std::int64_t stride = 1;
  for (std::size_t d = 4; d-- > 0;) {
    const std::int64_t extent = mask_extent(mask, d);
    a.mask[d] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  return a;
}

template <class T>
Arg<const T> mask_input(const KernelContext& context) {
  return context.has_input("Mask") ? context.input<T>("Mask") : Arg<const T>();
}

// [batch * heads] products of matrices that lie one after the other: X Y, or with one of them
// transposed.
[[maybe_unused]] MatmulProblem products(const cpu::Attention& a,
                                        std::int64_t m,
                                        std::int64_t n,
                                        std::int64_t k,
                                        bool transpose_x,
                                        bool transpose_y) {
  return {.batch = {a.batch * a.heads},
          .m = m,
          .n = n,
          .k = k,
          .a = {transpose_x ? 1 : k, transpose_x ? m : 1, {m * k}},
          .b = {transpose_y ? 1 : n, transpose_y ? k : 1, {k * n}},
          .c = {n, 1, {m * n}}};
}

// Memory for matrices of scores, before what products need.
template <class T>
struct Scores {
  Scores(const KernelContext& context, const cpu::Attention& a, std::int64_t matrices)
      : whole(context.scratch()), size(a.batch * a.heads * a.queries * a.keys) {
    constexpr std::size_t kAlignment = 256;
    const std::size_t bytes = static_cast<std::size_t>(matrices * size) * sizeof(T);
    whole->reserve(bytes);
    rest = std::make_shared<Scratch>(whole, round_up(bytes, kAlignment));
  }
  T* matrix(std::int64_t i) const { return reinterpret_cast<T*>(whole->data()) + i * size; }

  ScratchPtr whole;
  ScratchPtr rest;
  std::int64_t size;  // of one, in elements
};

template <class T>
Kernel attention_on_cuda(const KernelContext& context) {
  const cpu::Attention a = attention_of(context);
  DeviceContext& device = context.device();
  const Scores<T> scores(context, a, 1);
  const auto product = [&](auto... shape) {
    return cuda::prepare_matmul<T>(device, products(a, shape...), scores.rest);
  };
  return Kernel::enqueued(
      [=, &device, to_scores = product(a.queries, a.keys, a.depth, false, true),
       to_out = product(a.queries, a.value_depth, a.keys, false, false), q = context.input<T>("Q"),
       k = context.input<T>("K"), v = context.input<T>("V"), mask = mask_input<T>(context),
       out = context.output<T>("Out"), logsumexp = context.optional_output<T>("LogSumExp")] {
        T* const weights = scores.matrix(0);
        to_scores(q.data(), k.data(), weights);
        cuda::for_each_group(device, a.batch * a.heads * a.queries, a.keys,
                             cuda::AttentionWeights<T>{a}, data_or_null(mask), weights,
                             data_or_null(logsumexp));
        to_out(weights, v.data(), out.data());
      });
}

template <class T>
Kernel attention_grad_on_cuda(const KernelContext& context) {
  const cpu::Attention a = attention_of(context);
  DeviceContext& device = context.device();
  const Scores<T> scores(context, a, 2);
  const auto product = [&](auto... shape) {
    return cuda::prepare_matmul<T>(device, products(a, shape...), scores.rest);
  };
  const auto dmask = context.optional_output<T>("Mask@GRAD");
  std::vector<bool> repeated(4);
  for (std::size_t d = 0; dmask && d < 4; ++d) repeated[d] = mask_extent(dmask.shape(), d) == 1;
  const Shape shape{a.batch, a.heads, a.queries, a.keys};
  const cuda::Reduction<SumOf, T> sum(device, scores.rest, shape, repeated);
  return Kernel::enqueued(
      [=, &device, to_scores = product(a.queries, a.keys, a.depth, false, true),
       to_weight_grad = product(a.queries, a.keys, a.value_depth, false, true),
       to_v = product(a.keys, a.value_depth, a.queries, true, false),
       to_q = product(a.queries, a.depth, a.keys, false, false),
       to_k = product(a.keys, a.depth, a.queries, true, false), q = context.input<T>("Q"),
       k = context.input<T>("K"), v = context.input<T>("V"), mask = mask_input<T>(context),
       out = context.input<T>("Out"), logsumexp = context.input<T>("LogSumExp"),
       dout = context.input<T>("Out@GRAD"), dlogsumexp = context.input<T>("LogSumExp@GRAD"),
       dq = context.optional_output<T>("Q@GRAD"), dk = context.optional_output<T>("K@GRAD"),
       dv = context.optional_output<T>("V@GRAD")] {
        T* const weights = scores.matrix(0);
        T* const grad = scores.matrix(1);
        to_scores(q.data(), k.data(), weights);
        to_weight_grad(dout.data(), v.data(), grad);
        cpu::AttentionGrads<T> grads{};
        grads.out = out.data();
        grads.logsumexp = logsumexp.data();
        grads.out_grad = dout.data();
        grads.logsumexp_grad = dlogsumexp.data();
        cuda::for_each_group(device, a.batch * a.heads * a.queries, a.keys,
                             cuda::AttentionWeightsGrad<T>{a}, data_or_null(mask), grads, weights,
                             grad);
        if (dv) to_v(weights, dout.data(), dv.data());
        if (dq) to_q(grad, k.data(), dq.data());
        if (dk) to_k(grad, q.data(), dk.data());
        // The scores have the scale, which the mask does not pass through.
        if (dmask) sum.run(cuda::Elements<T>{grad}, dmask.data(), a.scale);
      });
}

// Attention on the CPU, whose operands may be strided: all but the elements of a row.
template <class T>
class StridedAttention {
 public:
  explicit StridedAttention(const KernelContext& context)
      : attention_(attention_of(context)),
        scratch_(context.scratch()),
        q_(context.input<T>("Q").cell()),
        k_(context.input<T>("K").cell()),
        v_(context.input<T>("V").cell()),
        mask_(mask_input<T>(context).cell()),
        out_(context.output<T>("Out").cell()),
        logsumexp_(context.optional_output<T>("LogSumExp")) {}

  Kernel kernel() const {
    std::vector<const Cell*> reads = {q_, k_, v_};
    if (mask_ != nullptr) reads.push_back(mask_);
    const auto with = [*this](const std::vector<Permutation>& permutations) {
      const std::function<void()> run = through(permutations);
      return run ? Kernel(run) : Kernel();
    };
    return {through({}), Kernel::Strided{std::move(reads), out_, with}};
  }

 private:
  // Empty where elements of a row would not follow each other.
  std::function<void()> through(const std::vector<Permutation>& permutations) const {
    const auto q = source_of(q_, permutations);
    const auto k = source_of(k_, permutations);
    const auto v = source_of(v_, permutations);
    const auto out = target_of(out_, permutations);
    if (!q || !k || !v || !out) return nullptr;
    for (const StridedCell* operand : {&*q, &*k, &*v, &*out}) {
      if (operand->strides[3] > 1) return nullptr;
    }
    const std::optional<StridedCell> mask =
        mask_ == nullptr ? StridedCell() : source_of(mask_, permutations);
    if (!mask) return nullptr;
    cpu::Attention attention = attention_;
    const std::size_t missing = 4 - mask->strides.size();
    for (std::size_t d = missing; d < 4; ++d) {
      if (attention.mask[d] != 0) attention.mask[d] = mask->strides[d - missing];
    }
    const auto strides = [](const StridedCell& cell) -> cpu::AttentionStrides {
      return {cell.strides[0], cell.strides[1], cell.strides[2]};
    };
    return [run = cpu::prepare_attention<T>(
                attention, {strides(*q), strides(*k), strides(*v), strides(*out)}, scratch_),
            q = *q, k = *k, v = *v, mask = *mask, out = *out, logsumexp = logsumexp_] {
      const T* const terms = mask.cell == nullptr ? nullptr : mask.data<T>();
      run({q.data<T>(), k.data<T>(), v.data<T>(), terms}, out.data<T>(), data_or_null(logsumexp));
    };
  }

  cpu::Attention attention_;
  ScratchPtr scratch_;
  const Cell* q_;
  const Cell* k_;
  const Cell* v_;
  const Cell* mask_;  // null: none
  const Cell* out_;
  Arg<T> logsumexp_;
};

template <class T>
Kernel attention(const KernelContext& context) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) return attention_on_cuda<T>(context);
  }
  return StridedAttention<T>(context).kernel();
}

template <class T>
Kernel attention_grad(const KernelContext& context) {
  if constexpr (kHasCuda) {
    if (context.is_on_cuda()) return attention_grad_on_cuda<T>(context);
  }
  return
      [run = cpu::prepare_attention_grad<T>(attention_of(context), context.scratch()),
       q = context.input<T>("Q"), k = context.input<T>("K"), v = context.input<T>("V"),
       mask = mask_input<T>(context), out = context.input<T>("Out"),
       logsumexp = context.input<T>("LogSumExp"), dout = context.input<T>("Out@GRAD"),
       dlogsumexp = context.input<T>("LogSumExp@GRAD"), dq = context.optional_output<T>("Q@GRAD"),
       dk = context.optional_output<T>("K@GRAD"), dv = context.optional_output<T>("V@GRAD"),
       dmask = context.optional_output<T>("Mask@GRAD")] {
        run({q.data(), k.data(), v.data(), data_or_null(mask)},
            {out.data(), logsumexp.data(), dout.data(), dlogsumexp.data(), data_or_null(dq),
             data_or_null(dk), data_or_null(dv), data_or_null(dmask), dmask ? dmask.size() : 0});
      };
}

Expr matmul(const Expr& x, const Expr& y, const char* transposed = nullptr) {
  AttributeMap attrs;
  if (transposed != nullptr) attrs[transposed] = true;
  return x.owner().op("matmul", {{"X", x}, {"Y", y}}, std::move(attrs));
}

// With the whole matrices of scores.
void decompose_attention_grad(Decomposition& d) {
  const Expr q = d.input("Q");
  const Expr k = d.input("K");
  const Expr v = d.input("V");
  const Expr dout = d.input("Out@GRAD");
  const auto scaled = [&](const Expr& x) {
    const double scale = d.attr<double>("scale");
    if (scale != 0) return scale * x;
    return x / d.op("sqrt", {{"X", sum_of_row(d.filled_like(q, 1.0))}});
  };
  const auto seen = [&](const Expr& x) {
    return d.attr<bool>("causal") ? d.op("tril", {{"X", x}}) : x;
  };
  const Expr products = matmul(scaled(q), k, "transpose_Y");
  const Expr scores = d.has_input("Mask") ? products + d.input("Mask") : products;
  const auto column = [&](const char* slot) {
    return d.op("unsqueeze", {{"X", d.input(slot)}}, {{"axes", Ints{3}}});
  };
  const Expr weights = seen(d.op("exp", {{"X", seen(scores - column("LogSumExp"))}}));
  const Expr mean = sum_of_row(d.input("Out") * dout) - column("LogSumExp@GRAD");
  const Expr dscores = weights * (matmul(dout, v, "transpose_Y") - mean);
  d.set("V@GRAD", matmul(weights, dout, "transpose_X"));
  d.set("Q@GRAD", scaled(matmul(dscores, k)));
  d.set("K@GRAD", matmul(dscores, scaled(q), "transpose_X"));
  if (!d.wants("Mask@GRAD")) return;
  d.set("Mask@GRAD",
        d.op("elementwise_add_grad",
             {{"X", products}, {"Y", d.input("Mask")}, {"Out@GRAD", dscores}}, {}, "Y@GRAD"));
}

// The pairs of Q and K times the depths of so many products of each; the tiles that no query sees
// are counted, too.
CountFlops attention_flops(std::int64_t of_depth, std::int64_t of_value_depth) {
  return [=](const InferContext& context) {
    const Shape scores = checked_scores(context);
    return 2 * scores.num_elements() *
           (of_depth * context.input("Q").shape[3] + of_value_depth * context.input("V").shape[3]);
  };
}

OpDef with_attention_attrs(OpDef def) {
  return std::move(def)
      .attr("causal", false, "whether query i sees the keys 0 to i alone")
      .attr("scale", 0.0, "the factor of Q K^T; 0: 1 / sqrt(depth)");
}

}  // namespace

void register_attention_ops(OpRegistry& registry) {
  registry.add(
      with_attention_attrs(OpDef("scaled_dot_product_attention"))
          .doc("Out = softmax(scale Q K^T + Mask) V, for every head of every example (Vaswani et "
               "al. 2017). Calculated tile by tile: the matrix of scores is never in memory (Dao "
               "et al. 2022). 0 for a query that sees no key.")
          .input("Q", "[batch, heads, queries, depth], floating")
          .input("K", "[batch, heads, keys, depth], dtype of Q")
          .input("V", "[batch, heads, keys, value depth], dtype of Q")
          .input("Mask",
                 "is added to the scores; broadcasts to [batch, heads, queries, keys], dtype of Q; "
                 "-infinity where a query does not see a key",
                 {.optional = true})
          .output("Out", "[batch, heads, queries, value depth], dtype of Q")
          .output("LogSumExp",
                  "[batch, heads, queries], dtype of Q: the logarithm of the sum of exp(score); "
                  "infinity for a query that sees no key",
                  {.intermediate = true})
          .row_dims([](const InferContext& /*context*/, std::string_view slot) {
            return slot == "Q" ? std::size_t{3} : slot == "Mask" ? std::size_t{0} : std::size_t{2};
          })
          .infer([](InferContext& context) {
            const Shape scores = checked_scores(context);
            const TensorSpec& q = context.input("Q");
            const Shape& v = context.input("V").shape;
            context.set_output("Out", {{scores[0], scores[1], scores[2], v[3]}, q.dtype});
            context.set_output("LogSumExp", {{scores[0], scores[1], scores[2]}, q.dtype});
          })
          .flops(attention_flops(1, 1))
          .kernels(kernels_everywhere<float, double>(
              [](auto tag) -> KernelFactory { return attention<typename decltype(tag)::type>; }))
          .grad(standard_grad({.inputs = {"Q", "K", "V", "Mask"},
                               .outputs = {"Out", "LogSumExp"},
                               .differentiable = {"Q", "K", "V", "Mask"},
                               .cotangents = {"Out", "LogSumExp"}})));
  registry.add(
      with_attention_attrs(OpDef("scaled_dot_product_attention_grad"))
          .doc("With P = exp(scale Q K^T + Mask - LogSumExp), calculated again tile by tile, and "
               "S = P (Out@GRAD V^T - the sum of Out Out@GRAD over the depth + LogSumExp@GRAD): "
               "Q@GRAD = scale S K, K@GRAD = scale S^T Q, V@GRAD = P^T Out@GRAD, and Mask@GRAD = "
               "S, summed where Mask was "
               "broadcast. Its own gradient holds the whole matrices.")
          .input("Q", "input of the forward operator")
          .input("K", "input of the forward operator")
          .input("V", "input of the forward operator")
          .input("Mask", "input of the forward operator", {.optional = true})
          .input("Out", "output of the forward operator")
          .input("LogSumExp", "output of the forward operator")
          .input("Out@GRAD", "gradient of Out, shape of Out")
          .input("LogSumExp@GRAD", "gradient of LogSumExp, shape of LogSumExp")
          .output("Q@GRAD", "gradient of Q, shape of Q")
          .output("K@GRAD", "gradient of K, shape of K")
          .output("V@GRAD", "gradient of V, shape of V")
          .output("Mask@GRAD", "gradient of Mask, shape of Mask", {.optional = true})
          .infer([](InferContext& context) {
            const Shape scores = checked_scores(context);
            const TensorSpec& q = context.input("Q");
            const TensorSpec out{{scores[0], scores[1], scores[2], context.input("V").shape[3]},
                                 q.dtype};
            require_spec(context, "Out", out);
            require_spec(context, "Out@GRAD", out);
            const TensorSpec sums{{scores[0], scores[1], scores[2]}, q.dtype};
            require_spec(context, "LogSumExp", sums);
            require_spec(context, "LogSumExp@GRAD", sums);
            infer_grads_like_inputs(context);
          })
          .flops(attention_flops(3, 2))
          .kernels(kernels_everywhere<float, double>([](auto tag) -> KernelFactory {
            return attention_grad<typename decltype(tag)::type>;
          }))
          .decompose(decompose_attention_grad));
}

}  // namespace fluidcore
