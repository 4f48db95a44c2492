#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/base/error.h"
#include "fluidcore/base/strings.h"
#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/calculation.h"
#include "fluidcore/bindings/places.h"
#include "fluidcore/bindings/selected_rows.h"
#include "fluidcore/op/communicator.h"
#include "fluidcore/runtime/executor.h"
#include "fluidcore/runtime/plan.h"
#include "fluidcore/runtime/profile.h"
#include "fluidcore/runtime/scope.h"
#include "fluidcore/tensor/device_context.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

// With the place of its programs.
class PlacedExecutor : public Executor {
 public:
  PlacedExecutor(Device device, bool allow_cpu_fallback, bool waits)
      : Executor(process_ops()),
        device_(device),
        allow_cpu_fallback_(allow_cpu_fallback),
        waits_(waits) {
    device_context(device);  // throws where there is none
  }

  Options options() const {
    Options options;
    options.device = device_;
    options.allow_cpu_fallback = allow_cpu_fallback_;
    options.waits = waits_;
    return options;
  }

 private:
  Device device_;
  bool allow_cpu_fallback_;
  bool waits_;
};

// Tensors stay where they are.
NamedTensors feeds_of(const py::dict& feed) {
  NamedTensors feeds;
  feeds.reserve(feed.size());
  for (const auto& [key, value] : feed) {
    auto name = key.cast<std::string>();
    Tensor tensor = py::isinstance<TensorHandle>(value) ? value.cast<const TensorHandle&>().get()
                                                        : tensor_from_array(value, name);
    feeds.emplace_back(std::move(name), std::move(tensor));
  }
  return feeds;
}

// "Scope(fc_0.w_0, fc_0.b_0, and 3 more)"
std::string scope_text(const Scope& scope) {
  constexpr std::size_t kMost = 4;
  const std::vector<std::string> names = scope.local_var_names();
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size())));
  const std::string more =
      names.size() > kMost ? str_cat(", and ", names.size() - kMost, " more") : "";
  return str_cat("Scope(", join(first), more, ")");
}

py::list run(PlacedExecutor& executor,
             const ProgramDesc& program,
             const py::dict& feed,
             const std::vector<std::string>& fetch_list,
             const std::shared_ptr<Scope>& scope,
             int threads,
             bool check_nan,
             bool return_numpy,
             std::optional<double> timeout,
             std::optional<Profile*> profile,
             const std::vector<std::string>& skipped_passes,
             std::optional<Communicator*> communicator) {
  const NamedTensors feeds = feeds_of(feed);
  std::vector<Tensor> results;
  {
    Calculation calculation(timeout);
    Executor::Options options = executor.options();
    options.threads = threads;
    options.check_nan = check_nan;
    options.skipped_passes = skipped_passes;
    options.interruption = &calculation.interruption();
    options.profile = profile.value_or(nullptr);
    options.communicator = communicator.value_or(nullptr);
    results = executor.run(program, feeds, fetch_list, scope, options);
  }
  py::list list(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].spec().rows) {
      list[i] = SelectedRows(results[i].to_host());
    } else {
      list[i] = return_numpy ? tensor_to_array(results[i]) : py::cast(std::move(results[i]));
    }
  }
  return list;
}

// The events of a profile, and the type and note of each operator.
py::dict profile_content(const Profile& profile) {
  const Profile::Content content = profile.content();
  py::list operators;
  for (const Profile::Operator& op : content.operators) {
    operators.append(py::make_tuple(op.type, op.note));
  }
  py::list events;
  for (const Profile::Event& event : content.events) {
    events.append(py::make_tuple(event.op, event.thread, event.begin, event.duration, event.inside,
                                 event.bytes, event.flops));
  }
  py::list communications;
  for (const Profile::Communication& each : content.communications) {
    communications.append(py::make_tuple(each.label, each.begin, each.duration));
  }
  py::dict result;
  result["communications"] = std::move(communications);
  result["operators"] = std::move(operators);
  result["events"] = std::move(events);
  return result;
}

std::string listing(const PlacedExecutor& executor,
                    const ProgramDesc& program,
                    const py::dict& feed,
                    const std::vector<std::string>& fetch_list,
                    const std::shared_ptr<Scope>& scope,
                    const std::vector<std::string>& skipped_passes) {
  const Executor::Options options = executor.options();
  PlanRequest request{.feeds = {},
                      .fetches = fetch_list,
                      .device = options.device,
                      .allow_cpu_fallback = options.allow_cpu_fallback,
                      .skipped_passes = skipped_passes};
  for (const auto& [name, tensor] : feeds_of(feed)) {
    request.feeds.emplace_back(name, tensor.spec());
  }
  return Plan(process_ops(), program, std::move(request), *scope).listing();
}

// All of them as they are at one moment, none changed where there is no memory for all.
void move_to(Scope& scope, const py::object& place) {
  const Device device = device_of(place);
  for (const std::string& name : scope.local_var_names()) {
    TensorHandle(scope.var(name)).change([&](Tensor& tensor) {
      require(tensor.device() == device || !tensor.spec().rows, "scope: '", name,
              "' must be a tensor to be on another device, got selected rows");
      tensor = tensor.to(device);
    });
  }
}

// A scope as its parent, or None, and its tensors by name.
py::tuple scope_to_state(const Scope& scope) {
  const std::vector<std::string> names = scope.local_var_names();
  const std::vector<Tensor> values =
      calculate([&](Interruption& interruption) { return scope.snapshot(names, &interruption); });
  py::dict tensors;
  for (std::size_t i = 0; i < names.size(); ++i) tensors[py::str(names[i])] = py::cast(values[i]);
  return py::make_tuple(std::const_pointer_cast<Scope>(scope.parent()), std::move(tensors));
}

std::shared_ptr<Scope> scope_from_state(const py::tuple& state) {
  const auto parent = state[0].cast<std::shared_ptr<Scope>>();
  std::shared_ptr<Scope> scope = parent ? parent->new_scope() : Scope::create();
  for (const auto& [name, tensor] : state[1].cast<py::dict>()) {
    const auto value = tensor.cast<Tensor>();
    scope->var(name.cast<std::string>())->tensor() = value.is_initialized() ? value.clone() : value;
  }
  return scope;
}

}  // namespace

Device device_of(py::handle place) {
  if (place.is_none() || py::isinstance<CpuPlace>(place)) return {};
  if (py::isinstance<CudaPlace>(place)) return device_of(place.cast<const CudaPlace&>());
  throw InvalidArgument("place: must be CPUPlace() or CUDAPlace(i), got ",
                        py::repr(place).cast<std::string>());
}

void bind_runtime(py::module_& m) {
  m.attr("COMPILED_WITH_CUDA") = kHasCuda;
  m.def("get_cuda_device_count", &num_cuda_devices, "The number of GPUs that can be used.");
  py::class_<CpuPlace>(m, "CPUPlace", "The processor.")
      .def(py::init<>())
      .def(py::pickle([](const CpuPlace& /*place*/) { return py::tuple(); },
                      [](const py::tuple& /*state*/) { return CpuPlace(); }))
      .def("__repr__", [](const CpuPlace& /*place*/) { return "CPUPlace()"; });
  py::class_<CudaPlace>(m, "CUDAPlace", "A CUDA device.")
      .def(py::init([](int id) { return CudaPlace{id}; }), py::arg("id") = 0)
      .def(py::pickle([](const CudaPlace& place) { return py::make_tuple(place.id); },
                      [](const py::tuple& state) { return CudaPlace{state[0].cast<int>()}; }))
      .def_readonly("id", &CudaPlace::id, "Which GPU, from 0.")
      .def("__repr__", [](const CudaPlace& place) { return str_cat("CUDAPlace(", place.id, ")"); });

  py::class_<Variable, std::shared_ptr<Variable>> variable(m, "Variable",
                                                           "What a Scope holds under a name.");
  variable
      .def("get_tensor", [](const std::shared_ptr<Variable>& self) { return TensorHandle(self); })
      .def(
          "get_selected_rows",
          [](const std::shared_ptr<Variable>& self) {
            return SelectedRows(TensorHandle(self).get());
          },
          "A copy of the selected rows that it holds.");
  refuse_pickling(variable,
                  "a Variable of a Scope cannot be pickled or copied alone; pickle the Scope, or "
                  "the value, get_tensor()");
  py::class_<Scope, std::shared_ptr<Scope>>(m, "Scope",
                                            "Names -> variables that live between runs.")
      .def(py::init(&Scope::create))
      .def("var", py::overload_cast<const std::string&>(&Scope::var), py::arg("name"),
           "The variable here, created if there is none.")
      .def("find_var", py::overload_cast<std::string_view>(&Scope::find_var, py::const_),
           py::arg("name"), "The variable here or above, or None.")
      .def("new_scope", &Scope::new_scope, "A child of this scope.")
      .def("drop_kids", &Scope::drop_kids, "Empties the children.")
      .def("to", &move_to, py::arg("place"), "Moves what the variables here hold to another place.")
      .def(
          "snapshot",
          [](const Scope& scope, const std::vector<std::string>& names) {
            return calculate(
                [&](Interruption& interruption) { return scope.snapshot(names, &interruption); });
          },
          py::arg("names"),
          "Copies of the variables, here or above, all as they are between two runs.")
      .def("local_var_names", &Scope::local_var_names)
      .def(
          "erase",
          [](Scope& scope, const std::vector<std::string>& names) {
            for (const std::string& name : names) scope.erase(name);
          },
          py::arg("names"))
      .def("__repr__", &scope_text)
      .def(py::pickle(&scope_to_state, &scope_from_state));

  py::class_<Profile>(m, "Profile", "Which operators ran, and how long each took.")
      .def(py::init<>())
      .def("content", &profile_content,
           "`operators`: (type, note) of each; `events`: (operator, thread, begin, duration, "
           "inside, bytes, flops) in nanoseconds, where `inside` is the part of the duration that "
           "the operators of a block took; those of a block come before the operator that runs "
           "it; `communications`: (label, begin, duration).")
      .def(
          "add_communication",
          [](Profile& profile, const std::string& label, double seconds) {
            const auto taken = std::chrono::duration_cast<Profile::Clock::duration>(
                std::chrono::duration<double>(seconds));
            profile.add_communication(label, Profile::Clock::now() - taken, taken);
          },
          py::arg("label"), py::arg("seconds"),
          "Tells of a communication that has ended now, and took so long.");
  py::class_<PlacedExecutor> executor(m, "Executor",
                                      "Finds or builds the plan of a program, and runs it.");
  refuse_pickling(executor,
                  "an Executor cannot be pickled or copied, as it holds what is prepared for this "
                  "process; make a new one, Executor()");
  executor
      .def(py::init([](const py::object& place, bool allow_cpu_fallback, bool waits) {
             return std::make_unique<PlacedExecutor>(device_of(place), allow_cpu_fallback, waits);
           }),
           py::arg("place"), py::arg("allow_cpu_fallback") = false, py::arg("waits") = false)
      .def("run", &run, py::arg("program"), py::arg("feed"), py::arg("fetch_list"),
           py::arg("scope").none(false), py::arg("threads") = 1, py::arg("check_nan") = false,
           py::arg("return_numpy") = false, py::arg("timeout") = py::none(),
           py::arg("profile") = py::none(), py::arg("skipped_passes") = std::vector<std::string>(),
           py::arg("communicator") = py::none(),
           "Runs block 0, for `timeout` seconds at most; returns copies of the fetched variables.")
      .def("listing", &listing, py::arg("program"), py::arg("feed"), py::arg("fetch_list"),
           py::arg("scope").none(false), py::arg("skipped_passes") = std::vector<std::string>(),
           "The steps of the plan that a run would make, after all passes, as text.")
      .def(
          "next_state",
          [](PlacedExecutor& executor, const ProgramDesc& program) {
            const RunState state = executor.next_state(program);
            return std::pair(state.seed, state.step);
          },
          py::arg("program"), "The seed and the number of the program's next run.")
      .def(
          "set_next_state",
          [](PlacedExecutor& executor, const ProgramDesc& program, std::uint64_t seed,
             std::uint64_t step) { executor.set_next_state(program, {seed, step}); },
          py::arg("program"), py::arg("seed"), py::arg("step"),
          "Lets the program draw random numbers as in the run that next_state told of.")
      .def("close", &PlacedExecutor::close, "Forgets every plan.")
      .def("cached_plans", &PlacedExecutor::cached_plans);
}

}  // namespace fluidcore::bindings
