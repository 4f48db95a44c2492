#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "fluidcore/base/dtype.h"
#include "fluidcore/base/shape.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/reduce_operations.h"

namespace fluidcore::cpu {

// A dimension of the input of a reduction: its extent and how far apart its elements are.
struct ReduceDim {
  std::int64_t extent;
  std::int64_t stride;
};

// The dimensions of a reduction, adjacent ones of the same kind merged.
struct ReduceNest {
  // `reduced` says for each axis whether it is reduced.
  ReduceNest(const Shape& in, const std::vector<bool>& reduced);

  std::vector<ReduceDim> kept;     // without the innermost dimension
  std::vector<ReduceDim> reduced;  // likewise
  std::int64_t row = 1;            // the innermost extent
  bool row_is_reduced = true;
  std::int64_t kept_count = 1;     // the product of the extents of `kept`
  std::int64_t reduced_count = 1;  // of `reduced`
};

// The sum, maximum, minimum or product of a T tensor over some dimensions, or whether any or all of
// its elements are true, as an Out tensor. Floating numbers are added in blocks of fixed sizes, and
// the blocks in float64: the result does not depend on the number of threads. Products of integers
// wrap around. A maximum and a minimum are NaN if one of their elements is; what there is of no
// elements is that which changes nothing: 0, 1, false, true.
//
// Made once for a shape; run() allocates nothing. One thread at a time may run one object.
// Instantiated for Out = T, and for sums of T = float with the 16-bit floats.
template <class Operation, class T, class Out = T>
class Reduction {
 public:
  Reduction(const Shape& in, const std::vector<bool>& reduced, Isa isa = cpu_isa());

  // out = result / divisor; integers are divided toward zero.
  void run(const T* in, Out* out, double divisor = 1.0);

  // Whether each result is made of adjacent elements, which are calculated by themselves. Then
  // `in` and `out` may be `count` results from any one on; several threads may run this.
  bool is_by_rows() const {
    return nest_.row_is_reduced && nest_.reduced.empty() && nest_.kept.size() <= 1 && blocks_ == 1;
  }
  void run_part(std::int64_t count, const T* in, Out* out, double divisor) const;

 private:
  using Total = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

  // Parts [first, last) of the results, into `out` where each is one part, else into `partial`.
  void reduce_rows(std::int64_t first,
                   std::int64_t last,
                   const T* in,
                   Total* partial,
                   Out* out,
                   double divisor) const;
  void run_rows(const T* in, Out* out, double divisor);     // the innermost dimension is reduced
  void run_columns(const T* in, Out* out, double divisor);  // or kept

  ReduceNest nest_;
  Isa isa_;
  std::int64_t blocks_ = 1;  // parts that the elements of one result are divided into
  std::vector<Total> partial_;
};

}  // namespace fluidcore::cpu
