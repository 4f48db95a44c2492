// Control flow and its gradient without Python: tests/python/backward/test_stored_program.py says
// what the program is, and that Python still writes it so.

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/ops/register_ops.h"
#include "fluidcore/program/program_desc.h"
#include "fluidcore/program/serialize.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"

namespace fluidcore {
namespace {

using testing::ElementsAre;

std::unique_ptr<ProgramDesc> stored(const std::string& name) {
  std::ifstream file(std::string(FLUIDCORE_TEST_DATA) + "/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return program_from_json(text.str());
}

class StoredProgram : public testing::Test {
 protected:
  // The loss and its slope by x: Σ c xⁿ⁺¹ with c = 10 where n > 2, else 1.
  std::vector<Tensor> run(std::int64_t n) {
    Tensor x({{2}, DType::kFloat32});
    x.data<float>()[0] = 2;
    x.data<float>()[1] = 3;
    Tensor steps({{1}, DType::kInt64});
    *steps.data<std::int64_t>() = n;
    return executor_.run(*program_, {{"x", x}, {"n", steps}}, {"reduce_sum_0.tmp_0", "x@GRAD"},
                         Scope::create(), options_);
  }
  static std::vector<float> values(const Tensor& tensor) {
    return {tensor.data<float>(), tensor.data<float>() + tensor.size()};
  }

  std::unique_ptr<ProgramDesc> program_ = stored("powers.json");
  Executor executor_{builtin_ops()};
  Executor::Options options_;
};

TEST_F(StoredProgram, HasTheGradientOfItsLoopAndBranch) {
  std::vector<Tensor> found = run(3);
  EXPECT_THAT(values(found[0]), ElementsAre(970));
  EXPECT_THAT(values(found[1]), ElementsAre(320, 1080));
  found = run(1);
  EXPECT_THAT(values(found[0]), ElementsAre(13));
  EXPECT_THAT(values(found[1]), ElementsAre(4, 6));
  found = run(0);
  EXPECT_THAT(values(found[0]), ElementsAre(5));
  EXPECT_THAT(values(found[1]), ElementsAre(1, 1));
}

TEST_F(StoredProgram, EndsWhenItIsInterrupted) {
  Interruption interruption;
  interruption.request();
  options_.interruption = &interruption;
  EXPECT_THROW(run(3), Interrupted);
}

}  // namespace
}  // namespace fluidcore
