#pragma once

#include <cstdint>
#include <string>

#include "fluidcore/base/shape.h"
#include "fluidcore/program/revision.h"

namespace fluidcore {

// One variable of a block: what is known of it before anything runs.
class VarDesc {
 public:
  explicit VarDesc(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const Shape& shape() const { return spec_.shape; }  // -1 where only known at run time
  DType dtype() const { return spec_.dtype; }
  const TensorSpec& spec() const { return spec_; }
  std::int64_t lod_level() const { return lod_level_; }
  bool persistable() const { return flags_.persistable; }      // lives in the Scope between runs
  bool stop_gradient() const { return flags_.stop_gradient; }  // a constant for append_backward
  bool is_data() const { return flags_.is_data; }              // is given by `feed`
  bool is_parameter() const { return flags_.is_parameter; }
  bool trainable() const { return flags_.trainable; }

  void set_shape(Shape shape) { spec_.shape = std::move(shape), revision_.touch(); }
  void set_dtype(DType dtype) { spec_.dtype = dtype, revision_.touch(); }
  void set_lod_level(std::int64_t level) { lod_level_ = level, revision_.touch(); }
  void set_persistable(bool value) { flags_.persistable = value, revision_.touch(); }
  void set_stop_gradient(bool value) { flags_.stop_gradient = value, revision_.touch(); }
  void set_is_data(bool value) { flags_.is_data = value, revision_.touch(); }
  void set_is_parameter(bool value) { flags_.is_parameter = value, revision_.touch(); }
  void set_trainable(bool value) { flags_.trainable = value, revision_.touch(); }

  void link(Revision revision) { revision_.link(std::move(revision)); }

 private:
  friend class BlockDesc;  // renames

  struct Flags {
    bool persistable = false;
    bool stop_gradient = false;
    bool is_data = false;
    bool is_parameter = false;
    bool trainable = true;
  };

  std::string name_;
  TensorSpec spec_;
  std::int64_t lod_level_ = 0;
  Flags flags_;
  RevisionLink revision_;
};

// fc_0.w_0: float32 [64, 10] parameter
std::string to_string(const VarDesc& var);

}  // namespace fluidcore
