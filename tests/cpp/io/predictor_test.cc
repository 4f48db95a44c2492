#include "fluidcore/io/predictor.h"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fluidcore/io/files.h"
#include "fluidcore/io/trainer.h"
#include "fluidcore/program/serialize.h"
#include "io/example_model.h"

namespace fluidcore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Predictor, CalculatesWhatWasSaved) {
  const std::string folder = folder_of("predictor");
  save_model(example_model(), folder);
  const Predictor predictor(folder);
  EXPECT_THAT(predictor.feeds(), ElementsAre("x"));
  EXPECT_THAT(predictor.fetches(), ElementsAre("y"));
  for (const std::int64_t rows : {1, 4}) {
    const Tensor y = predictor.run({filled({rows, 2}, 3)})[0];
    EXPECT_EQ(y.shape(), (Shape{rows, 3}));
    EXPECT_EQ(y.data<float>()[0], 3.0F);
  }
}

TEST(Predictor, RunsInManyThreadsAsItselfAndAsClones) {
  const std::string folder = folder_of("threads");
  save_model(example_model(), folder);
  const Predictor predictor(folder);
  std::vector<float> results(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      const Predictor own = predictor.clone();
      const Predictor& used = i % 2 == 0 ? predictor : own;
      for (int run = 0; run < 50; ++run) {
        results[i] = used.run({filled({1, 2}, static_cast<float>(i))})[0].data<float>()[0];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Predictor, RefusesAnotherNumberOfValues) {
  const std::string folder = folder_of("values");
  save_model(example_model(), folder);
  const Predictor predictor(folder);
  EXPECT_THAT([&] { predictor.run({}); },
              ThrowsMessage<InvalidArgument>("run: there must be a value of each of x, got 0"));
}

TEST(Trainer, GoesOnWhereItWasSaved) {
  const std::string folder = folder_of("trainer");
  save_model(example_model(true), folder);
  Trainer trainer(folder);
  EXPECT_EQ(trainer.step({filled({1, 2}, 1)})[0].data<float>()[0], 1.0F);
  trainer.save(folder);
  Trainer next(folder);
  for (Trainer* each : {&trainer, &next}) {
    EXPECT_EQ(each->step({filled({1, 2}, 1)})[0].data<float>()[0], 0.5F);
  }
  EXPECT_EQ(next.model().metadata.at("random_runs"), "1");
}

TEST(Trainer, RefusesAModelThatIsNoTraining) {
  const std::string folder = folder_of("inference");
  save_model(example_model(), folder);
  EXPECT_THAT([&] { Trainer trainer(folder); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must come from save_training_model")));
}

TEST(SavedModel, RefusesFilesOfDifferentSaves) {
  const std::string folder = folder_of("pair");
  save_model(example_model(), folder);
  write_file(folder + "/program.json", to_json(*example_model(true).program));
  EXPECT_THAT([&] { Predictor predictor(folder); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must come from the same save")));
}

TEST(SavedModel, IsFoundBesideTheOneBeforeAfterACrash) {
  const std::string folder = folder_of("crash");
  save_model(example_model(), folder);
  write_file(folder + "/before", to_json(*example_model(true).program));
  std::filesystem::rename(folder + "/program.json", folder + "/program.json.new");
  std::filesystem::rename(folder + "/before", folder + "/program.json");
  EXPECT_EQ(Predictor(folder).run({filled({1, 2}, 1)})[0].data<float>()[0], 1.0F);
}

TEST(SavedModel, NamesTheOperatorsThatAreNotDefined) {
  const std::string folder = folder_of("operators");
  save_model(example_model(), folder);
  const OpRegistry empty;
  EXPECT_THAT([&] { Predictor predictor(folder, 1, empty); },
              ThrowsMessage<NotFound>(HasSubstr("must be defined, got no mul")));
}

TEST(SavedModel, RefusesAValueThatDoesNotFitItsVariable) {
  const std::string folder = folder_of("value");
  SavedModel wrong = example_model();
  wrong.scope->var("w")->tensor() = filled({3, 3}, 0.5F);
  save_model(wrong, folder);
  EXPECT_THAT([&] { Predictor predictor(folder); },
              ThrowsMessage<InvalidArgument>(HasSubstr("load: 'w' must be float32 [2, 3], got")));
}

}  // namespace
}  // namespace fluidcore
