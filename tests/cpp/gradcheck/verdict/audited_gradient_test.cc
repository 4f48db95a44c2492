#include "fluidcore/gradcheck/verdict/audited_gradient.h"

#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fluidcore/gradcheck/function/rounding.h"
#include "gradcheck/toy_gradient.h"

namespace fluidcore::gradcheck {
namespace {

using Numbers = std::vector<double>;

const Numbers kPoint = {0.5, -1.5, 2};

// What is seen of the gradient of x², calculated as v, x -> a.
AuditedGradient audit_of(const std::function<Numbers(const Numbers&, const Numbers&)>& body,
                         DType dtype = DType::kFloat64) {
  ToyGradient gradient(
      {tensor_of(kPoint, dtype)}, [&](const std::vector<Tensor>& x, const std::vector<Tensor>& v) {
        return std::vector<Tensor>{tensor_of(body(values_of(v[0]), values_of(x[0])), x[0].dtype())};
      });
  Numbers outputs = kPoint;
  for (double& y : outputs) y *= y;
  return audited(gradient, {{tensor_of({1.25, -0.75, 0.3})}}, {tensor_of(outputs)}, {});
}

Numbers right(const Numbers& v, const Numbers& x) {
  Numbers a(v.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 2 * x[i] * v[i];
  return a;
}

TEST(AuditedGradient, ARightOneHasNoFault) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16}) {
    const AuditedGradient found = audit_of(right, dtype);
    EXPECT_EQ(found.faults[0], "");
    EXPECT_EQ(found.linear[0], Linear::kYes);
    EXPECT_EQ(found.values[0].size(), 3);
  }
}

TEST(AuditedGradient, WithoutACotangentThereIsNone) {
  const AuditedGradient found = audit_of([](const Numbers& v, const Numbers& x) {
    Numbers a = right(v, x);
    if (v == Numbers{0, 0, 0}) a[1] = 1e-12;
    return a;
  });
  EXPECT_EQ(found.linear[0], Linear::kNo);
}

TEST(AuditedGradient, WhatIsThereBesideThePointAloneIsNoFault) {
  const AuditedGradient found = audit_of([](const Numbers& v, const Numbers& x) {
    Numbers a = right(v, x);
    if (x != kPoint) a[1] = std::nan("");
    return a;
  });
  EXPECT_EQ(found.linear[0], Linear::kYes);
}

TEST(AuditedGradient, ZeroTimesInfinityIsNoFault) {
  const AuditedGradient found = audit_of([](const Numbers& v, const Numbers& x) {
    Numbers a = right(v, x);
    a[1] = v[1] * std::numeric_limits<double>::infinity();
    return a;
  });
  EXPECT_EQ(found.linear[0], Linear::kYes);
}

TEST(AuditedGradient, ACotangentThatIsTakenAbsolutelyIsFound) {
  const AuditedGradient found = audit_of([](const Numbers& v, const Numbers& x) {
    Numbers a = right(v, x);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 2 * x[i] * std::abs(v[i]);
    return a;
  });
  EXPECT_EQ(found.linear[0], Linear::kNo);
}

TEST(AuditedGradient, AGradientThatScalesButDoesNotAddUpIsFound) {
  const AuditedGradient found = audit_of([](const Numbers& v, const Numbers& x) {
    Numbers a = right(v, x);
    double largest = 0;  // odd, and of the degree 1
    for (const double part : v) largest = std::abs(part) > std::abs(largest) ? part : largest;
    a[0] += 0.01 * largest;
    return a;
  });
  EXPECT_EQ(found.linear[0], Linear::kNo);
}

// 1e10 (x0 + x1 + x2), three times, behind a softmax: nothing but rounding is left of the gradient.
TEST(AuditedGradient, WhatOnlyRoundingMakesIsOpen) {
  const AuditedGradient found = audit_of([](const Numbers& v, const Numbers& x) {
    const double mean = (v[0] + v[1] + v[2]) / 3;
    double sum = 0;
    for (const double part : v) sum += (part - mean) / 3;
    return Numbers(x.size(), 1e10 * sum);
  });
  EXPECT_EQ(found.linear[0], Linear::kOpen);
}

TEST(AuditedGradient, AFaultBesideRoundingIsFound) {
  const AuditedGradient found = audit_of([](const Numbers& v, const Numbers& x) {
    Numbers a = right(v, x);
    a[0] += 1e-3 * std::abs(v[0]) + 1e10 * ((v[1] + 3) - 3 - v[1]);
    return a;
  });
  EXPECT_EQ(found.linear[0], Linear::kNo);
}

TEST(AuditedGradient, OneThatKeepsItsFirstResultIsSeen) {
  Numbers kept;
  const AuditedGradient found = audit_of([&](const Numbers& v, const Numbers& x) {
    if (kept.empty()) kept = right(v, x);
    return kept;
  });
  EXPECT_NE(found.values[0], right({1.25, -0.75, 0.3}, kPoint));
}

// x² with a last element that grows by a part of it in every run.
AuditedGradient audit_of_growing(double part) {
  int runs = 0;
  return audit_of([&runs, part](const Numbers& v, const Numbers& x) {
    Numbers a = right(v, x);
    a[2] *= 1 + part * ++runs;
    return a;
  });
}

TEST(AuditedGradient, RunsThatDifferByRoundingAreNoFault) {
  const AuditedGradient found = audit_of_growing(1e-12);
  EXPECT_EQ(found.faults[0], "");
  EXPECT_EQ(found.linear[0], Linear::kYes);
  ASSERT_EQ(found.deviations[0].size(), 3);
  EXPECT_EQ(found.deviations[0][0], 0);
  EXPECT_NEAR(found.deviations[0][2], 1.2 * std::sqrt(6.0) * 1e-12, 1e-15);  // of 1 to 8
}

TEST(AuditedGradient, RoundingToFewerDigitsIsOpen) {
  for (const DType narrow : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const AuditedGradient found = audit_of([narrow](const Numbers& v, const Numbers& x) {
      Numbers a = right(v, x);
      for (std::size_t i = 0; i < a.size(); ++i) a[i] += round_to(narrow, v[i]);
      return a;
    });
    EXPECT_EQ(found.linear[0], Linear::kOpen);
  }
}

TEST(AuditedGradient, AFaultIsOneWhateverTheCopies) {
  const auto bent = [](const Numbers& v, const Numbers& x) {
    Numbers a = right(v, x);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += 0.1 * std::abs(v[i]);
    return a;
  };
  EXPECT_EQ(audit_of(bent, DType::kFloat32).linear[0], Linear::kNo);
}

TEST(AuditedGradient, RunsThatDifferByMoreAreAFault) {
  EXPECT_EQ(audit_of_growing(1e-8).faults[0], "not-repeatable");
}

TEST(AuditedGradient, RunsThatAreTheSameDeviateByNothing) {
  EXPECT_TRUE(audit_of(right).deviations[0].empty());
}

TEST(AuditedGradient, OneOfAnotherShapeIsAFaultAndNotANumber) {
  ToyGradient gradient({tensor_of(kPoint)}, [](const auto& /*x*/, const auto& /*v*/) {
    return std::vector<Tensor>{tensor_of({1, 2})};
  });
  const AuditedGradient found = audited(gradient, {{tensor_of({1})}}, {tensor_of({1})}, {});
  EXPECT_EQ(found.faults[0], "wrong-shape");
  ASSERT_EQ(found.values[0].size(), 3);
  EXPECT_TRUE(std::isnan(found.values[0][1]));
}

}  // namespace
}  // namespace fluidcore::gradcheck
