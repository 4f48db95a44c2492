#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

#include "fluidcore/base/error.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/tensor/scratch.h"

namespace fluidcore::onednn {

// oneDNN primitives that run one after the other on the memory of one call:
//
//   Pipeline pipeline;
//   const dnnl::memory in = pipeline.external(in_desc), out = pipeline.external(out_desc);
//   pipeline.add(softmax, scratchpad_desc, {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, out}});
//   pipeline.run({x, y});   // the addresses of the external memories, in order
//
// Runs with the number of threads that num_threads() gave when it was made; primitives are prepared
// for that number, so make them while it holds. run() allocates nothing.
//
// Temporaries and scratchpads are in `scratch`, which other pipelines may use when this one does
// not run; without it the pipeline has memory of its own.
class Pipeline {
 public:
  explicit Pipeline(ScratchPtr scratch = nullptr);

  const dnnl::engine& engine() const { return engine_; }

  dnnl::memory external(const dnnl::memory::desc& desc);
  dnnl::memory temporary(const dnnl::memory::desc& desc);

  void add(const dnnl::primitive& primitive,
           const dnnl::memory::desc& scratchpad,
           const std::vector<std::pair<int, dnnl::memory>>& arguments);

  // `memory` in the layout `wanted`: itself if it has it, else a copy that the pipeline makes at
  // this point.
  dnnl::memory converted(const dnnl::memory& memory, const dnnl::memory::desc& wanted);
  // The same of weights: a copy that stays, and is made again when their version has changed.
  dnnl::memory kept(const dnnl::memory& weights, const dnnl::memory::desc& wanted);
  void copy(const dnnl::memory& from, const dnnl::memory& to);

  void run(std::initializer_list<const void*> addresses, std::uint64_t version = 0);

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl::memory> memories;  // keeps alive what `arguments` names
    std::vector<dnnl_exec_arg_t> arguments;
    bool is_of_weights = false;
  };

  // Memory at an offset of the scratch memory.
  struct Placed {
    dnnl::memory memory;
    std::size_t offset;
  };

  dnnl::memory place(const dnnl::memory::desc& desc, std::size_t offset);
  void point_to_scratch();

  dnnl::engine engine_;
  dnnl::stream stream_;
  int threads_;
  bool owns_scratch_;
  ScratchPtr scratch_;
  std::vector<Placed> placed_;
  std::size_t end_ = 0;                 // of the temporaries
  const std::byte* pointed_ = nullptr;  // where the scratch memory was in the last run
  std::vector<dnnl::memory> externals_;
  std::vector<Step> steps_;
  std::uint64_t version_ = 0;  // of the weights in the last run
};

// The attributes of every primitive here: its scratchpad belongs to the pipeline.
dnnl::primitive_attr with_scratchpad();

// How many floating-point operations (or elements moved, times some) are worth a second thread.
inline constexpr double kParallelWork = 3e6;

// Calls make() for a problem of so many operations, with one thread unless they are worth more.
// What oneDNN has no implementation for becomes an empty result; other failures throw Error.
template <class Make>
auto prepare(std::string_view what, double work, const Make& make) -> decltype(make()) {
  const ThreadCountScope scope(work < kParallelWork ? 1 : num_threads());
  try {
    return make();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return {};
    throw Error(what, ": oneDNN must be able to prepare it, got its status ",
                static_cast<int>(error.status), ", ", error.message);
  }
}

}  // namespace fluidcore::onednn
