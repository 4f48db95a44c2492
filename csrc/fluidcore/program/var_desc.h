#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fluidcore/base/shape.h"
#include "fluidcore/program/revision.h"

namespace fluidcore {

enum class VarType { kTensor, kTensorArray, kSelectedRows };

std::string_view to_string(VarType type);  // "lod_tensor_array", "selected_rows", as in Fluid
VarType var_type_from_name(std::string_view name);  // throws InvalidArgument
std::string_view described(VarType type);           // for messages: "a tensor array"

// The bounds of a variable's gradient: backward clips every element of it to [min, max].
struct ErrorClip {
  double min = 0;
  double max = 0;
  friend bool operator==(ErrorClip, ErrorClip) = default;
};

// One variable of a block: what is known of it before anything runs.
class VarDesc {
 public:
  explicit VarDesc(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const Shape& shape() const { return spec_.shape; }  // -1 where only known at run time
  DType dtype() const { return spec_.dtype; }
  const TensorSpec& spec() const { return spec_; }  // with rows where the type says so
  VarType type() const { return type_; }  // shape and dtype of an array are those of its elements
  std::int64_t lod_level() const { return lod_level_; }
  bool persistable() const { return flags_.persistable; }      // lives in the Scope between runs
  bool stop_gradient() const { return flags_.stop_gradient; }  // a constant for append_backward
  bool is_data() const { return flags_.is_data; }              // is given by `feed`
  bool is_parameter() const { return flags_.is_parameter; }
  bool trainable() const { return flags_.trainable; }
  const std::optional<ErrorClip>& error_clip() const { return error_clip_; }

  void set_shape(Shape shape) { spec_.shape = std::move(shape), revision_.touch(); }
  void set_dtype(DType dtype) { spec_.dtype = dtype, revision_.touch(); }
  void set_type(VarType type);
  void set_lod_level(std::int64_t level) { lod_level_ = level, revision_.touch(); }
  void set_persistable(bool value) { flags_.persistable = value, revision_.touch(); }
  void set_stop_gradient(bool value) { flags_.stop_gradient = value, revision_.touch(); }
  void set_is_data(bool value) { flags_.is_data = value, revision_.touch(); }
  void set_is_parameter(bool value) { flags_.is_parameter = value, revision_.touch(); }
  void set_trainable(bool value) { flags_.trainable = value, revision_.touch(); }
  // Throws InvalidArgument unless min <= max.
  void set_error_clip(std::optional<ErrorClip> clip);

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
  VarType type_ = VarType::kTensor;
  std::int64_t lod_level_ = 0;
  Flags flags_;
  std::optional<ErrorClip> error_clip_;
  RevisionLink revision_;
};

// fc_0.w_0: float32 [64, 10] parameter
std::string to_string(const VarDesc& var);

}  // namespace fluidcore
