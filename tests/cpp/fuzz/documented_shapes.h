#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fluidcore/op/op_def.h"

namespace fluidcore {

// Extents for the slots of one operator as its documentation gives their shapes: in "[N, C, H, W]"
// every name has one extent, "3 size" is three times the extent of "size", "C / groups" is that of
// C, and "..." stands for some more. "shape of X" is the shape of that slot.
class DocumentedShapes {
 public:
  using Extents = std::vector<std::int64_t>;

  // `draw` gives an extent for a name that was not seen before.
  DocumentedShapes(const OpDef& definition, std::function<std::int64_t()> draw);

  // None where the documentation of the slot gives no shape.
  std::optional<Extents> of(std::string_view slot);
  // Whether the slot takes int64.
  bool is_integral(std::string_view slot) const;

 private:
  Extents parse(std::string_view dims);
  std::int64_t extent(std::string_view dim);

  const OpDef& definition_;
  std::function<std::int64_t()> draw_;
  std::map<std::string, std::int64_t, std::less<>> extents_;  // by name
};

}  // namespace fluidcore
