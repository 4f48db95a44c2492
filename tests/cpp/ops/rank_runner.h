#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/op/communicator.h"
#include "fluidcore/ops/register_ops.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/scope.h"
#include "fluidcore/runtime/thread_group.h"
#include "ops/program_runner.h"

namespace fluidcore {

// Runs a program that each rank builds for itself on as many threads; results, or errors, by rank.
struct RankRuns {
  using Build = std::function<std::string(ProgramRunner&, int rank)>;  // gives what is fetched

  explicit RankRuns(int size, const Build& build) : results(Count(size)), errors(Count(size)) {
    const auto ranks = thread_group(size, std::chrono::seconds(20));
    std::vector<std::thread> threads;
    for (const auto& communicator : ranks) {
      threads.emplace_back([&, communicator] {
        const auto rank = Count(communicator->rank());
        try {
          ProgramRunner runner;
          const std::string wanted = build(runner, communicator->rank());
          Executor executor(builtin_ops());
          Executor::Options options;
          options.communicator = communicator.get();
          results[rank] =
              executor.run(runner.program(), runner.feeds(), {wanted}, Scope::create(), options)[0];
        } catch (const Error& error) {
          errors[rank] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static std::size_t Count(int number) { return static_cast<std::size_t>(number); }

  std::vector<Tensor> results;
  std::vector<std::string> errors;
};

}  // namespace fluidcore
