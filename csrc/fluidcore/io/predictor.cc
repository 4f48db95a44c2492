#include "fluidcore/io/predictor.h"

#include <cstddef>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"

namespace fluidcore {

NamedTensors named_feeds(const std::vector<std::string>& feeds, const std::vector<Tensor>& values) {
  require(values.size() == feeds.size(), "run: there must be a value of each of ", join(feeds),
          ", got ", values.size());
  NamedTensors named;
  for (std::size_t i = 0; i < feeds.size(); ++i) named.emplace_back(feeds[i], values[i]);
  return named;
}

Predictor::Predictor(const std::string& folder, int threads, const OpRegistry& ops)
    : Predictor(std::make_shared<const SavedModel>(load_saved_model(folder, ops)), threads, ops) {
}

Predictor::Predictor(std::shared_ptr<const SavedModel> model, int threads, const OpRegistry& ops)
    : model_(std::move(model)),
      threads_(threads),
      ops_(ops),
      executor_(std::make_unique<Executor>(ops)) {
}

std::vector<Tensor> Predictor::run(const std::vector<Tensor>& values) const {
  return executor_->run(*model_->program, named_feeds(model_->feeds, values), model_->fetches,
                        model_->scope, {.threads = threads_});
}

}  // namespace fluidcore
