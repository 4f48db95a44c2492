#pragma once

// For the tests of operators, with GoogleTest.

#include <string>

#include <gtest/gtest.h>

#include "fluidcore/gradcheck/gradcheck.h"

namespace fluidcore::gradcheck {

// Success if the gradient is right; INCONCLUSIVE is none.
inline testing::AssertionResult grad_ok(const OpRegistry& ops,
                                        const std::string& type,
                                        const SlotTensors& inputs,
                                        const AttributeMap& attrs = {},
                                        const CheckOptions& options = {}) {
  const GradCheck check = check_gradients(ops, type, inputs, attrs, options);
  return (check.passed ? testing::AssertionSuccess() : testing::AssertionFailure())
         << check.message;
}

}  // namespace fluidcore::gradcheck

// EXPECT_GRAD_OK(registry, "tanh", {{"X", {x}}}); the arguments are those of check_gradients.
#define EXPECT_GRAD_OK(...) EXPECT_TRUE(::fluidcore::gradcheck::grad_ok(__VA_ARGS__))
