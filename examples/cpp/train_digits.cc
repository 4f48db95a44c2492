// Goes on with a training that fluid.io.save_training_model saved; built like main.cc:
//
//   build/train_digits MODEL 100       steps; writes the model back
//
// The program is fed `img` [64, 64] and `label` [64, 1]: here digits of one stroke, whose number is
// its place.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "fluidcore/io/trainer.h"

namespace fc = fluidcore;

namespace {

constexpr std::int64_t kBatch = 64;
constexpr std::int64_t kPixels = 64;
constexpr std::int64_t kDigits = 10;

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: train_digits MODEL 100\n");
    return 2;
  }
  fc::Tensor images({{kBatch, kPixels}, fc::DType::kFloat32});
  fc::Tensor labels({{kBatch, 1}, fc::DType::kInt64});
  std::memset(images.raw(), 0, images.bytes());
  for (std::int64_t i = 0; i < kBatch; ++i) {
    labels.data<std::int64_t>()[i] = i % kDigits;
    for (std::int64_t y = 0; y < 6; ++y) {
      images.data<float>()[i * kPixels + y * kDigits + i % kDigits] = 1.0F;
    }
  }
  try {
    fc::Trainer trainer(arguments[1]);
    for (int step = 0; step < std::stoi(arguments[2]); ++step) {
      std::printf("%.9g\n", trainer.step({images, labels})[0].get_float_element(0));
    }
    trainer.save(arguments[1]);
  } catch (const fc::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
