#include "fluidcore/runtime/passes/prune.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "fluidcore/base/strings.h"

namespace fluidcore {

std::string describe(const Step& step) {
  const std::string& site = step.op.call_site();
  return str_cat("operator ", step.index, " of block 0 (", step.op.type(), ")",
                 site.empty() ? "" : ", added at " + site);
}

Steps prune(Steps steps,
            const std::vector<std::string>& fetches,
            const std::function<bool(const std::string&)>& is_persistable) {
  std::unordered_set<std::string> needed(fetches.begin(), fetches.end());
  Steps kept;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const std::vector<std::string> outputs = step->op.output_arg_names();
    const bool wanted = std::any_of(outputs.begin(), outputs.end(), [&](const std::string& name) {
      return needed.contains(name) || is_persistable(name);
    });
    if (!wanted) continue;
    // What is written here and not read here need not be calculated before.
    for (const std::string& name : outputs) needed.erase(name);
    for (std::string& name : step->op.input_arg_names()) needed.insert(std::move(name));
    kept.push_back(std::move(*step));
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace fluidcore
