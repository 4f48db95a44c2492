#include <utility>

#include "fluidcore/base/float16.h"
#include "fluidcore/kernels/cuda/matmul.h"

// The products of the emulated device.

namespace fluidcore::cuda {

namespace {

// Where a matrix begins; the last of the batch dimensions runs fastest.
std::int64_t begin_of(const MatmulProblem& problem, const MatmulOperand& operand, std::int64_t i) {
  std::int64_t offset = 0;
  for (std::size_t d = problem.batch.size(); d-- > 0;) {
    offset += i % problem.batch[d] * operand.batch[d];
    i /= problem.batch[d];
  }
  return offset;
}

template <class T>
void multiply(const MatmulProblem& p, const T* a, const T* b, T* c) {
  for (const bool adds : {false, true}) {
    for (std::int64_t i = 0; i < p.batches(); ++i) {
      const T* const x = a + begin_of(p, p.a, i);
      const T* const y = b + begin_of(p, p.b, i);
      T* const z = c + begin_of(p, p.c, i);
      for (std::int64_t row = 0; row < p.m; ++row) {
        for (std::int64_t col = 0; col < p.n; ++col) {
          T& out = z[row * p.c.row + col * p.c.col];
          if (!adds) {
            out = T(0.0F);
            continue;
          }
          double sum = static_cast<double>(out);
          for (std::int64_t k = 0; k < p.k; ++k) {
            sum += static_cast<double>(x[row * p.a.row + k * p.a.col]) *
                   static_cast<double>(y[k * p.b.row + col * p.b.col]);
          }
          out = static_cast<T>(sum);
        }
      }
    }
  }
}

}  // namespace

template <class T>
Prepared2<T> prepare_matmul(DeviceContext& device,
                            const MatmulProblem& problem,
                            const ScratchPtr& /*scratch*/) {
  return [&device, problem](const T* a, const T* b, T* c) {
    device.enqueue([=] { multiply(problem, a, b, c); });
  };
}

template Prepared2<float> prepare_matmul(DeviceContext&, const MatmulProblem&, const ScratchPtr&);
template Prepared2<double> prepare_matmul(DeviceContext&, const MatmulProblem&, const ScratchPtr&);
template Prepared2<Float16> prepare_matmul(DeviceContext&, const MatmulProblem&, const ScratchPtr&);
template Prepared2<BFloat16> prepare_matmul(DeviceContext&,
                                            const MatmulProblem&,
                                            const ScratchPtr&);

}  // namespace fluidcore::cuda
