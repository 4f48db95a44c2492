#include "fluidcore/io/saved_model.h"

#include <set>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/io/files.h"
#include "fluidcore/io/safetensors.h"
#include "fluidcore/io/sha256.h"
#include "fluidcore/program/json_node.h"
#include "fluidcore/program/serialize.h"

namespace fluidcore {

namespace {

constexpr const char* kProgramFile = "/program.json";
constexpr const char* kValuesFile = "/params.safetensors";
constexpr const char* kHash = "program_sha256";

std::vector<std::string> names_of(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  require(found != file.metadata.end(), "load: ", kValuesFile + 1, " must name what is ", key,
          ", as save_inference_model writes it, got a file that does not");
  return JsonNode(parse_json(found->second, 1)).list(&JsonNode::string);
}

// The program that the values belong to: after a crash it may lie beside the one before it.
std::string program_text(const std::string& folder, const std::string& hash) {
  const std::string path = folder + kProgramFile;
  for (const std::string& candidate : {path, path + ".new"}) {
    if (!file_size(candidate)) continue;
    std::string text = read_file(candidate);
    if (sha256(text) == hash) return text;
  }
  if (!file_size(path)) throw NotFound("load: no file ", path);
  throw InvalidArgument("load: the two files of ", folder,
                        " must come from the same save, got files that do not belong together; "
                        "save the model again");
}

void check_operators(const ProgramDesc& program, const OpRegistry& ops, const std::string& folder) {
  std::set<std::string> unknown;
  for (std::size_t i = 0; i < program.num_blocks(); ++i) {
    for (const auto& op : program.block(static_cast<std::int64_t>(i)).ops()) {
      if (ops.find(op->type()) == nullptr) unknown.insert(op->type());
    }
  }
  if (unknown.empty()) return;
  throw NotFound("load: the operators of ", folder, " must be defined, got no ",
                 join(std::vector<std::string>(unknown.begin(), unknown.end())),
                 "; load their library first, load_op_library()");
}

void set_values(const ProgramDesc& program, TensorFile& file, Scope& scope) {
  for (const auto& var : program.block(0).vars()) {
    if (!var->persistable()) continue;
    const std::string& name = var->name();
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end()) throw NotFound("load: no value of '", name, "'");
    const TensorSpec& spec = found->second.spec();
    require(spec.dtype == var->dtype() && compatible(spec.shape, var->shape()), "load: '", name,
            "' must be ", var->dtype(), " ", var->shape(), ", got ", spec.dtype, " ", spec.shape);
    scope.var(name)->tensor() = std::move(found->second);
  }
}

}  // namespace

SavedModel load_saved_model(const std::string& folder, const OpRegistry& ops) {
  TensorFile file = read_tensors(folder + kValuesFile);
  SavedModel model;
  model.feeds = names_of(file, "feed");
  model.fetches = names_of(file, "fetch");
  model.program = program_from_json(program_text(folder, file.metadata[kHash]));
  check_operators(*model.program, ops, folder);
  model.scope = Scope::create();
  set_values(*model.program, file, *model.scope);
  model.metadata = std::move(file.metadata);
  return model;
}

void save_model(const SavedModel& model, const std::string& folder) {
  const std::string text = to_json(*model.program);
  TensorFile file{{}, model.metadata};
  file.metadata[kHash] = sha256(text);
  for (const auto& var : model.program->block(0).vars()) {
    if (!var->persistable()) continue;
    file.tensors.emplace(var->name(), model.scope->snapshot({var->name()}).front());
  }
  make_folder(folder);
  // The values name their program: what is written first is found by nobody else.
  write_file(folder + kProgramFile + ".new", text);
  write_tensors(folder + kValuesFile, file);
  move_file(folder + kProgramFile + ".new", folder + kProgramFile);
}

}  // namespace fluidcore
