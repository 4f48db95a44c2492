#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/op/communicator.h"
#include "fluidcore/runtime/thread_group.h"

namespace fluidcore {

inline Communicator::Elements elements(std::vector<double>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size()), DType::kFloat64};
}

// Calls f(communicator) on a thread for each rank; gives what each threw, "" for nothing.
inline std::vector<std::string> on_ranks(int size,
                                         const std::function<void(Communicator&)>& f,
                                         double timeout = 60) {
  const auto ranks = thread_group(size, std::chrono::duration<double>(timeout));
  std::vector<std::string> errors(ranks.size());
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        f(*ranks[i]);
      } catch (const Error& error) {
        errors[i] = error.what();
        ranks[i]->fail(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace fluidcore
