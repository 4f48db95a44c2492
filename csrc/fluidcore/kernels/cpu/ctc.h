#pragma once

#include <cstdint>

#include "fluidcore/kernels/cpu/gather.h"

namespace fluidcore::cpu {

// Connectionist temporal classification: minus the logarithm of the probability that symbols drawn
// at each step, from the softmax of the logits [steps, batch, classes], read as the labels when
// repetitions are merged and blanks left out then. In float64, forward and backward in the
// logarithms of probabilities.
struct CtcShape {
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t classes;
  std::int64_t labels;  // of the longest sample
  std::int64_t blank;   // number of a class
};

// Checked: lengths are within the shape, labels are classes and not blank.
struct CtcTargets {
  RowIndex labels;         // [batch, labels]
  RowIndex steps_of;       // [batch]; data null: all steps
  RowIndex num_labels_of;  // [batch]; data null: all labels
};

// Bytes of memory that ctc_loss(), ctc_grad() and ctc_curvature() need.
std::int64_t ctc_loss_bytes(const CtcShape& shape);
std::int64_t ctc_grad_bytes(const CtcShape& shape);
std::int64_t ctc_curvature_bytes(const CtcShape& shape);

// loss [batch]; infinity where the steps do not suffice for the labels. T is float or double.
template <class T>
void ctc_loss(
    const CtcShape& shape, const CtcTargets& targets, const T* logits, void* memory, T* loss);

// The gradient of the logits from that of the loss; 0 after the steps of a sample, and where its
// loss is infinite.
template <class T>
void ctc_grad(const CtcShape& shape,
              const CtcTargets& targets,
              const T* logits,
              const T* dloss,
              void* memory,
              T* dlogits);

// The derivatives of loss and gradient in a direction [steps, batch, classes] of the logits; either
// may be null.
template <class T>
void ctc_curvature(const CtcShape& shape,
                   const CtcTargets& targets,
                   const T* logits,
                   const T* direction,
                   const T* dloss,
                   void* memory,
                   T* slope,
                   T* curvature);

}  // namespace fluidcore::cpu
