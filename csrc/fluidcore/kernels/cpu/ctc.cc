#include "fluidcore/kernels/cpu/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();  // log of 0

// A number and its derivative in one direction.
struct Dual {
  double value = 0.0;
  double slope = 0.0;

  friend Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
};

double value_of(double x) {
  return x;
}
double value_of(Dual x) {
  return x.value;
}
double exp_of(double x) {
  return std::exp(x);
}
Dual exp_of(Dual x) {
  const double value = std::exp(x.value);
  return {value, value * x.slope};
}
double log_of(double x) {
  return std::log(x);
}
Dual log_of(Dual x) {
  return {std::log(x.value), x.slope / x.value};
}

double log1p_of(double x) {
  return std::log1p(x);
}
Dual log1p_of(Dual x) {
  return {std::log1p(x.value), x.slope / (1.0 + x.value)};
}

// log(exp(a) + exp(b))
template <class N>
N log_add(N a, N b) {
  if (value_of(a) < value_of(b)) std::swap(a, b);
  if (value_of(b) == kNever) return a;
  return a + log1p_of(exp_of(b - a));
}

std::int64_t num_states(const CtcShape& shape) {
  return 2 * shape.labels + 1;
}

// How many numbers one sample needs: the logarithms of the sums of a softmax, one row of classes,
// two rows of states backward, and `rows` forward.
std::int64_t numbers_of_sample(const CtcShape& shape, std::int64_t rows) {
  return shape.steps + shape.classes + (2 + rows) * num_states(shape);
}

// One sample. Its states are the labels with a blank before, between and behind them.
template <class N, class T>
class Sample {
 public:
  // `rows` of the forward pass are kept: two, or as many as there are steps.
  Sample(const CtcShape& shape,
         const CtcTargets& targets,
         std::int64_t number,
         const T* logits,
         const T* direction,
         std::int64_t rows,
         void* memory)
      : shape_(shape),
        targets_(targets),
        number_(number),
        logits_(logits),
        direction_(direction),
        steps_(targets.steps_of.data != nullptr ? targets.steps_of[number] : shape.steps),
        states_(2 * (targets.num_labels_of.data != nullptr ? targets.num_labels_of[number]
                                                           : shape.labels) +
                1),
        rows_(rows),
        sums_(static_cast<N*>(memory) + number * numbers_of_sample(shape, rows)),
        classes_(sums_ + shape.steps),
        after_(classes_ + shape.classes),
        before_(after_ + 2 * num_states(shape)) {}

  // The logarithm of the probability of the labels.
  N forward() {
    if (steps_ == 0) return N{states_ == 1 ? 0.0 : kNever};
    for (std::int64_t t = 0; t < steps_; ++t) sums_[t] = log_sum(t);
    for (std::int64_t t = 0; t < steps_; ++t) {
      for (std::int64_t s = 0; s < states_; ++s) row(t)[s] = reached(t, s) + log_share(t, s);
    }
    const N* last = row(steps_ - 1);
    return states_ == 1 ? last[0] : log_add(last[states_ - 1], last[states_ - 2]);
  }

  // write(t, k, derivative) for each step of the sample and each class, after forward().
  template <class Write>
  void backward(const Write& write) {
    for (std::int64_t t = steps_ - 1; t >= 0; --t) {
      N* const now = after_ + t % 2 * num_states(shape_);
      const N* const next = after_ + (t + 1) % 2 * num_states(shape_);
      for (std::int64_t s = 0; s < states_; ++s) now[s] = left(t, s, next);
      for (std::int64_t k = 0; k < shape_.classes; ++k) {
        classes_[k] = exp_of(logit(t, k) - sums_[t]);
      }
      // The probability of the labels again: its rounding is that of the states at this step, so
      // that their shares add up to 1.
      const N total = log_of_sum(states_, [&](std::int64_t s) { return row(t)[s] + now[s]; });
      for (std::int64_t s = 0; s < states_; ++s) {
        const N chance = row(t)[s] + now[s];
        if (value_of(chance) == kNever) continue;
        classes_[symbol(s)] = classes_[symbol(s)] - exp_of(chance - total);
      }
      for (std::int64_t s = 0; s < states_; ++s) now[s] = now[s] + log_share(t, s);
      for (std::int64_t k = 0; k < shape_.classes; ++k) write(t, k, classes_[k]);
    }
  }

  std::int64_t steps() const { return steps_; }
  std::int64_t place(std::int64_t t, std::int64_t k) const {
    return (t * shape_.batch + number_) * shape_.classes + k;
  }

 private:
  N logit(std::int64_t t, std::int64_t k) const {
    const auto value = static_cast<double>(logits_[place(t, k)]);
    if constexpr (std::is_same_v<N, Dual>) {
      return {value, static_cast<double>(direction_[place(t, k)])};
    } else {
      return value;
    }
  }
  // log of the sum of exp(term(i))
  template <class Term>
  static N log_of_sum(std::int64_t count, const Term& term) {
    double most = kNever;
    for (std::int64_t i = 0; i < count; ++i) most = std::max(most, value_of(term(i)));
    const N shift{most};
    N sum{};
    for (std::int64_t i = 0; i < count; ++i) {
      const N one = term(i);
      if (value_of(one) != kNever) sum = sum + exp_of(one - shift);
    }
    return log_of(sum) + shift;
  }
  N log_sum(std::int64_t t) const {
    return log_of_sum(shape_.classes, [&](std::int64_t k) { return logit(t, k); });
  }

  std::int64_t symbol(std::int64_t s) const {
    return s % 2 == 0 ? shape_.blank : targets_.labels[number_ * shape_.labels + s / 2];
  }
  N log_share(std::int64_t t, std::int64_t s) const { return logit(t, symbol(s)) - sums_[t]; }
  N* row(std::int64_t t) const { return before_ + t % rows_ * num_states(shape_); }

  // Whether the blank between two labels can be left out before state s.
  bool skips(std::int64_t s) const {
    return s >= 2 && s < states_ && s % 2 == 1 && symbol(s) != symbol(s - 2);
  }

  // The logarithm of the probability to come to state s at step t, without its own symbol.
  N reached(std::int64_t t, std::int64_t s) const {
    if (t == 0) return N{s <= 1 ? 0.0 : kNever};
    const N* const from = row(t - 1);
    N sum = from[s];
    if (s >= 1) sum = log_add(sum, from[s - 1]);
    if (skips(s)) sum = log_add(sum, from[s - 2]);
    return sum;
  }

  // Of all that is left after step t in state s; `next` is that before step t + 1.
  N left(std::int64_t t, std::int64_t s, const N* next) const {
    if (t == steps_ - 1) return N{s >= states_ - 2 ? 0.0 : kNever};
    N sum = next[s];
    if (s + 1 < states_) sum = log_add(sum, next[s + 1]);
    if (skips(s + 2)) sum = log_add(sum, next[s + 2]);
    return sum;
  }

  CtcShape shape_;
  CtcTargets targets_;
  std::int64_t number_;
  const T* logits_;
  const T* direction_;
  std::int64_t steps_;
  std::int64_t states_;
  std::int64_t rows_;
  N* sums_;
  N* classes_;
  N* after_;
  N* before_;
};

constexpr std::int64_t kLossRows = 2;

// The derivatives of one sample; pick(derivative) is what is written of them.
template <class N, class T, class Pick>
void write_derivatives(
    Sample<N, T>& sample, const CtcShape& shape, N total, double factor, const Pick& pick, T* out) {
  const bool possible = value_of(total) != kNever;
  for (std::int64_t t = possible ? sample.steps() : 0; t < shape.steps; ++t) {
    std::fill_n(out + sample.place(t, 0), shape.classes, T(0));
  }
  if (!possible) return;
  sample.backward([&](std::int64_t t, std::int64_t k, N derivative) {
    out[sample.place(t, k)] = static_cast<T>(factor * pick(derivative));
  });
}

// Calls f(i) for each sample.
template <class F>
void for_samples(const CtcShape& shape, const F& f) {
  constexpr std::int64_t kGrain = 1024;  // states and classes
  const std::int64_t work = shape.steps * (shape.classes + num_states(shape));
  parallel_for(shape.batch, kGrain / (work + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace

std::int64_t ctc_loss_bytes(const CtcShape& shape) {
  return shape.batch * numbers_of_sample(shape, kLossRows) *
         static_cast<std::int64_t>(sizeof(double));
}
std::int64_t ctc_grad_bytes(const CtcShape& shape) {
  return shape.batch * numbers_of_sample(shape, shape.steps) *
         static_cast<std::int64_t>(sizeof(double));
}
std::int64_t ctc_curvature_bytes(const CtcShape& shape) {
  return shape.batch * numbers_of_sample(shape, shape.steps) *
         static_cast<std::int64_t>(sizeof(Dual));
}

template <class T>
void ctc_loss(
    const CtcShape& shape, const CtcTargets& targets, const T* logits, void* memory, T* loss) {
  for_samples(shape, [=](std::int64_t i) {
    Sample<double, T> sample(shape, targets, i, logits, nullptr, kLossRows, memory);
    loss[i] = static_cast<T>(-sample.forward());
  });
}

template <class T>
void ctc_grad(const CtcShape& shape,
              const CtcTargets& targets,
              const T* logits,
              const T* dloss,
              void* memory,
              T* dlogits) {
  for_samples(shape, [=](std::int64_t i) {
    Sample<double, T> sample(shape, targets, i, logits, nullptr, shape.steps, memory);
    const double total = sample.forward();
    write_derivatives(
        sample, shape, total, static_cast<double>(dloss[i]), [](double x) { return x; }, dlogits);
  });
}

template <class T>
void ctc_curvature(const CtcShape& shape,
                   const CtcTargets& targets,
                   const T* logits,
                   const T* direction,
                   const T* dloss,
                   void* memory,
                   T* slope,
                   T* curvature) {
  for_samples(shape, [=](std::int64_t i) {
    Sample<Dual, T> sample(shape, targets, i, logits, direction, shape.steps, memory);
    const Dual total = sample.forward();
    if (slope != nullptr) {
      slope[i] = static_cast<T>(total.value == kNever ? 0.0 : -total.slope);
    }
    if (curvature == nullptr) return;
    write_derivatives(
        sample, shape, total, static_cast<double>(dloss[i]), [](Dual x) { return x.slope; },
        curvature);
  });
}

template void ctc_loss(const CtcShape&, const CtcTargets&, const float*, void*, float*);
template void ctc_loss(const CtcShape&, const CtcTargets&, const double*, void*, double*);
template void ctc_grad(
    const CtcShape&, const CtcTargets&, const float*, const float*, void*, float*);
template void ctc_grad(
    const CtcShape&, const CtcTargets&, const double*, const double*, void*, double*);
template void ctc_curvature(const CtcShape&,
                            const CtcTargets&,
                            const float*,
                            const float*,
                            const float*,
                            void*,
                            float*,
                            float*);
template void ctc_curvature(const CtcShape&,
                            const CtcTargets&,
                            const double*,
                            const double*,
                            const double*,
                            void*,
                            double*,
                            double*);

}  // namespace fluidcore::cpu
