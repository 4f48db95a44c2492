#pragma once

#include <cstdint>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

// The gradient of ⟨v, f⟩ by all inputs of a Function f, as code of one dtype calculates it. One
// thread uses a Gradient at a time.
class Gradient : public Interruptible {
 public:
  // The point x: tensors of the dtype, not to be changed.
  virtual const std::vector<Tensor>& inputs() const = 0;

  // Whether f is one number, and v is 1: nobody may ask for another one.
  virtual bool has_fixed_cotangent() const { return false; }

  // The gradients at x for the cotangents v, a floating tensor of as many elements for each input;
  // valid until the next call. x and v have the specs of the inputs and outputs of f. Throws what
  // the code throws.
  virtual const std::vector<Tensor>& at(const std::vector<Tensor>& x,
                                        const std::vector<Tensor>& v) = 0;
};

// A cotangent as tensors like the outputs of f, which runs once, in the dtype of its inputs. Throws
// what ends that run.
std::vector<Tensor> like_outputs(Function& f, const std::vector<double>& cotangent);

// gradient.at(x, v); nullptr where the code throws, as at an edge of its domain. Throws
// Unrecoverable when an Interruption has ended it.
const std::vector<Tensor>* gradients_at(Gradient& gradient,
                                        const std::vector<Tensor>& x,
                                        const std::vector<Tensor>& v);

// Gradient code under test, the kernel, beside the same in a wider dtype, the formula.
struct GradientPair {
  Gradient& kernel;
  Gradient& formula;                            // at the same values
  Function& f;                                  // in that dtype, at the same values
  std::vector<std::vector<Tensor>> cotangents;  // each a list of outputs, of the kernel's dtype
  std::uint64_t seed = 0;

  DType dtype() const { return kernel.inputs().at(0).dtype(); }

  // The gradients at x for the cotangents v, both of the kernel's dtype. Throws what the two throw;
  // Unrecoverable when an Interruption has ended them.
  struct Both {
    const std::vector<Tensor>& kernel;
    const std::vector<Tensor>& formula;
  };
  Both at(const std::vector<Tensor>& x, const std::vector<Tensor>& v) const;
};

}  // namespace fluidcore::gradcheck
