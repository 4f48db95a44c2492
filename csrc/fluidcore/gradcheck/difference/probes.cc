#include "fluidcore/gradcheck/difference/probes.h"

#include "fluidcore/base/threads.h"
#include "fluidcore/gradcheck/difference/along.h"
#include "fluidcore/gradcheck/difference/differentiate.h"
#include "fluidcore/gradcheck/function/workers.h"

namespace fluidcore::gradcheck {

std::vector<Derivatives> differentiate_probes(Function& function,
                                              std::size_t input,
                                              const std::vector<Probe>& probes,
                                              const ProbeOptions& options) {
  floating_input(function, input);
  const auto count = static_cast<std::int64_t>(probes.size());
  if (count == 0) return {};
  const Workers threads(function, input, options.workers, count);
  std::vector<Derivatives> found(probes.size());
  threads.run(count, 1, [&](std::size_t worker, std::int64_t begin, std::int64_t end) {
    Function& own = threads.function(worker);
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const Probe& probe = probes[i];
      Directions directions(own.inputs().size());
      directions[input] = probe.direction;
      found[i] = differentiate_along(own, directions, {{probe.cotangent}, options.noise},
                                     probe.traces, num_threads(), options.approach);
    }
  });
  return found;
}

}  // namespace fluidcore::gradcheck
