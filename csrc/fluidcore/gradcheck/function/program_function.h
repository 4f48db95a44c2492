#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/op/op_registry.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/runtime/plan.h"

namespace fluidcore::gradcheck {

class Replay;
struct Slice;

// What a program calculates, as a function of some of the values that it is fed.
//
//   ProgramFunction f(builtin_ops(), program, {{"x", x}, {"w", w}}, {"w"}, {"loss"});
//   f.inputs()[0].set_float_element(0, 1.5);
//   const double loss = f.run()[0].get_float_element(0);
//
// Every value is fed, parameters and other persistable variables too: a run reads no scope and
// changes nothing. What operators write to a fed variable (an optimizer to a parameter, batch_norm
// to its running mean) holds for the rest of that run; the next one begins with the fed values.
// Random operators draw the same numbers in every run. The program and the values are copied.
class ProgramFunction final : public Function {
 public:
  // `inputs` are names of feeds. `seed` is that of random operators without one of their own; 0:
  // the program's. `ops` must live as long as this and its forks. Throws what Plan throws;
  // NotFound for an input that is not fed; InvalidArgument for a name that is given twice, an
  // input or an output that is not floating, no output, a number of threads that cannot be.
  ProgramFunction(const OpRegistry& ops,
                  const ProgramDesc& program,
                  NamedTensors feeds,
                  std::vector<std::string> inputs,
                  std::vector<std::string> outputs,
                  std::uint64_t seed = 0,
                  int threads = 1);
  ~ProgramFunction() override;

  const std::vector<Tensor>& inputs() const override { return inputs_; }

  // Throws what Executor::run throws, and InvalidArgument for an output that is not floating.
  const std::vector<Tensor>& run() override;

  // With `only`, the fork runs the operators that depend on that input and takes the rest from one
  // run of all of them, now; so do its own forks, without another run.
  std::unique_ptr<Function> fork(std::optional<std::size_t> only) const override;

  void use_threads(int count) override;

 private:
  struct Problem;  // what forks share

  ProgramFunction(std::shared_ptr<const Problem> problem,
                  int threads,
                  NamedTensors feeds,
                  std::optional<std::size_t> only);
  void slice_for(std::size_t only);
  bool add_calculated(Slice& part, NamedTensors& feeds) const;
  std::unique_ptr<Replay> replay(std::shared_ptr<const ProgramDesc> program,
                                 NamedTensors feeds,
                                 std::vector<std::string> fetches) const;

  std::shared_ptr<const Problem> problem_;
  int threads_;
  NamedTensors feeds_;  // of the whole program; those of the inputs share the memory of inputs_
  std::vector<Tensor> inputs_;
  std::unique_ptr<Replay> replay_;
};

}  // namespace fluidcore::gradcheck
