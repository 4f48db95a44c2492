#include "fluidcore/kernels/cpu/matmul.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/gemm.h"

namespace fluidcore::cpu {

namespace {

// Products with fewer operations are spread over threads whole; larger ones are cut.
constexpr double kLargeProduct = 2e6;

// Where the matrices of one product start.
struct Offsets {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
};

// All offsets of the batch dimensions that C does (or does not) step through.
std::vector<Offsets> offsets(const MatmulProblem& problem, bool stepping) {
  std::vector<Offsets> all{Offsets{}};
  for (std::size_t dim = 0; dim < problem.batch.size(); ++dim) {
    if ((problem.c.batch[dim] != 0) != stepping) continue;
    std::vector<Offsets> longer;
    longer.reserve(all.size() * static_cast<std::size_t>(problem.batch[dim]));
    for (const Offsets& from : all) {
      for (std::int64_t i = 0; i < problem.batch[dim]; ++i) {
        longer.push_back({from.a + i * problem.a.batch[dim], from.b + i * problem.b.batch[dim],
                          from.c + i * problem.c.batch[dim]});
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

template <class T>
Prepared2<T> prepare_matmul(const MatmulProblem& original, const ScratchPtr& scratch) {
  const MatmulProblem problem = simplified(original);
  std::vector<Offsets> outputs = offsets(problem, true);
  std::vector<Offsets> terms = offsets(problem, false);
  // A sum of no products is zero, as is a product without an inner dimension.
  const std::int64_t k = terms.empty() ? 0 : problem.k;
  if (terms.empty()) terms.push_back({});

  const Gemm<T> gemm(problem.m, problem.n, k, {problem.a.row, problem.a.col},
                     {problem.b.row, problem.b.col}, {problem.c.row, problem.c.col});
  const double flops = problem.flops();
  const bool whole =
      flops / static_cast<double>(std::max<std::size_t>(outputs.size(), 1)) < kLargeProduct;
  const std::int64_t parts =
      whole ? std::clamp<std::int64_t>(
                  std::min<std::int64_t>(static_cast<std::int64_t>(outputs.size()),
                                         static_cast<std::int64_t>(flops / kOperationsOfThread)),
                  1, num_threads())
            : 1;
  const std::size_t stride = (gemm.scratch_bytes() + 63) / 64 * 64;
  scratch->reserve(stride * static_cast<std::size_t>(parts));

  return [=, outputs = std::move(outputs), terms = std::move(terms)](const T* a, const T* b, T* c) {
    const auto count = static_cast<std::int64_t>(outputs.size());
    std::byte* const all_memory = scratch->data();
    parallel_for(parts, 1, [&](std::int64_t first_part, std::int64_t last_part) {
      for (std::int64_t part = first_part; part < last_part; ++part) {
        auto* memory = reinterpret_cast<T*>(all_memory + stride * static_cast<std::size_t>(part));
        for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
          const Offsets& out = outputs[static_cast<std::size_t>(i)];
          bool accumulate = false;
          for (const Offsets& term : terms) {
            gemm(a + out.a + term.a, b + out.b + term.b, c + out.c, accumulate, memory);
            accumulate = true;
          }
        }
      }
    });
  };
}

template Prepared2<float> prepare_matmul<float>(const MatmulProblem& problem, const ScratchPtr&);
template Prepared2<double> prepare_matmul<double>(const MatmulProblem& problem, const ScratchPtr&);

}  // namespace fluidcore::cpu
