#include "fluidcore/program/block_desc.h"

#include <utility>

#include "fluidcore/base/error.h"

namespace fluidcore {

BlockDesc::BlockDesc(std::int64_t idx, std::int64_t parent_idx, Revision revision)
    : idx_(idx), parent_idx_(parent_idx), revision_(std::move(revision)) {
}

void BlockDesc::set_forward_block_idx(std::int64_t idx) {
  forward_block_idx_ = idx;
  ++*revision_;
}

BlockDesc::OpPtr BlockDesc::insert_op(std::size_t index, OpDesc op) {
  require(index <= ops_.size(), "block ", idx_, ": an operator can be added at 0 to ", ops_.size(),
          ", got ", index);
  auto added = std::make_shared<OpDesc>(std::move(op));
  added->link(revision_);
  ops_.insert(ops_.begin() + static_cast<std::ptrdiff_t>(index), added);
  ++*revision_;
  return added;
}

void BlockDesc::remove_op(std::size_t first, std::size_t last) {
  require(first <= last && last <= ops_.size(), "block ", idx_, ": operators ", first, " to ", last,
          " cannot be removed, it has ", ops_.size());
  for (std::size_t i = first; i < last; ++i) ops_[i]->link(nullptr);
  ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(first),
             ops_.begin() + static_cast<std::ptrdiff_t>(last));
  ++*revision_;
}

BlockDesc::VarPtr BlockDesc::find_var(std::string_view name) const {
  const auto it = vars_by_name_.find(std::string(name));
  return it == vars_by_name_.end() ? nullptr : it->second;
}

BlockDesc::VarPtr BlockDesc::var(const std::string& name) {
  VarPtr& found = vars_by_name_[name];
  if (!found) {
    found = std::make_shared<VarDesc>(name);
    found->link(revision_);
    vars_.push_back(found);
    ++*revision_;
  }
  return found;
}

void BlockDesc::remove_vars(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!find_var(name)) throw NotFound("block ", idx_, ": no variable '", name, "'");
  }
  for (const std::string& name : names) {
    const auto it = vars_by_name_.find(name);
    if (it == vars_by_name_.end()) continue;  // named twice
    it->second->link(nullptr);
    vars_by_name_.erase(it);
  }
  std::erase_if(vars_, [this](const VarPtr& var) { return !vars_by_name_.contains(var->name()); });
  ++*revision_;
}

void BlockDesc::rename_var(const std::string& from, const std::string& to) {
  const VarPtr var = find_var(from);
  if (!var) throw NotFound("block ", idx_, ": no variable '", from, "'");
  require(!find_var(to), "block ", idx_, ": there is a variable '", to, "' already");
  vars_by_name_.erase(from);
  var->name_ = to;
  vars_by_name_.emplace(to, var);
  for (const OpPtr& op : ops_) {
    op->rename_input(from, to);
    op->rename_output(from, to);
  }
  ++*revision_;
}

}  // namespace fluidcore
