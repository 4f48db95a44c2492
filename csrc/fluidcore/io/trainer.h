#pragma once

#include <string>
#include <vector>

#include "fluidcore/io/saved_model.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"

namespace fluidcore {

// A training that fluid.io.save_training_model wrote, ready to go on, to the same bits as in
// Python:
//
//   Trainer trainer("training");
//   const float loss = trainer.step({images, labels})[0].data<float>()[0];
//   trainer.save("training");
class Trainer {
 public:
  // Throws what load_saved_model() throws. `ops` must outlive it.
  explicit Trainer(const std::string& folder,
                   int threads = 1,
                   const OpRegistry& ops = builtin_ops());

  const std::vector<std::string>& feeds() const { return model_.feeds; }
  const std::vector<std::string>& fetches() const { return model_.fetches; }
  const SavedModel& model() const { return model_; }

  // One run of the program: what is fetched, for a value of each feed, both in their order. Throws
  // InvalidArgument for another number of values, and what Executor::run() throws; then nothing has
  // changed.
  std::vector<Tensor> step(const std::vector<Tensor>& values);

  // Writes all that the next steps depend on, for a Trainer or for fluid.io.load_training_model.
  void save(const std::string& folder);

 private:
  SavedModel model_;
  int threads_;
  Executor executor_;
};

}  // namespace fluidcore
