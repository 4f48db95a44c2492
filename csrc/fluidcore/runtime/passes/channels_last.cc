#include "fluidcore/runtime/passes/channels_last.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include "fluidcore/op/op_registry.h"
#include "fluidcore/program/block_desc.h"

namespace fluidcore {

namespace {

std::string twin_of(const std::string& name) {
  return name + "@NHWC";
}

class LayoutPass {
 public:
  LayoutPass(const BlockDesc& block, const OpRegistry& ops) : block_(block), ops_(ops) {}

  Steps run(Steps steps, const std::vector<std::string>& fetches) {
    for (Step& step : steps) {
      const std::vector<std::string> images = images_of(step);
      if (!images.empty()) {
        convert(step, images);
      } else {
        keep(step);
      }
      result_.push_back(std::move(step));
    }
    if (!result_.empty()) {
      const Step last = result_.back();
      for (const std::string& name : fetches) restore(name, last);
    }
    return std::move(result_);
  }

 private:
  // Where the newest value of an image is that has a twin.
  struct Twin {
    bool is_only = false;  // it is not in the variable itself
  };

  // Empty for what is no tensor.
  std::optional<Shape> shape_of(const std::string& name) const {
    const auto var = block_.find_var(name);
    return var && var->type() == VarType::kTensor ? std::optional(var->shape()) : std::nullopt;
  }
  std::size_t rank_of(const std::string& name) const { return shape_of(name).value().rank(); }

  bool is_only_twin(const std::string& name) const {
    const auto found = twins_.find(name);
    return found != twins_.end() && found->second.is_only;
  }

  // The images of a step that is to work on channels that come last; empty for any other.
  std::vector<std::string> images_of(const Step& step) const {
    if (step.body || step.def->is_random()) return {};
    std::vector<std::string> images;
    bool wanted = false;
    if (const auto& declared = step.def->images()) {
      images = images_in_slots(step, *declared);
      wanted = has_many_filters(step, *declared);
    } else if (step.def->is_elementwise() || !step.def->dims_attr().empty()) {
      images = images_of_any_order(step);
    }
    if (std::ranges::any_of(writes(step), [&](const std::string& name) {
          const auto var = block_.find_var(name);
          return std::ranges::find(images, name) != images.end() && (!var || var->persistable());
        })) {
      return {};
    }
    const auto is_only = [this](const std::string& name) { return is_only_twin(name); };
    if (!wanted && std::ranges::none_of(images, is_only)) return {};
    return images;
  }

  static std::vector<std::string> images_in_slots(const Step& step, const OpDef::Images& declared) {
    if (std::get<std::string>(step.op.attr(declared.attr)) == declared.last) return {};
    std::vector<std::string> images;
    for (const std::string& slot : declared.slots) {
      for (const SlotMap* map : {&step.op.inputs(), &step.op.outputs()}) {
        const auto found = map->find(slot);
        if (found == map->end()) continue;
        std::ranges::copy_if(found->second, std::back_inserter(images),
                             [](const std::string& name) { return name != kEmptyName; });
      }
    }
    return images;
  }

  // With fewer, a pixel does not fill the vectors of a kernel; and filters that see one of many
  // channels each do too little to pay for a change of layout.
  bool has_many_filters(const Step& step, const OpDef::Images& declared) const {
    constexpr std::int64_t kManyFilters = 32;
    if (declared.filter.empty()) return false;
    const auto filter = block_.find_var(step.op.input(declared.filter)[0]);
    if (!filter || !is_small(filter->dtype()) || filter->shape().rank() < 2) return false;
    const bool is_of_groups =
        step.op.has_attr("groups") && std::get<std::int64_t>(step.op.attr("groups")) > 1;
    return filter->shape()[0] >= kManyFilters && !(is_of_groups && filter->shape()[1] == 1);
  }
  static bool is_small(DType dtype) { return is_floating(dtype) && dtype != DType::kFloat64; }

  // All variables of a rank of 3 or more, which must be one. What others there are must have one
  // dimension at most, and an elementwise operator repeats them: one number, or one for each
  // channel.
  std::vector<std::string> images_of_any_order(const Step& step) const {
    std::vector<std::string> images;
    std::size_t rank = 0;
    bool fits = true;
    const bool repeats = step.def->is_elementwise();
    const auto look_at = [&](const SlotMap& slots) {
      for (const auto& [slot, names] : slots) {
        for (const std::string& name : names) {
          if (name == kEmptyName) continue;
          const auto shape = shape_of(name);
          if (shape && shape->rank() >= 3) {
            fits = fits && (rank == 0 || rank == shape->rank());
            rank = shape->rank();
            images.push_back(name);
          } else {
            const bool is_row = shape && shape->rank() <= 1;
            fits =
                fits && is_row && (!repeats || is_of_channels(step) || shape->num_elements() == 1);
          }
        }
      }
    };
    look_at(step.op.inputs());
    look_at(step.op.outputs());
    return fits ? images : std::vector<std::string>();
  }

  static bool is_of_channels(const Step& step) {
    return step.op.has_attr("axis") && std::get<std::int64_t>(step.op.attr("axis")) == 1;
  }

  void convert(Step& step, const std::vector<std::string>& images) {
    const std::set<std::string> all(images.begin(), images.end());
    const std::size_t rank = rank_of(images.front());
    for (const auto& [slot, names] : SlotMap(step.op.inputs())) {
      for (const std::string& name : names) {
        if (!all.contains(name) || twins_.contains(name)) continue;
        add_transpose(name, twin_of(name), to_last(rank), step);
        twins_[name] = {};
      }
      step.op.set_input(slot, renamed(names, all));
    }
    for (const auto& [slot, names] : SlotMap(step.op.outputs())) {
      for (const std::string& name : names) {
        if (all.contains(name)) {
          twins_[name] = {.is_only = true};
        } else {
          twins_.erase(name);
        }
      }
      step.op.set_output(slot, renamed(names, all));
    }
    if (const auto& declared = step.def->images()) {
      step.op.set_attr(declared->attr, declared->last);
    } else if (const std::string& attr = step.def->dims_attr(); !attr.empty()) {
      step.op.set_attr(attr, numbered_last(step.op.attr(attr), static_cast<std::int64_t>(rank)));
    } else if (is_of_channels(step)) {
      step.op.set_attr("axis", static_cast<std::int64_t>(rank - 1));
    }
  }

  // The same dimensions where the channels are the last.
  static Attribute numbered_last(const Attribute& dims, std::int64_t rank) {
    const auto last = [rank](std::int64_t dim) {
      if (dim < 0) dim += rank;
      return dim == 1 ? rank - 1 : dim - static_cast<std::int64_t>(dim > 1);
    };
    if (const auto* one = std::get_if<std::int64_t>(&dims)) return last(*one);
    auto several = std::get<std::vector<std::int64_t>>(dims);
    std::ranges::transform(several, several.begin(), last);
    return several;
  }

  static std::vector<std::string> renamed(std::vector<std::string> names,
                                          const std::set<std::string>& images) {
    for (std::string& name : names) {
      if (images.contains(name)) name = twin_of(name);
    }
    return names;
  }

  // A step that works on variables as they are declared.
  void keep(const Step& step) {
    restore_what_is_read(step, step);
    for (const std::string& name : writes(step)) twins_.erase(name);
    if (!step.body) return;
    for (const std::string& name : step.body->writes) twins_.erase(name);
  }

  // By a step, or those of its body; also what they read the shape of.
  void restore_what_is_read(const Step& step, const Step& by) {
    for (const auto& [slot, names] : step.op.inputs()) {
      for (const std::string& name : names) restore(name, by);
    }
    if (!step.body) return;
    // What a body overwrites may keep something of its old value.
    for (const std::string& name : step.body->writes) restore(name, by);
    for (const std::string& name : step.body->results) restore(name, by);
    for (const Step& inner : step.body->steps) restore_what_is_read(inner, by);
  }

  void restore(const std::string& name, const Step& by) {
    const auto found = twins_.find(name);
    if (found == twins_.end() || !std::exchange(found->second.is_only, false)) return;
    add_transpose(twin_of(name), name, to_first(rank_of(name)), by);
  }

  // [N, C, H, W] -> [N, H, W, C]
  static std::vector<std::int64_t> to_last(std::size_t rank) {
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
    return axes;
  }
  static std::vector<std::int64_t> to_first(std::size_t rank) {
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    std::rotate(axes.begin() + 1, axes.end() - 1, axes.end());
    return axes;
  }

  // Messages name the operator that it is for.
  void add_transpose(const std::string& from,
                     const std::string& to,
                     std::vector<std::int64_t> axes,
                     const Step& by) {
    OpDesc op("transpose", {{"X", {from}}}, {{"Out", {to}}}, {{"axis", std::move(axes)}});
    op.set_call_site(by.op.call_site());
    Step step{std::move(op), &ops_.get("transpose"), by.index, by.block};
    step.def->complete(step.op);
    result_.push_back(std::move(step));
  }

  const BlockDesc& block_;
  const OpRegistry& ops_;
  Steps result_;
  std::unordered_map<std::string, Twin> twins_;
};

}  // namespace

Steps channels_last(Steps steps,
                    const BlockDesc& block,
                    const OpRegistry& ops,
                    const std::vector<std::string>& fetches) {
  return LayoutPass(block, ops).run(std::move(steps), fetches);
}

}  // namespace fluidcore
