#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fluidcore/io/saved_model.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"

namespace fluidcore {

// A model that fluid.io.save_inference_model wrote, ready to run:
//
//   const Predictor predictor("model");
//   const Tensor logits = predictor.run({images})[0];
//
// Any number of threads may run one at a time. Clones share the weights; each keeps its own plans
// and memory, so that threads do not wait for those of each other.
class Predictor {
 public:
  // Throws what load_saved_model() throws. `ops` must outlive it.
  explicit Predictor(const std::string& folder,
                     int threads = 1,
                     const OpRegistry& ops = builtin_ops());
  Predictor clone() const { return {model_, threads_, ops_}; }

  const std::vector<std::string>& feeds() const { return model_->feeds; }
  const std::vector<std::string>& fetches() const { return model_->fetches; }

  // What is fetched, for a value of each feed, both in their order. Throws InvalidArgument for
  // another number of values, and what Executor::run() throws.
  std::vector<Tensor> run(const std::vector<Tensor>& values) const;

 private:
  Predictor(std::shared_ptr<const SavedModel> model, int threads, const OpRegistry& ops);

  std::shared_ptr<const SavedModel> model_;
  int threads_;
  const OpRegistry& ops_;
  std::unique_ptr<Executor> executor_;
};

// A value of each of the feeds, for Executor::run(). Throws InvalidArgument for another number.
NamedTensors named_feeds(const std::vector<std::string>& feeds, const std::vector<Tensor>& values);

}  // namespace fluidcore
