#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/plan.h"

namespace fluidcore {

// Builds a program with blocks within blocks, and runs it.
class ProgramRunner {
 public:
  ProgramDesc& program() { return program_; }
  const NamedTensors& feeds() const { return feeds_; }

  // A variable of block 0 with a value.
  std::string feed(const std::string& name, const Tensor& value);
  std::string feed_bool(const std::string& name, const std::vector<bool>& values);
  std::string feed_int(const std::string& name, std::int64_t value);
  // A tensor array of which nothing is known yet.
  std::string array(const std::string& name, std::int64_t block = 0);
  // A tensor that an operator sets in every step.
  std::string given(const std::string& name, std::int64_t block, const TensorSpec& spec);
  std::int64_t new_block(std::int64_t around = 0) { return program_.append_block(around).idx(); }

  void add(OpDesc op, std::int64_t block = 0);
  // `out` = type(X=x), type(X=x, Y=y).
  void add(const std::string& type,
           const std::string& x,
           const std::string& out,
           std::int64_t block = 0);
  void add(const std::string& type,
           const std::string& x,
           const std::string& y,
           const std::string& out,
           std::int64_t block);
  void increment(const std::string& name, std::int64_t block, double step = 1.0);

  std::vector<Tensor> run(const std::vector<std::string>& fetches);
  // The elements of one variable after a run.
  std::vector<double> values(const std::string& name);

 private:
  ProgramDesc program_;
  NamedTensors feeds_;
};

}  // namespace fluidcore
