#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fluidcore/program/op_desc.h"
#include "fluidcore/program/var_desc.h"

namespace fluidcore {

// A list of operators and the variables they define. Blocks know each other by index only.
//
// Operators and variables are shared so that a handle outlives their removal from the block; a
// block never shares them with another block.
class BlockDesc {
 public:
  using OpPtr = std::shared_ptr<OpDesc>;
  using VarPtr = std::shared_ptr<VarDesc>;

  BlockDesc(std::int64_t idx, std::int64_t parent_idx, Revision revision);
  BlockDesc(const BlockDesc&) = delete;
  BlockDesc& operator=(const BlockDesc&) = delete;

  std::int64_t idx() const { return idx_; }
  std::int64_t parent_idx() const { return parent_idx_; }                // -1: none
  std::int64_t forward_block_idx() const { return forward_block_idx_; }  // -1: not a gradient block
  void set_forward_block_idx(std::int64_t idx);

  const std::vector<OpPtr>& ops() const { return ops_; }
  const std::vector<VarPtr>& vars() const { return vars_; }  // in order of creation

  // Adds a copy of `op` before position `index`; throws InvalidArgument beyond the end.
  OpPtr insert_op(std::size_t index, OpDesc op);
  OpPtr append_op(OpDesc op = {}) { return insert_op(ops_.size(), std::move(op)); }
  void remove_op(std::size_t first, std::size_t last);  // [first, last)

  VarPtr find_var(std::string_view name) const;             // null if this block has none
  VarPtr var(const std::string& name);                      // found or created
  void remove_vars(const std::vector<std::string>& names);  // throws NotFound, removing none
  // Renames the variable here and in every operator of this block. Throws NotFound, and
  // InvalidArgument when the new name is taken.
  void rename_var(const std::string& from, const std::string& to);

 private:
  friend class ProgramDesc;

  std::int64_t idx_;
  std::int64_t parent_idx_;
  std::int64_t forward_block_idx_ = -1;
  Revision revision_;
  std::vector<OpPtr> ops_;
  std::vector<VarPtr> vars_;
  std::unordered_map<std::string, VarPtr> vars_by_name_;
};

}  // namespace fluidcore
