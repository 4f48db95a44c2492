#include "fluidcore/io/c_api.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluidcore/base/error.h"
#include "fluidcore/io/predictor.h"

using fluidcore::DType;
using fluidcore::Predictor;
using fluidcore::require;
using fluidcore::Shape;
using fluidcore::Tensor;

struct fluidcore_predictor {
  Predictor predictor;
  std::vector<Tensor> results;
};

namespace {

void set_error(std::string_view text, char* error, std::size_t size) {
  if (error == nullptr || size == 0) return;
  const std::size_t count = std::min(text.size(), size - 1);
  std::memcpy(error, text.data(), count);
  error[count] = '\0';
}

// 0, or 1 and what f throws. No exception may leave C++.
template <class F>
int guarded(char* error, std::size_t size, const F& f) {
  try {
    f();
    return 0;
  } catch (const std::exception& failure) {
    set_error(failure.what(), error, size);
  } catch (...) {
    set_error("fluidcore: must not fail, got an unknown exception", error, size);
  }
  return 1;
}

const char* name_at(const std::vector<std::string>& names, std::size_t index) {
  return index < names.size() ? names[index].c_str() : nullptr;
}

Tensor tensor_of(const fluidcore_tensor& tensor) {
  require(tensor.rank >= 0 && tensor.rank <= FLUIDCORE_MAX_RANK, "run: rank must be 0 to ",
          static_cast<int>(FLUIDCORE_MAX_RANK), ", got ", tensor.rank);
  const DType dtype = fluidcore::dtype_from_number(tensor.dtype);
  const fluidcore::TensorSpec spec{Shape({tensor.shape, tensor.shape + tensor.rank}), dtype};
  require(tensor.data != nullptr || byte_size(spec) == 0, "run: data must be there, got NULL");
  // The caller keeps the memory while the model runs.
  return {spec, tensor.data, std::shared_ptr<void>(tensor.data, [](void* /*data*/) {})};
}

fluidcore_tensor shown(const Tensor& tensor) {
  const std::vector<std::int64_t>& extents = tensor.shape().extents();
  require(extents.size() <= FLUIDCORE_MAX_RANK, "run: results must have a rank of at most ",
          static_cast<int>(FLUIDCORE_MAX_RANK), ", got ", extents.size());
  fluidcore_tensor result{tensor.raw(),
                          static_cast<std::int64_t>(tensor.dtype()),
                          static_cast<std::int64_t>(extents.size()),
                          {}};
  std::copy(extents.begin(), extents.end(), result.shape);
  return result;
}

}  // namespace

int fluidcore_predictor_open(const char* folder,
                             int threads,
                             fluidcore_predictor** predictor,
                             char* error,
                             std::size_t error_size) {
  return guarded(error, error_size,
                 [&] { *predictor = new fluidcore_predictor{Predictor(folder, threads), {}}; });
}

int fluidcore_predictor_clone(const fluidcore_predictor* predictor,
                              fluidcore_predictor** clone,
                              char* error,
                              std::size_t error_size) {
  return guarded(error, error_size,
                 [&] { *clone = new fluidcore_predictor{predictor->predictor.clone(), {}}; });
}

void fluidcore_predictor_close(fluidcore_predictor* predictor) {
  delete predictor;
}

std::size_t fluidcore_predictor_feeds(const fluidcore_predictor* predictor) {
  return predictor->predictor.feeds().size();
}

std::size_t fluidcore_predictor_fetches(const fluidcore_predictor* predictor) {
  return predictor->predictor.fetches().size();
}

const char* fluidcore_predictor_feed(const fluidcore_predictor* predictor, std::size_t index) {
  return name_at(predictor->predictor.feeds(), index);
}

const char* fluidcore_predictor_fetch(const fluidcore_predictor* predictor, std::size_t index) {
  return name_at(predictor->predictor.fetches(), index);
}

int fluidcore_predictor_run(fluidcore_predictor* predictor,
                            const fluidcore_tensor* inputs,
                            std::size_t input_count,
                            fluidcore_tensor* outputs,
                            std::size_t output_count,
                            char* error,
                            std::size_t error_size) {
  return guarded(error, error_size, [&] {
    std::vector<Tensor> values;
    std::transform(inputs, inputs + input_count, std::back_inserter(values), tensor_of);
    const std::size_t fetched = predictor->predictor.fetches().size();
    require(output_count == fetched, "run: there must be room for each of ", fetched,
            " results, got ", output_count);
    std::vector<Tensor> results = predictor->predictor.run(values);
    std::vector<fluidcore_tensor> views(results.size());
    std::ranges::transform(results, views.begin(), shown);
    predictor->results = std::move(results);
    std::ranges::copy(views, outputs);
  });
}
