#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fluidcore/gradcheck/function/operator_gradient.h"
#include "fluidcore/gradcheck/verdict/judge.h"
#include "fluidcore/op/op_registry.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore::gradcheck {

struct CheckOptions {
  std::set<std::string> no_grad = {};                   // slots not to be differentiated by
  std::map<std::string, std::size_t> num_outputs = {};  // of output slots with a list; else 1
  // The floating inputs are rounded to it, and the kernels for it are checked; nullopt: as given.
  std::optional<DType> dtype = std::nullopt;
  std::size_t cotangents = 2;  // random ones; each one makes it less likely that errors cancel
  // Inputs with more elements are not looked at one by one, but an element of every row at once,
  // where rows are independent and not longer; else along random directions: in a few runs, of
  // which one wrong element among many may escape; `resolution` says how wrong it is then.
  std::int64_t full = 2000;
  std::size_t probes = 4;    // directions
  std::uint64_t seed = 0;    // of cotangents, and of operators that draw random numbers
  std::int64_t workers = 1;  // threads; they change no result
  double resolution = 0;     // relative error that a PASS must be able to see; 0: of the dtype
  double tolerance = 0;      // relative error that is right, as of a solver that stops there
};

// The gradient by one input.
struct InputCheck {
  std::string name;  // the slot: "X"; "X.1" where it holds several
  TensorSpec spec;
  Verdict verdict = Verdict::kPass;
  // Why. FAIL: "grad-mismatch" (the formula: float64 against the numerical
  // derivative), "kernel-mismatch" (the kernel: the dtype under test against float64),
  // "narrowed" (rounded through a dtype with fewer digits), "non-finite", "not-repeatable",
  // "not-linear" (in the cotangent, as every gradient is), "wrong-shape". INCONCLUSIVE: "noise",
  // "kink", "jump", "domain", "absorption", "stochastic" (f is random). PASS: "precision-loss"
  // where the kernel lost digits that f in its dtype does not hold, else "".
  std::string reason;
  std::optional<DType> narrowed_to;  // that dtype
  std::size_t directions = 0;        // along which it was looked at; 0: one element at a time
  std::int64_t num_wrong = 0;        // elements; if none was found, directions
  std::int64_t num_unsure = 0;       // elements
  // The element that is off the most, or, if none was looked at, the direction.
  std::int64_t index = 0;  // in the flattened input
  double analytical = 0;   // what the gradient operators calculate
  double numerical = 0;    // the nearest value that the differences allow
  double error_bar = 0;    // of the numerical value
  double limit = 0;        // the greatest distance that is right
  // The smallest relative error that would have been seen in every element that can be judged.
  double resolution = 0;
};

struct GradCheck {
  Verdict verdict = Verdict::kInconclusive;  // FAIL if one input fails, PASS if all pass
  bool passed = false;                       // the verdict is kPass
  std::string message;                       // what was found, a line or two for each input
  std::vector<InputCheck> inputs;
};

// Checks the gradient operators of `type` against numerical derivatives of its forward kernel, at
// the given values, on the CPU:
//
//   const GradCheck check = check_gradients(registry, "tanh", {{"X", {x}}});
//   if (!check.passed) std::puts(check.message.c_str());
//
// No step and no tolerance need be chosen: the derivatives come with error bars, and a difference
// is an error when they cannot explain it. The gradients are those of the sum of all outputs, each
// weighted with random numbers. For a dtype with fewer digits, the formula is checked in float64,
// at the same values, and the kernel against the float64 kernel; without one, by itself, which
// sees less. Everything is calculated on copies. The same arguments give the same result.
//
// Throws what adding the operator to a program throws; InvalidArgument for an operator without
// gradient, with a block or with tensor arrays, and for an output whose shape depends on the data;
// what the forward kernel throws at the given values.
GradCheck check_gradients(const OpRegistry& ops,
                          const std::string& type,
                          const SlotTensors& inputs,
                          const AttributeMap& attrs = {},
                          const CheckOptions& options = {});

}  // namespace fluidcore::gradcheck
