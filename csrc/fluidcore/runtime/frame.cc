#include "fluidcore/runtime/frame.h"

#include <algorithm>

namespace fluidcore {

Cell* Frame::find(const std::string& name) const {
  const auto it = current.find(name);
  return it == current.end() ? nullptr : it->second;
}

void Frame::add_temporary(Cell* cell, std::size_t bytes) {
  index_.emplace(cell, temporaries_.size());
  temporaries_.push_back({cell, nullptr, {bytes, position, position}});
}

void Frame::add_view(Cell* cell, const Cell* of) {
  const std::size_t index = index_.at(of);
  index_.emplace(cell, index);
  temporaries_[index].views.push_back(cell);
}

void Frame::extend(const Cell* cell) {
  temporaries_[index_.at(cell)].lifetime.last = position;
}

bool Frame::lives_within(const Cell* cell, std::size_t first, std::size_t last) const {
  const auto found = index_.find(cell);
  if (found == index_.end()) return false;
  const Lifetime& lifetime = temporaries_[found->second].lifetime;
  return lifetime.first >= first && lifetime.last <= last;
}

Place Frame::take_out(const Cell* cell) {
  const auto found = index_.find(cell);
  if (found == index_.end()) return {};
  Temporary& temporary = temporaries_[found->second];
  if (temporary.cell == nullptr || whole_of(cell) != temporary.cell) return {};
  temporary.lifetime.bytes = 0;
  std::vector<Cell*> cells = std::exchange(temporary.views, {});
  cells.push_back(std::exchange(temporary.cell, nullptr));
  return Place(std::move(cells));
}

void Frame::move(const Fused& fused) {
  const auto moved = [&](const std::vector<std::size_t>& to, std::size_t step) {
    // What is fetched is used after the last step.
    return step < to.size() ? to[step] : prepared.steps.size();
  };
  for (Temporary& temporary : temporaries_) {
    Lifetime& lifetime = temporary.lifetime;
    lifetime.first = moved(fused.begins, lifetime.first);
    lifetime.last = moved(fused.position, lifetime.last);
    if (fused.inner.contains(temporary.cell)) lifetime.bytes = 0;
  }
  for (const auto& [cell, step] : fused.uses) {
    const auto found = index_.find(cell);
    if (found == index_.end()) continue;
    Lifetime& lifetime = temporaries_[found->second].lifetime;
    lifetime.last = std::max(lifetime.last, step);
  }
}

void Frame::close() {
  std::vector<Lifetime> lifetimes;
  lifetimes.reserve(temporaries_.size());
  for (const Temporary& temporary : temporaries_) lifetimes.push_back(temporary.lifetime);
  layout_ = lay_out(lifetimes);
  if (around == nullptr) return;
  const std::size_t step = around->position;
  around->temporaries_.push_back({nullptr, this, {layout_.bytes, step, step}});
}

const PreparedStep* Frame::of_largest() const {
  return largest().second;
}

std::pair<std::size_t, const PreparedStep*> Frame::largest() const {
  const auto by_bytes = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::pair<std::size_t, const PreparedStep*> found = {0, nullptr};
  for (const Temporary& temporary : temporaries_) {
    const auto [bytes, first, last] = temporary.lifetime;
    if (temporary.inside != nullptr) {
      found = std::max(found, temporary.inside->largest(), by_bytes);
    } else if (bytes > found.first && first < prepared.steps.size()) {
      found = {bytes, &prepared.steps[first]};
    }
  }
  return found;
}

void Frame::place(std::byte* memory) {
  for (std::size_t i = 0; i < temporaries_.size(); ++i) {
    const Temporary& temporary = temporaries_[i];
    std::byte* at = memory + layout_.offsets[i];
    if (temporary.inside != nullptr) {
      temporary.inside->place(at);
    } else if (temporary.cell != nullptr) {
      temporary.cell->data = at;
    }
    for (Cell* view : temporary.views) view->data = at + view->offset;
  }
}

}  // namespace fluidcore
