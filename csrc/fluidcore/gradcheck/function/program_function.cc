#include "fluidcore/gradcheck/function/program_function.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fluidcore/gradcheck/function/replay.h"
#include "fluidcore/gradcheck/function/slice.h"

namespace fluidcore::gradcheck {

namespace {

constexpr int kMaxThreads = 1024;

std::vector<std::string> names_of(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

void check_distinct(std::vector<std::string> names, std::string_view what) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  require(twice == names.end(), "program function: every ", what, " must be given once, got '",
          twice == names.end() ? "" : *twice, "' twice");
}

const Tensor& find(const NamedTensors& feeds, const std::string& name) {
  const auto found = std::find_if(feeds.begin(), feeds.end(),
                                  [&](const auto& feed) { return feed.first == name; });
  if (found != feeds.end()) return found->second;
  const std::string near = nearest(name, names_of(feeds));
  throw NotFound("program function: input '", name, "' must be one of the feeds",
                 near.empty() ? "" : "; did you mean '" + near + "'?");
}

// A copy in which nothing lives in a scope: what is fed may be written then, and what is written
// ends with the run.
std::shared_ptr<const ProgramDesc> without_scope(const ProgramDesc& program) {
  std::unique_ptr<ProgramDesc> copy = program.clone();
  BlockDesc& main = copy->block(0);
  for (std::size_t i = 0; i < copy->num_blocks(); ++i) {
    BlockDesc& block = copy->block(static_cast<std::int64_t>(i));
    std::vector<std::string> moved;
    for (const auto& var : block.vars()) {
      if (!var->persistable()) continue;
      var->set_persistable(false);
      if (i > 0) moved.push_back(var->name());
    }
    // Wherever it is declared, what lives in the scope belongs to block 0.
    for (const std::string& name : moved) {
      const BlockDesc::VarPtr var = block.find_var(name);
      block.remove_vars({name});
      if (main.find_var(name)) continue;
      main.var(name)->set_shape(var->shape());
      main.var(name)->set_dtype(var->dtype());
      main.var(name)->set_type(var->type());
    }
  }
  return copy;
}

}  // namespace

struct ProgramFunction::Problem {
  const OpRegistry& ops;
  std::shared_ptr<const ProgramDesc> program;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  RunState state;
  std::optional<std::size_t> only;  // the program is what depends on this input
};

ProgramFunction::ProgramFunction(const OpRegistry& ops,
                                 const ProgramDesc& program,
                                 NamedTensors feeds,
                                 std::vector<std::string> inputs,
                                 std::vector<std::string> outputs,
                                 std::uint64_t seed,
                                 int threads)
    : threads_(threads) {
  require(threads >= 1 && threads <= kMaxThreads,
          "program function: threads must be at least 1 and at most ", kMaxThreads, ", got ",
          threads);
  require(!outputs.empty(), "program function: outputs must name a variable, got none");
  check_distinct(names_of(feeds), "feed");
  check_distinct(inputs, "input");
  for (const std::string& name : inputs) {
    const DType dtype = find(feeds, name).dtype();
    require(is_floating(dtype), "program function: input '", name, "' must be floating, got ",
            dtype);
  }
  for (auto& [name, tensor] : feeds) {
    require(tensor.is_initialized(), "feed: '", name, "' must hold a value, got an empty tensor");
    tensor = tensor.clone();
  }
  const RunState state{.seed = seed != 0 ? seed : program.random_seed()};
  problem_ = std::make_shared<const Problem>(
      Problem{ops, without_scope(program), std::move(inputs), std::move(outputs), state, {}});
  feeds_ = std::move(feeds);
  for (const std::string& name : problem_->inputs) inputs_.push_back(find(feeds_, name));
  replay_ = replay(problem_->program, feeds_, problem_->outputs);
}

ProgramFunction::ProgramFunction(std::shared_ptr<const Problem> problem,
                                 int threads,
                                 NamedTensors feeds,
                                 std::optional<std::size_t> only)
    : problem_(std::move(problem)), threads_(threads), feeds_(std::move(feeds)) {
  for (std::size_t k = 0; k < problem_->inputs.size(); ++k) {
    for (auto& [fed, tensor] : feeds_) {
      if (fed != problem_->inputs[k]) continue;
      if (!only || *only == k) tensor = tensor.clone();
      inputs_.push_back(tensor);
    }
  }
}

ProgramFunction::~ProgramFunction() = default;

const std::vector<Tensor>& ProgramFunction::run() {
  const std::vector<Tensor>& results = replay_->run(interruption());
  for (std::size_t i = 0; i < results.size(); ++i) {
    require(is_floating(results[i].dtype()), "program function: output '", problem_->outputs[i],
            "' must be floating, got ", results[i].dtype(), "; cast it");
  }
  return results;
}

std::unique_ptr<Function> ProgramFunction::fork(std::optional<std::size_t> only) const {
  require(!only || *only < inputs_.size(), "program function: only must name one of ",
          inputs_.size(), " inputs, got ", only.value_or(0));
  std::unique_ptr<ProgramFunction> copy(new ProgramFunction(problem_, threads_, feeds_, only));
  copy->set_interruption(interruption());
  if (only && problem_->only != only) copy->slice_for(*only);
  copy->replay_ = copy->replay(copy->problem_->program, copy->feeds_, problem_->outputs);
  return copy;
}

void ProgramFunction::use_threads(int count) {
  if (count == threads_) return;
  threads_ = count;
  replay_ = replay(problem_->program, feeds_, problem_->outputs);
}

void ProgramFunction::slice_for(std::size_t only) {
  const std::vector<std::string> fed = names_of(feeds_);
  Slice part = slice(problem_->ops, *problem_->program, {fed.begin(), fed.end()},
                     problem_->inputs[only], problem_->outputs);
  Problem sliced = *problem_;
  sliced.only = only;
  NamedTensors feeds = feeds_;
  if (part.program && add_calculated(part, feeds)) {
    sliced.program = std::move(part.program);
    feeds_ = std::move(feeds);
  }
  problem_ = std::make_shared<const Problem>(std::move(sliced));
}

// False where they cannot be fed: a variable has no value, because a block that does not run is the
// only reader, or it holds selected rows.
bool ProgramFunction::add_calculated(Slice& part, NamedTensors& feeds) const {
  try {
    const auto whole = replay(problem_->program, feeds_, part.calculated);
    const std::vector<Tensor>& values = whole->run(interruption());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& name = part.calculated[i];
      const auto var = part.program->block(0).var(name);
      if (var->type() == VarType::kSelectedRows) return false;  // they cannot be fed
      var->set_shape(values[i].shape());
      var->set_dtype(values[i].dtype());
      std::erase_if(feeds, [&](const auto& feed) { return feed.first == name; });
      feeds.emplace_back(name, values[i]);
    }
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::unique_ptr<Replay> ProgramFunction::replay(std::shared_ptr<const ProgramDesc> program,
                                                NamedTensors feeds,
                                                std::vector<std::string> fetches) const {
  return std::make_unique<Replay>(problem_->ops, std::move(program), std::move(feeds),
                                  std::move(fetches), problem_->state, threads_);
}

}  // namespace fluidcore::gradcheck
