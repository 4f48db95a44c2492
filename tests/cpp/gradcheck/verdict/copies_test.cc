#include "fluidcore/gradcheck/verdict/copies.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/gradcheck/verdict/comparison.h"
#include "fluidcore/gradcheck/verdict/element_check.h"
#include "gradcheck/toy_formula.h"

namespace fluidcore::gradcheck {
namespace {

using testing::ElementsAre;

using Indices = std::vector<std::int64_t>;
using Rows = std::vector<std::vector<double>>;
using Change = std::function<Tensor(const Tensor&)>;

std::vector<double> uniform(std::size_t size, double phase) {
  std::vector<double> x;
  for (std::size_t i = 0; i < size; ++i) {
    x.push_back(1.25 + 0.75 * std::sin(3 * static_cast<double>(i) + phase));
  }
  return x;
}

// Of x, [3, 4], and y, [4, 2]: exp(x) y, Σx Σy and x³ in the first row.
std::vector<Tensor> several(const std::vector<Tensor>& inputs) {
  const std::vector<double> x = values_of(inputs[0]);
  const std::vector<double> y = values_of(inputs[1]);
  std::vector<double> product(6);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      for (std::size_t k = 0; k < 4; ++k) {
        product[i * 2 + j] += std::exp(x[i * 4 + k]) * y[k * 2 + j];
      }
    }
  }
  std::vector<double> cubes;
  for (std::size_t k = 0; k < 4; ++k) cubes.push_back(x[k] * x[k] * x[k]);
  const double sums =
      std::accumulate(x.begin(), x.end(), 0.0) * std::accumulate(y.begin(), y.end(), 0.0);
  return {tensor_of(product), tensor_of({sums}), tensor_of(cubes)};
}

// y, for each element.
Tensor stacked(const std::vector<Tensor>& ys) {
  Tensor all({Shape{std::ssize(ys), ys[0].size()}, DType::kFloat64});
  std::int64_t at = 0;
  for (const Tensor& y : ys) {
    for (const double value : values_of(y)) all.set_float_element(at++, value);
  }
  return all;
}

Change scaled(double factor) {
  return [factor](const Tensor& y) {
    Tensor scaled = y.clone();
    for (std::int64_t i = 0; i < y.size(); ++i) {
      scaled.set_float_element(i, factor * y.get_float_element(i));
    }
    return scaled;
  };
}

// A Formula that runs one copy after the other, and counts.
struct Copied {
  explicit Copied(ToyFunction::Body body = several,
                  std::vector<Tensor> inputs = {tensor_of(uniform(12, 1)),
                                                tensor_of(uniform(8, 2))})
      : f(std::move(inputs),
          [this, body](const auto& x) {
            ++runs;
            return body(x);
          }),
        formula(formula_of(f)) {
    runs = 0;
    formula.copies = [this, body](std::size_t k, const Indices& elements) {
      std::vector<double> point;
      for (const std::int64_t i : elements) {
        point.push_back(f.inputs()[k].get_float_element(i));
      }
      return std::make_unique<ToyFunction>(
          std::vector<Tensor>{tensor_of(point)},
          [this, body, k, elements](const std::vector<Tensor>& z) {
            ++batches;
            most = std::max(most, std::ssize(elements));
            std::vector<std::vector<Tensor>> outputs(formula.output_sizes.size());
            for (std::size_t c = 0; c < elements.size(); ++c) {
              std::vector<Tensor> moved;
              for (const Tensor& x : f.inputs()) moved.push_back(x.clone());
              moved[k].set_float_element(elements[c],
                                         z[0].get_float_element(static_cast<std::int64_t>(c)));
              const std::vector<Tensor> ys = body(moved);
              for (std::size_t o = 0; o < ys.size(); ++o) outputs[o].push_back(ys[o]);
            }
            std::vector<Tensor> all;
            for (const auto& ys : outputs) all.push_back(change(stacked(ys)));
            return all;
          });
    };
  }

  std::optional<Derivatives> copies(const Indices& elements) {
    return differentiate_copies(formula, 0, elements, {}, false);
  }

  int runs = 0;
  int batches = 0;
  std::int64_t most = 0;  // copies at once
  Change change = [](const Tensor& y) { return y; };
  ToyFunction f;
  Formula formula;
};

Derivatives compared(Formula& formula, std::size_t k, Indices elements = {}) {
  Look look = look_at(formula.f.inputs()[k].size());
  look.input = k;
  if (!elements.empty()) look.elements = std::move(elements);
  return compare(formula, look, nullptr)->reference;
}

Derivatives alone(std::size_t k) {
  Copied one;
  one.formula.copies = nullptr;
  return compared(one.formula, k);
}

void expect_near(const std::vector<double>& ours, const std::vector<double>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], theirs[i], 1e-11 + 1e-7 * std::abs(theirs[i])) << i;
  }
}

TEST(Copies, FindWhatIsFoundElementByElement) {
  std::vector<double> noise;
  for (int j = 0; j < 11; ++j) noise.push_back(std::pow(10, -14 + 0.8 * j));
  const std::vector<double> ones(11, 1);
  for (const std::size_t k : {0, 1}) {
    for (const Indices& elements : {Indices{}, Indices{0, 1, 3, 4, 7}}) {
      for (const auto& weights : {Rows{ones}, Rows{ones, uniform(11, 4), noise}}) {
        for (const auto& level : {std::vector<double>(), noise}) {
          Copied one;
          Copied other;
          other.formula.copies = nullptr;
          for (Formula* formula : {&one.formula, &other.formula}) {
            formula->weights = weights;
            formula->noise = {level, {}};
          }
          const Derivatives together = compared(one.formula, k, elements);
          const Derivatives apart = compared(other.formula, k, elements);
          EXPECT_EQ(together.flags, apart.flags);
          expect_near(together.value, apart.value);
          expect_near(together.error, apart.error);
          expect_near(together.low, apart.low);
          expect_near(together.high, apart.high);
          expect_near(together.scale, apart.scale);
          EXPECT_TRUE(one.formula.runs_on_copies);
          EXPECT_EQ(one.runs, 0);
          EXPECT_LT(together.evaluations, 30);
          EXPECT_GT(apart.evaluations, 30);
        }
      }
    }
  }
}

TEST(Copies, EveryRunIsCountedButTheOneThatShowsWhetherTheyAreTheSame) {
  Copied one;
  const Derivatives found = compared(one.formula, 0);
  EXPECT_EQ(one.formula.evaluations, found.evaluations);
  EXPECT_EQ(one.batches, found.evaluations + 1);
}

// sin of one of 12 elements each; as many outputs that 5 copies take as long as all else in a run.
Copied wide() {
  return Copied(
      [](const std::vector<Tensor>& inputs) {
        Tensor y({Shape{(1 << 12) / 5 - 12}, DType::kFloat64});
        const auto* x = static_cast<const double*>(inputs[0].raw());
        auto* const out = static_cast<double*>(y.raw());
        std::vector<double> sines;
        for (int i = 0; i < 12; ++i) sines.push_back(std::sin(x[i]));
        for (std::int64_t j = 0; j < y.size(); ++j)
          out[j] = sines[static_cast<std::size_t>(j % 12)];
        return std::vector<Tensor>{y};
      },
      {tensor_of(uniform(12, 1))});
}

std::vector<double> wide_gradient(const Formula& formula) {
  std::vector<double> claimed;
  for (std::size_t i = 0; i < 12; ++i) {
    const double count = static_cast<double>((formula.outputs.size() + 11 - i) / 12);
    claimed.push_back(count * std::cos(uniform(12, 1)[i]));
  }
  return claimed;
}

TEST(Copies, OfLargeInputsOrOutputsAreCutIntoSeveralRuns) {
  Copied one = wide();
  EXPECT_EQ(copies_at_once(one.formula, 0, 12), 5);
  const std::vector<double> claimed = wide_gradient(one.formula);
  const Derivatives found = compare(one.formula, look_at(12), &claimed)->reference;
  EXPECT_EQ(one.most, 5);
  EXPECT_EQ(one.runs, 0);
  EXPECT_GE(one.batches, 3 * 3);
  EXPECT_LE(one.batches, 3 * 12);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(found.value[i], claimed[i], 1e-7 * std::abs(claimed[i]) + 1e-4) << i;
  }
}

TEST(Copies, AreNoneWhereFTakesLongerForOneThanARunTakesBesideIt) {
  Copied one = wide();
  one.formula.outputs.resize((1 << 12) - 12);
  EXPECT_EQ(copies_at_once(one.formula, 0, 12), 1);
  one.formula.outputs.resize((1 << 12) - 11);
  EXPECT_EQ(copies_at_once(one.formula, 0, 12), 0);
}

TEST(Copies, OneWrongElementAmongSeveralRunsIsNamed) {
  Copied one = wide();
  ElementClaim claim{wide_gradient(one.formula)};
  claim.value[9] *= 1.001;
  const auto found = check_elements(one.formula, look_at(12), claim);
  EXPECT_THAT(found->judgement.wrong, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0));
  EXPECT_GT(one.batches, 0);
}

TEST(Copies, AreNoneBelowFloat64) {
  ToyFunction f({tensor_of({1, 2}, DType::kFloat32)},
                [](const auto& inputs) { return std::vector<Tensor>{inputs[0].clone()}; });
  Formula formula = formula_of(f);
  formula.copies = [](std::size_t, const Indices&) { return nullptr; };
  EXPECT_EQ(copies_at_once(formula, 0, 2), 0);
}

TEST(Copies, OfTooFewElementsAreNotFasterThanOneByOne) {
  Copied one;
  one.formula.fewest_copies = 9;
  EXPECT_EQ(copies_at_once(one.formula, 1, 8), 0);
  EXPECT_GT(copies_at_once(one.formula, 0, 12), 0);
  EXPECT_GT(compared(one.formula, 1).evaluations, 5 * 8);
  EXPECT_EQ(one.batches, 0);
}

void expect_given_up(Copied& one) {
  EXPECT_FALSE(one.copies({0, 1, 2, 3}).has_value());
  EXPECT_FALSE(one.formula.runs_on_copies);
  EXPECT_EQ(copies_at_once(one.formula, 0, 12), 0);
  const int batches = one.batches;
  EXPECT_EQ(compared(one.formula, 0).value, alone(0).value);
  EXPECT_EQ(one.batches, batches);
}

TEST(Copies, AreNotTriedAgainIfTheyAreAnotherFunction) {
  const std::vector<Change> changes = {
      [](const Tensor&) -> Tensor { throw InvalidArgument("no rule for copies"); },
      scaled(1 + 0x1p-38),
      scaled(std::nan("")),
      scaled(std::numeric_limits<double>::infinity()),
      [](const Tensor& y) { return tensor_of(values_of(y)); },  // in one row
      [](const Tensor& y) { return tensor_of({y.get_float_element(0)}); },
  };
  for (const Change& change : changes) {
    Copied one;
    one.change = change;
    expect_given_up(one);
  }
}

TEST(Copies, AreNotTriedAgainIfThereAreNone) {
  Copied one;
  one.formula.copies = [](std::size_t, const Indices&) { return nullptr; };
  expect_given_up(one);
}

TEST(Copies, MayBeAddedInAnotherOrder) {
  Copied one;
  one.change = scaled(1 + 0x1p-43);
  EXPECT_TRUE(one.copies({0, 1, 2, 3}).has_value());
  EXPECT_TRUE(one.formula.runs_on_copies);
}

TEST(Copies, ThatEndBesideThePointAreLookedAtElementByElement) {
  const std::vector<double> x = {1, 1, 1e-3};
  Copied one(
      [](const std::vector<Tensor>& inputs) {
        std::vector<double> y = values_of(inputs[0]);
        for (double& value : y) {
          if (value < 0) throw InvalidArgument("out of the domain");
          value = std::sqrt(value);
        }
        return std::vector<Tensor>{tensor_of(y)};
      },
      {tensor_of(x)});
  EXPECT_FALSE(one.copies({0, 1, 2}).has_value());
  EXPECT_TRUE(one.formula.runs_on_copies);
  ElementClaim claim;
  for (const double t : x) claim.value.push_back(1 / (2 * std::sqrt(t)));
  const auto found = check_elements(one.formula, look_at(3), claim);
  EXPECT_EQ(found->judgement.verdict(), Verdict::kPass);
}

TEST(Copies, EndWithWhatTheUserInterrupts) {
  Copied one;
  Interruption interruption;
  one.f.set_interruption(&interruption);
  one.change = [&](const Tensor& y) {
    interruption.request();
    return y;
  };
  EXPECT_THROW(compared(one.formula, 0), Interrupted);
}

}  // namespace
}  // namespace fluidcore::gradcheck
