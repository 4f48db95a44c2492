#include "fluidcore/gradcheck/difference/rule.h"

#include "fluidcore/gradcheck/function/rounding.h"

namespace fluidcore::gradcheck {

LadderRule rule_of(DType dtype) {
  LadderRule rule;
  rule.unit = unit_roundoff(dtype);
  rule.tiny = smallest_subnormal(dtype);
  rule.absorbs = dtype != DType::kFloat64;
  switch (dtype) {
    case DType::kFloat64:
      rule.target = 1e-10;
      rule.resolution = 1e-5;
      break;
    case DType::kFloat32:
      rule.first = 2;
      rule.enough = 6;
      rule.most = 12;
      rule.resolution = 2e-3;
      break;
    default:
      rule.first = -1;
      rule.enough = 7;
      rule.most = 11;
      rule.resolution = dtype == DType::kFloat16 ? 0.1 : 0.3;
  }
  return rule;
}

}  // namespace fluidcore::gradcheck
