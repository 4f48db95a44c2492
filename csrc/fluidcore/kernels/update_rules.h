#pragma once

#include <cmath>

#include "fluidcore/base/host_device.h"

namespace fluidcore {

// What one step of an optimizer does to one element of a parameter: rule(grad, param, state...)
// changes the parameter and the optimizer's state. Compiled for every device; T is float or double.
// `rate` is the learning rate of this step.

namespace detail {

// `kept` of the mean so far, and the rest of a new value.
template <class T>
FC_HOST_DEVICE T moved_mean(double kept, T mean, T value) {
  return static_cast<T>(kept) * mean + static_cast<T>(1.0 - kept) * value;
}

// What minimizes (p - x)^2 / 2 + rate (l1 |p| + l2 p^2 / 2).
template <class T>
FC_HOST_DEVICE T shrunk(T x, double rate, double l1, double l2) {
  const T left = std::abs(x) - static_cast<T>(rate * l1);
  return left > T(0) ? std::copysign(left, x) / static_cast<T>(1.0 + rate * l2) : T(0);
}

}  // namespace detail

struct SgdRule {
  double rate;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param) const {
    param -= static_cast<T>(rate) * grad;
  }
};

struct MomentumRule {
  double rate;
  double mu;
  bool nesterov;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& velocity) const {
    velocity = static_cast<T>(mu) * velocity + grad;
    param -= static_cast<T>(rate) * (nesterov ? grad + static_cast<T>(mu) * velocity : velocity);
  }
};

struct AdamRule {  // rate and epsilon are corrected for the bias of the moments
  double rate;
  double beta1;
  double beta2;
  double epsilon;
  double decay;  // the share of the parameter that is taken away first
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& moment1, T& moment2) const {
    moment1 = detail::moved_mean(beta1, moment1, grad);
    moment2 = detail::moved_mean(beta2, moment2, grad * grad);
    param -= static_cast<T>(decay) * param;
    param -= static_cast<T>(rate) * moment1 / (std::sqrt(moment2) + static_cast<T>(epsilon));
  }
};

struct AdamaxRule {  // rate is corrected for the bias of the moment
  double rate;
  double beta1;
  double beta2;
  double epsilon;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& moment, T& norm) const {
    moment = detail::moved_mean(beta1, moment, grad);
    const T kept = static_cast<T>(beta2) * norm + static_cast<T>(epsilon);
    norm = std::abs(grad) > kept ? std::abs(grad) : kept;
    param -= static_cast<T>(rate) * moment / norm;
  }
};

struct NadamRule {
  double grad_rate;    // the learning rate times the share of this gradient
  double moment_rate;  // and of the mean of all, both corrected for their bias
  double beta1;
  double beta2;
  double bias2;  // of the mean of squares
  double epsilon;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& moment1, T& moment2) const {
    moment1 = detail::moved_mean(beta1, moment1, grad);
    moment2 = detail::moved_mean(beta2, moment2, grad * grad);
    const T root = std::sqrt(moment2 / static_cast<T>(bias2)) + static_cast<T>(epsilon);
    param -= (static_cast<T>(grad_rate) * grad + static_cast<T>(moment_rate) * moment1) / root;
  }
};

struct LionRule {
  double rate;
  double beta1;
  double beta2;
  double decay;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& moment) const {
    const T mixed = detail::moved_mean(beta1, moment, grad);
    const T sign = mixed > T(0) ? T(1) : mixed < T(0) ? T(-1) : mixed;  // 0 and NaN stay
    param -= static_cast<T>(rate) * (sign + static_cast<T>(decay) * param);
    moment = detail::moved_mean(beta2, moment, grad);
  }
};

// Lamb's step has a length that depends on all elements: `moments` first, then `direction`, whose
// norm is taken, and a step along it.
struct LambRule {
  double beta1;
  double beta2;
  double bias1;  // of the moments
  double bias2;
  double epsilon;
  double decay;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& moment1, T& moment2) const {
    moment1 = detail::moved_mean(beta1, moment1, grad);
    moment2 = detail::moved_mean(beta2, moment2, grad * grad);
  }
  template <class T>
  FC_HOST_DEVICE T direction(T param, T moment1, T moment2) const {
    const T root = std::sqrt(moment2 / static_cast<T>(bias2)) + static_cast<T>(epsilon);
    return moment1 / static_cast<T>(bias1) / root + static_cast<T>(decay) * param;
  }
};

struct AdagradRule {
  double rate;
  double epsilon;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& moment) const {
    moment += grad * grad;
    param -= static_cast<T>(rate) * grad / (std::sqrt(moment) + static_cast<T>(epsilon));
  }
};

struct DecayedAdagradRule {
  double rate;
  double decay;
  double epsilon;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& moment) const {
    moment = detail::moved_mean(decay, moment, grad * grad);
    param -= static_cast<T>(rate) * grad / (std::sqrt(moment) + static_cast<T>(epsilon));
  }
};

struct AdadeltaRule {
  double rho;
  double epsilon;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& squared_grad, T& squared_update) const {
    const T above_zero = static_cast<T>(epsilon);
    squared_grad = detail::moved_mean(rho, squared_grad, grad * grad);
    const T update = std::sqrt((squared_update + above_zero) / (squared_grad + above_zero)) * grad;
    squared_update = detail::moved_mean(rho, squared_update, update * update);
    param -= update;
  }
};

struct RmspropRule {
  double rate;
  double decay;
  double epsilon;
  double momentum;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& mean_square, T& moment) const {
    mean_square = detail::moved_mean(decay, mean_square, grad * grad);
    moment = static_cast<T>(momentum) * moment +
             static_cast<T>(rate) * grad / std::sqrt(mean_square + static_cast<T>(epsilon));
    param -= moment;
  }
};

struct FtrlRule {
  double rate;
  double l1;
  double l2;
  double lr_power;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& squared, T& linear) const {
    const T before = power(squared);
    squared += grad * grad;
    const T after = power(squared);
    linear += grad - (after - before) / static_cast<T>(rate) * param;
    const T left = std::abs(linear) - static_cast<T>(l1);
    const T steepness = after / static_cast<T>(rate) + static_cast<T>(2.0 * l2);
    param = left > T(0) ? -std::copysign(left, linear) / steepness : T(0);
  }
  template <class T>
  FC_HOST_DEVICE T power(T x) const {
    return lr_power == -0.5 ? std::sqrt(x) : std::pow(x, static_cast<T>(-lr_power));
  }
};

struct ProximalGdRule {
  double rate;
  double l1;
  double l2;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param) const {
    param = detail::shrunk(param - static_cast<T>(rate) * grad, rate, l1, l2);
  }
};

struct ProximalAdagradRule {
  double rate;
  double l1;
  double l2;
  template <class T>
  FC_HOST_DEVICE void operator()(T grad, T& param, T& moment) const {
    moment += grad * grad;
    // Without a gradient so far the moment is 0, too.
    const T step = grad == T(0) ? T(0) : static_cast<T>(rate) * grad / std::sqrt(moment);
    param = detail::shrunk(param - step, rate, l1, l2);
  }
};

}  // namespace fluidcore
