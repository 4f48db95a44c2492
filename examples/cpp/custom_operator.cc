// Loads the library of bend.cc and lets fluidcore check that its gradient is right; built like main.cc:
//
//   build/custom_operator build/libbend.so

#include <cstdint>
#include <cstdio>
#include <string>

#include "fluidcore/gradcheck/gradcheck.h"
#include "fluidcore/ops/op_library.h"
#include "fluidcore/ops/register_ops.h"

namespace fc = fluidcore;

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: custom_operator build/libbend.so\n");
    return 2;
  }
  fc::OpRegistry registry = fc::builtin_ops();
  try {
    fc::load_op_library(arguments[1], registry);
  } catch (const fc::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  fc::Tensor x({{2, 5}, fc::DType::kFloat32});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = 0.7F * static_cast<float>(i - 4);

  const fc::gradcheck::GradCheck check =
      fc::gradcheck::check_gradients(registry, "bend", {{"X", {x}}});
  std::printf("%s\n", check.message.c_str());
  return check.passed ? 0 : 1;
}
