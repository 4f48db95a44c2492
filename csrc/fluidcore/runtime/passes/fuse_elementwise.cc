#include "fluidcore/runtime/passes/fuse_elementwise.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "fluidcore/base/strings.h"

namespace fluidcore {

namespace {

// A run of steps that may be one.
class Group {
 public:
  // Takes the step, if it can.
  bool add(const PreparedStep& step) {
    const ElementwiseKernel* kernel = step.kernel.elementwise();
    if (kernel == nullptr) return false;
    const std::vector<ElementwisePart>& parts = kernel->parts();
    if (!std::ranges::all_of(parts, [this](const auto& part) { return fits(part); })) return false;
    for (const ElementwisePart& part : parts) {
      size_ = part.out->spec.shape.num_elements();
      written_.insert(part.out);
      read_whole_.insert(part.whole.begin(), part.whole.end());
      parts_.push_back(part);
    }
    ++steps_;
    return true;
  }

  std::size_t steps() const { return steps_; }
  const std::vector<ElementwisePart>& parts() const { return parts_; }

 private:
  bool fits(const ElementwisePart& part) const {
    if (parts_.empty()) return true;
    return part.out->spec.shape.num_elements() == size_ && !read_whole_.contains(part.out) &&
           std::ranges::none_of(part.whole,
                                [this](const Cell* cell) { return written_.contains(cell); });
  }

  std::int64_t size_ = 0;
  std::size_t steps_ = 0;
  std::vector<ElementwisePart> parts_;
  std::unordered_set<const Cell*> written_;
  std::unordered_set<const Cell*> read_whole_;
};

std::string joined_types(std::span<const PreparedStep> steps) {
  std::string types;
  for (const PreparedStep& step : steps) types += (types.empty() ? "" : " + ") + step.type;
  return types;
}

// The bytes in memory that the parts read and write.
std::int64_t work_of(const ElementwiseKernel& kernel) {
  std::int64_t work = 0;
  std::unordered_set<const Cell*> made;  // by an earlier part: in the cache
  const auto add = [&](const Cell* cell, bool is_read) {
    if (kernel.inner().contains(cell) || (is_read && made.contains(cell))) return;
    work += static_cast<std::int64_t>(byte_size(cell->spec));
  };
  for (const ElementwisePart& part : kernel.parts()) {
    for (const Cell* cell : part.streams) add(cell, true);
    for (const Cell* cell : part.whole) add(cell, true);
    add(part.out, false);
    made.insert(part.out);
  }
  return work;
}

PreparedStep fused(std::span<PreparedStep> steps, ElementwiseKernel kernel) {
  const PreparedStep& first = steps.front();
  PreparedStep step;
  step.type = joined_types(steps);
  step.note = str_cat("operators ", first.index, " to ", steps.back().index, " of block ",
                      first.block, " (", step.type, ")",
                      std::string_view(first.note)
                          .substr(std::min(first.note.find(", added at "), first.note.size())));
  step.block = first.block;
  step.index = first.index;
  step.work = work_of(kernel);
  step.kernel = std::move(kernel);
  return step;
}

}  // namespace

Fused fuse_elementwise(std::vector<PreparedStep>& steps, const LivesWithin& lives_within) {
  Fused result;
  std::vector<PreparedStep> kept;
  for (std::size_t first = 0; first < steps.size();) {
    Group group;
    while (first + group.steps() < steps.size() && group.add(steps[first + group.steps()])) {
    }
    const std::size_t count = std::max<std::size_t>(group.steps(), 1);
    result.position.insert(result.position.end(), count, kept.size());
    if (count == 1) {
      kept.push_back(std::move(steps[first]));
    } else {
      std::set<const Cell*> inner;
      for (const ElementwisePart& part : group.parts()) {
        if (lives_within(part.out, first, first + count - 1)) inner.insert(part.out);
      }
      ElementwiseKernel kernel(group.parts(), inner);
      result.inner.insert(kernel.inner().begin(), kernel.inner().end());
      kept.push_back(fused(std::span(steps).subspan(first, count), std::move(kernel)));
    }
    first += count;
  }
  steps = std::move(kept);
  return result;
}

}  // namespace fluidcore
