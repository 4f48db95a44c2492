#include "fluidcore/io/trainer.h"

#include <charconv>
#include <cstdint>

#include "fluidcore/base/error.h"
#include "fluidcore/io/predictor.h"

namespace fluidcore {

namespace {

constexpr const char* kSeed = "random_seed";
constexpr const char* kRuns = "random_runs";

std::uint64_t number_of(const SavedModel& model, const char* key) {
  const auto found = model.metadata.find(key);
  require(found != model.metadata.end(), "load: a training must come from save_training_model, ",
          "got a model without ", key);
  const std::string& text = found->second;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc() && end == text.data() + text.size(), "load: ", key,
          " must be a whole number below 2^64, got '", text, "'");
  return number;
}

}  // namespace

Trainer::Trainer(const std::string& folder, int threads, const OpRegistry& ops)
    : model_(load_saved_model(folder, ops)), threads_(threads), executor_(ops) {
  executor_.set_next_state(*model_.program, {number_of(model_, kSeed), number_of(model_, kRuns)});
}

std::vector<Tensor> Trainer::step(const std::vector<Tensor>& values) {
  return executor_.run(*model_.program, named_feeds(model_.feeds, values), model_.fetches,
                       model_.scope, {.threads = threads_});
}

void Trainer::save(const std::string& folder) {
  const RunState next = executor_.next_state(*model_.program);
  model_.metadata[kSeed] = std::to_string(next.seed);
  model_.metadata[kRuns] = std::to_string(next.step);
  save_model(model_, folder);
}

}  // namespace fluidcore
