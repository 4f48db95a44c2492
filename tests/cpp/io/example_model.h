#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "fluidcore/io/saved_model.h"
#include "fluidcore/op/infer.h"
#include "fluidcore/ops/register_ops.h"

namespace fluidcore {

inline Tensor filled(Shape shape, float value) {
  Tensor tensor({std::move(shape), DType::kFloat32});
  std::fill_n(tensor.data<float>(), tensor.size(), value);
  return tensor;
}

inline void add(ProgramDesc& program, OpDesc op) {
  add_op(builtin_ops(), program, 0, program.block(0).ops().size(), std::move(op));
}

// y = x w, and with `trains` also w = 0.5 w.
inline SavedModel example_model(bool trains = false) {
  SavedModel model{std::make_unique<ProgramDesc>(), Scope::create(), {"x"}, {"y"}, {}};
  BlockDesc& block = model.program->block(0);
  block.var("x")->set_shape({-1, 2});
  block.var("w")->set_shape({2, 3});
  block.var("w")->set_persistable(true);
  block.var("y");
  add(*model.program, OpDesc("mul", {{"X", {"x"}}, {"Y", {"w"}}}, {{"Out", {"y"}}}));
  if (trains) {
    add(*model.program, OpDesc("scale", {{"X", {"w"}}}, {{"Out", {"w"}}}, {{"scale", 0.5}}));
    model.metadata = {{"random_seed", "7"}, {"random_runs", "0"}};
  }
  model.metadata["feed"] = R"(["x"])";
  model.metadata["fetch"] = R"(["y"])";
  model.scope->var("w")->tensor() = filled({2, 3}, 0.5F);
  return model;
}

// An empty folder of this process alone.
inline std::string folder_of(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("fluidcore_io_" + std::to_string(getpid()) + "_" + name);
  std::filesystem::remove_all(folder);
  return folder.string();
}

}  // namespace fluidcore
