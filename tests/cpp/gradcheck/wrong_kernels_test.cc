// Gradient kernels with mistakes of every kind, each of which must be found, in float32 and in
// float64.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/gradcheck_gtest.h"
#include "gradcheck/toy_operators.h"
#include "ops/op_runner.h"

namespace fluidcore::gradcheck {
namespace {

// A square matrix, so that a wrong axis is no wrong size.
GradCheck check(const OpRegistry& registry, DType dtype, std::uint64_t seed = 1) {
  return check_gradients(registry, "toy", {{"X", {random_tensor({4, 4}, dtype, seed)}}}, {},
                         {.seed = seed});
}

template <class Formula, class Grad>
void expect_found(const std::string& reason) {
  for (const DType dtype : kBoth) {
    const GradCheck found = check(toy_registry<Formula, Grad>(), dtype);
    EXPECT_EQ(found.verdict, Verdict::kFail) << found.message;
    EXPECT_EQ(found.inputs[0].reason, reason) << found.message;
  }
}

// dx = dout (3 x^2 + 1), but for what `change` does: dx[i] = change(right, i).
template <class Change>
struct Changed {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) {
    CubicGrad()(x, dout, dx, extents);
    for (std::int64_t i = 0; i < extents.size(); ++i) dx[i] = change(dx[i], i);
  }
  Change change = {};
};

struct Twice {
  template <class T>
  T operator()(T dx, std::int64_t /*i*/) const {
    return 2 * dx;
  }
};
struct Negative {
  template <class T>
  T operator()(T dx, std::int64_t /*i*/) const {
    return -dx;
  }
};
struct Zero {
  template <class T>
  T operator()(T /*dx*/, std::int64_t /*i*/) const {
    return 0;
  }
};
struct SlightlyLarge {
  template <class T>
  T operator()(T dx, std::int64_t /*i*/) const {
    return dx * T(1.00001);
  }
};
struct Shifted {
  template <class T>
  T operator()(T dx, std::int64_t /*i*/) const {
    return dx + T(0.0001);
  }
};
struct ZeroAtTheBorder {
  template <class T>
  T operator()(T dx, std::int64_t i) const {
    return i == 15 ? T(0) : dx;
  }
};
struct WrongTail {
  template <class T>
  T operator()(T dx, std::int64_t i) const {
    return i >= 12 ? dx * T(1.001) : dx;
  }
};
struct NotANumber {
  template <class T>
  T operator()(T dx, std::int64_t i) const {
    return i == 7 ? std::numeric_limits<T>::quiet_NaN() : dx;
  }
};
struct InfiniteElement {
  template <class T>
  T operator()(T dx, std::int64_t i) const {
    return i == 0 ? std::numeric_limits<T>::infinity() : dx;
  }
};
// Calculated in fewer digits than the dtype has.
struct Coarse {
  float operator()(float dx, std::int64_t /*i*/) const {
    return static_cast<float>(static_cast<Float16>(dx));
  }
  double operator()(double dx, std::int64_t /*i*/) const { return static_cast<float>(dx); }
};
// Every other time.
template <bool is_rounding>
struct AnotherEachTime {
  template <class T>
  T operator()(T dx, std::int64_t i) {
    runs += i == 0 ? 1 : 0;
    if (runs % 2 == 1 || i != 3) return dx;
    return is_rounding ? std::nextafter(dx, T(100)) : T(1.01) * dx;
  }
  int runs = 0;
};

TEST(WrongKernelsTest, AFactorIsFound) {
  expect_found<Cubic, Changed<Twice>>("grad-mismatch");
}

TEST(WrongKernelsTest, ASignIsFound) {
  expect_found<Cubic, Changed<Negative>>("grad-mismatch");
}

TEST(WrongKernelsTest, NoGradientAtAllIsFound) {
  expect_found<Cubic, Changed<Zero>>("grad-mismatch");
}

TEST(WrongKernelsTest, ASmallFactorIsFound) {
  expect_found<Cubic, Changed<SlightlyLarge>>("grad-mismatch");
}

TEST(WrongKernelsTest, ASmallConstantIsFound) {
  expect_found<Cubic, Changed<Shifted>>("grad-mismatch");
}

TEST(WrongKernelsTest, OneElementAtTheBorderIsFound) {
  expect_found<Cubic, Changed<ZeroAtTheBorder>>("grad-mismatch");
  const GradCheck found = check(toy_registry<Cubic, Changed<ZeroAtTheBorder>>(), DType::kFloat64);
  EXPECT_EQ(found.inputs[0].num_wrong, 1);
  EXPECT_EQ(found.inputs[0].index, 15);
  EXPECT_THAT(found.message, ::testing::HasSubstr("worst at [3, 3]: gradient 0, numerical "));
}

TEST(WrongKernelsTest, TheTailOfALoopIsFound) {
  expect_found<Cubic, Changed<WrongTail>>("grad-mismatch");
}

TEST(WrongKernelsTest, NanAtOneElementIsFound) {
  expect_found<Cubic, Changed<NotANumber>>("non-finite");
  EXPECT_EQ(check(toy_registry<Cubic, Changed<NotANumber>>(), DType::kFloat32).inputs[0].index, 7);
}

TEST(WrongKernelsTest, InfinityAtOneElementIsFound) {
  expect_found<Cubic, Changed<InfiniteElement>>("non-finite");
}

TEST(WrongKernelsTest, WhatIsFiniteInFloat64ButNotInTheKernelIsFound) {
  const auto expect_non_finite = [](const OpRegistry& registry, std::int64_t index) {
    const GradCheck found = check(registry, DType::kFloat32);
    EXPECT_EQ(found.verdict, Verdict::kFail) << found.message;
    EXPECT_EQ(found.inputs[0].reason, "non-finite");
    EXPECT_EQ(found.inputs[0].num_wrong, 1);
    EXPECT_EQ(found.inputs[0].index, index);
  };
  expect_non_finite(toy_registry<Cubic, Changed<NotANumber>, CubicGrad>(), 7);
  expect_non_finite(toy_registry<Cubic, Changed<InfiniteElement>, CubicGrad>(), 0);
}

TEST(WrongKernelsTest, AlongDirectionsAnElementThatIsNotFiniteIsNamed) {
  const Tensor x = random_tensor({4, 4}, DType::kFloat32, 1);
  for (const OpRegistry& registry : {toy_registry<Cubic, Changed<NotANumber>, CubicGrad>(),
                                     toy_registry<Cubic, Changed<NotANumber>>()}) {
    const GradCheck found = check_gradients(registry, "toy", {{"X", {x}}}, {}, {.full = 1});
    EXPECT_EQ(found.verdict, Verdict::kFail);
    EXPECT_EQ(found.inputs[0].reason, "non-finite");
    EXPECT_EQ(found.inputs[0].directions, 0);
    EXPECT_THAT(found.message,
                ::testing::HasSubstr("1 of 16 elements wrong\n    worst at [1, 3]: gradient"));
  }
}

TEST(WrongKernelsTest, TooFewDigitsAreFound) {
  expect_found<Cubic, Changed<Coarse>>("narrowed");
  const OpRegistry right_in_double = toy_registry<Cubic, Changed<Coarse>, CubicGrad>();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const GradCheck kernel = check(right_in_double, DType::kFloat32, seed);
    EXPECT_EQ(kernel.verdict, Verdict::kFail) << kernel.message;
    EXPECT_EQ(kernel.inputs[0].narrowed_to, DType::kFloat16);
    EXPECT_THAT(kernel.message,
                ::testing::HasSubstr("FAIL (narrowed), every element is a number of float16, "
                                     "though the gradient is not"));
  }
}

TEST(WrongKernelsTest, AnotherResultInASecondRunIsFound) {
  expect_found<Cubic, Changed<AnotherEachTime<false>>>("not-repeatable");
}

TEST(WrongKernelsTest, RoundingInAnotherOrderIsNotWrong) {
  const GradCheck found =
      check(toy_registry<Cubic, Changed<AnotherEachTime<true>>>(), DType::kFloat64);
  EXPECT_EQ(found.verdict, Verdict::kPass) << found.message;
}

// Every other run is off by a part of it.
template <int parts>
struct Unsteady {
  template <class T>
  void operator()(const T* x, T* out, Extents extents) {
    Cubic()(x, out, extents);
    if (++runs % 2 == 0) out[0] += out[0] / T(parts);
  }
  int runs = 0;
};

TEST(WrongKernelsTest, OfARandomFunctionNothingIsKnown) {
  const GradCheck found = check(toy_registry<Unsteady<10>, CubicGrad>(), DType::kFloat64);
  EXPECT_EQ(found.verdict, Verdict::kInconclusive) << found.message;
  EXPECT_EQ(found.inputs[0].reason, "stochastic");
}

TEST(WrongKernelsTest, ErrorBarsAllowForAFunctionThatIsInexact) {
  const GradCheck found = check(toy_registry<Unsteady<1000000000>, CubicGrad>(), DType::kFloat64);
  EXPECT_EQ(found.verdict, Verdict::kPass) << found.message;
  const GradCheck wrong =
      check(toy_registry<Unsteady<1000000000>, Changed<Twice>>(), DType::kFloat64);
  EXPECT_EQ(wrong.verdict, Verdict::kFail) << wrong.message;
}

// Right for the cotangents that are not small.
struct Clamped {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      dx[i] = (std::abs(dout[i]) < T(1e-3) ? T(0) : dout[i]) * (3 * x[i] * x[i] + 1);
    }
  }
};

TEST(WrongKernelsTest, AGradientThatIsNotLinearInItsCotangentIsFound) {
  expect_found<Cubic, Clamped>("not-linear");
}

struct MissingTerm {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) dx[i] = dout[i] * (3 * x[i] * x[i]);
  }
};
struct OffByOne {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      const T near = x[(i + 1) % extents.size()];
      dx[i] = dout[i] * (3 * near * near + 1);
    }
  }
};
struct WithoutCotangent {
  template <class T>
  void operator()(const T* x, const T* /*dout*/, T* dx, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) dx[i] = 3 * x[i] * x[i] + 1;
  }
};
struct WrongCotangent {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      const std::int64_t transposed = i % extents.columns * extents.rows + i / extents.columns;
      dx[i] = dout[transposed] * (3 * x[i] * x[i] + 1);
    }
  }
};
struct WrongBranch {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      dx[i] = x[i] > T(0.9) ? dout[i] : dout[i] * (3 * x[i] * x[i] + 1);
    }
  }
};
struct AddsToWhatIsThere {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) dx[i] += dout[i] * (3 * x[i] * x[i] + 1);
  }
};
// Keeps the x of the first run.
struct Stale {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) {
    if (first.empty()) first.assign(x, x + extents.size());
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      const T kept = static_cast<T>(first[static_cast<std::size_t>(i)]);
      dx[i] = dout[i] * (3 * kept * kept + 1);
    }
  }
  std::vector<double> first = {};
};
// Keeps the cotangent of the run before.
struct Late {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) {
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const T used = before.size() > at ? static_cast<T>(before[at]) : dout[i];
      dx[i] = used * (3 * x[i] * x[i] + 1);
    }
    before.assign(dout, dout + extents.size());
  }
  std::vector<double> before = {};
};

TEST(WrongKernelsTest, AMissingTermIsFound) {
  expect_found<Cubic, MissingTerm>("grad-mismatch");
}

TEST(WrongKernelsTest, TheElementNextToTheRightOneIsFound) {
  expect_found<Cubic, OffByOne>("grad-mismatch");
}

TEST(WrongKernelsTest, ACotangentThatIsNotReadIsFound) {
  expect_found<Cubic, WithoutCotangent>("grad-mismatch");
}

TEST(WrongKernelsTest, ACotangentThatIsTransposedIsFound) {
  expect_found<Cubic, WrongCotangent>("grad-mismatch");
}

TEST(WrongKernelsTest, AWrongBranchIsFoundWhereItIsTaken) {
  const Tensor x = tensor_of({2, 2}, {0.1, 0.95, -0.5, 0.3});
  const OpRegistry registry = toy_registry<Cubic, WrongBranch>();
  const GradCheck found = check_gradients(registry, "toy", {{"X", {x}}});
  EXPECT_EQ(found.verdict, Verdict::kFail);
  EXPECT_EQ(found.inputs[0].num_wrong, 1);
  EXPECT_EQ(found.inputs[0].index, 1);
}

TEST(WrongKernelsTest, AddingToWhatIsInMemoryIsFound) {
  for (const DType dtype : kBoth) {
    EXPECT_EQ(check(toy_registry<Cubic, AddsToWhatIsThere>(), dtype).verdict, Verdict::kFail);
  }
}

TEST(WrongKernelsTest, ValuesOfAnEarlierRunAreFound) {
  expect_found<Cubic, Stale>("grad-mismatch");
  expect_found<Cubic, Late>("not-repeatable");
}

struct ColumnSumGrad {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t c = 0; c < extents.columns; ++c) {
      T sum = 0;
      T dsum = 0;
      for (std::int64_t r = 0; r < extents.rows; ++r) sum += x[r * extents.columns + c];
      for (std::int64_t r = 0; r < extents.rows; ++r) {
        dsum += dout[r * extents.columns + c] * x[r * extents.columns + c];
      }
      for (std::int64_t r = 0; r < extents.rows; ++r) {
        dx[r * extents.columns + c] = dout[r * extents.columns + c] * sum + dsum;
      }
    }
  }
};
struct WithoutTheSum {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    for (std::int64_t r = 0; r < extents.rows; ++r) {
      T sum = 0;
      for (std::int64_t c = 0; c < extents.columns; ++c) sum += x[r * extents.columns + c];
      for (std::int64_t c = 0; c < extents.columns; ++c) {
        dx[r * extents.columns + c] = dout[r * extents.columns + c] * sum;
      }
    }
  }
};

TEST(WrongKernelsTest, TheWrongAxisIsFound) {
  expect_found<RowSum, ColumnSumGrad>("grad-mismatch");
}

TEST(WrongKernelsTest, AMissingSumIsFound) {
  expect_found<RowSum, WithoutTheSum>("grad-mismatch");
}

// The formula is right: only the kernel for float32 is not.
TEST(WrongKernelsTest, AnErrorOfOneDtypeIsFoundInThatDtype) {
  const auto expect_kernel = [](const OpRegistry& registry) {
    const GradCheck found = check(registry, DType::kFloat32);
    EXPECT_EQ(found.verdict, Verdict::kFail) << found.message;
    EXPECT_EQ(found.inputs[0].reason, "kernel-mismatch") << found.message;
    EXPECT_THAT(found.message, ::testing::HasSubstr(", formula "));
    EXPECT_TRUE(check(registry, DType::kFloat64).passed);
  };
  expect_kernel(toy_registry<Cubic, Changed<Twice>, CubicGrad>());
  expect_kernel(toy_registry<Cubic, Changed<SlightlyLarge>, CubicGrad>());
  expect_kernel(toy_registry<Cubic, Changed<ZeroAtTheBorder>, CubicGrad>());
  expect_kernel(toy_registry<Cubic, Changed<WrongTail>, CubicGrad>());
  expect_kernel(toy_registry<Cubic, MissingTerm, CubicGrad>());
  expect_kernel(toy_registry<Cubic, WithoutCotangent, CubicGrad>());
  expect_kernel(toy_registry<RowSum, ColumnSumGrad, RowSumGrad>());
}

// Twice in float16, rounded each time, with or without a fault of a few rounding units: less than
// the spread of the errors allows at one point, but the same at all of them.
template <int kUnits>
struct Double {
  template <class T>
  void operator()(const T* /*x*/, const T* dout, T* dx, Extents extents) const {
    constexpr ComputeType<T> kFactor = 2 * (1 + kUnits * 0x1p-11f);
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      dx[i] = static_cast<T>(kFactor * static_cast<ComputeType<T>>(dout[i]));
    }
  }
};
struct Twofold {
  template <class T>
  void operator()(const T* x, T* out, Extents extents) const {
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      out[i] = static_cast<T>(2 * static_cast<ComputeType<T>>(x[i]));
    }
  }
};

template <int kUnits>
OpRegistry twofold_registry() {
  const auto both = [](KernelFactory half, KernelFactory wide) {
    return KernelTable{{{DeviceKind::kCpu, DType::kFloat16}, half},
                       {{DeviceKind::kCpu, DType::kFloat64}, wide}};
  };
  return toy_registry(
      both(toy_kernel<Twofold, Float16>, toy_kernel<Twofold, double>),
      both(toy_grad_kernel<Double<kUnits>, Float16>, toy_grad_kernel<Double<0>, double>));
}

TEST(WrongKernelsTest, AnErrorOfAFewUnitsIsFoundByAllCentresTogether) {
  const OpRegistry right = twofold_registry<0>();
  const OpRegistry wrong = twofold_registry<6>();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_TRUE(check(right, DType::kFloat16, seed).passed);
    const GradCheck found = check(wrong, DType::kFloat16, seed);
    EXPECT_EQ(found.inputs[0].reason, "kernel-mismatch") << found.message;
    EXPECT_EQ(found.inputs[0].num_wrong, 16) << found.message;
  }
}

// Off by 1 %, with a sign that is the same close to a point, and another one farther away.
struct Scattered {
  template <class T>
  void operator()(const T* x, const T* dout, T* dx, Extents extents) const {
    CubicGrad()(x, dout, dx, extents);
    for (std::int64_t i = 0; i < extents.size(); ++i) {
      dx[i] *= std::sin(1000 * x[i]) > 0 ? T(1.01) : T(0.99);
    }
  }
};

TEST(WrongKernelsTest, ErrorsOfEitherSignMayBeRounding) {
  const OpRegistry registry = toy_registry<Cubic, Scattered, CubicGrad>();
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 32; ++seed) {
    const Tensor x = random_tensor({1, 1}, DType::kFloat32, seed);
    const GradCheck found = check_gradients(registry, "toy", {{"X", {x}}}, {}, {.seed = seed});
    failed += found.verdict == Verdict::kFail ? 1 : 0;
  }
  EXPECT_LE(failed, 6) << "the signs of five centres are the same by chance";
}

TEST(WrongKernelsTest, RightKernelsPass) {
  const OpRegistry cubic = toy_registry<Cubic, CubicGrad>();
  const OpRegistry row_sum = toy_registry<RowSum, RowSumGrad>();
  for (const DType dtype : kBoth) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      for (const OpRegistry* registry : {&cubic, &row_sum}) {
        const GradCheck found = check(*registry, dtype, seed);
        EXPECT_TRUE(found.passed) << found.message;
        EXPECT_LT(found.inputs[0].resolution, dtype == DType::kFloat64 ? 1e-6 : 1e-3);
      }
    }
  }
}

TEST(WrongKernelsTest, AreRightToATolerance) {
  for (const DType dtype : kBoth) {
    const OpRegistry registry = toy_registry<Cubic, Changed<SlightlyLarge>>();
    const auto verdict = [&](double tolerance) {
      return check_gradients(registry, "toy", {{"X", {random_tensor({4, 4}, dtype, 1)}}}, {},
                             {.tolerance = tolerance})
          .verdict;
    };
    EXPECT_EQ(verdict(2e-5), Verdict::kPass);
    EXPECT_EQ(verdict(2e-6), Verdict::kFail);
  }
}

}  // namespace
}  // namespace fluidcore::gradcheck
