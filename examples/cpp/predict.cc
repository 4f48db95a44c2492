// Runs a model that fluid.io.save_inference_model saved, on ones; built like main.cc:
//
//   build/predict MODEL 1,8,8          shape of its input, of a model that has one

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "fluidcore/io/predictor.h"

namespace fc = fluidcore;

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: predict MODEL 1,8,8\n");
    return 2;
  }
  std::vector<std::int64_t> extents;
  std::istringstream shape(arguments[2]);
  for (std::string extent; std::getline(shape, extent, ',');) extents.push_back(std::stoll(extent));
  try {
    const fc::Predictor predictor(arguments[1]);
    fc::Tensor input({fc::Shape(extents), fc::DType::kFloat32});
    std::fill_n(input.data<float>(), input.size(), 1.0F);
    const fc::Tensor output = predictor.run({input})[0];
    for (std::int64_t i = 0; i < output.size(); ++i) {
      std::printf("%.9g\n", output.get_float_element(i));
    }
  } catch (const fc::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
