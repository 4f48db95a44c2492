#include "fuzz/documented_shapes.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace fluidcore {

namespace {

std::string_view documentation(const OpDef& definition, std::string_view slot) {
  for (const auto* slots : {&definition.inputs(), &definition.outputs()}) {
    for (const OpDef::Slot& each : *slots) {
      if (each.name == slot) return each.doc;
    }
  }
  return "";
}

// The text between them, the first time that they stand there.
std::optional<std::string_view> between(std::string_view text,
                                        std::string_view first,
                                        std::string_view last) {
  const std::size_t begin = text.find(first);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + first.size());
  return text.substr(0, text.find_first_of(last));
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace

DocumentedShapes::DocumentedShapes(const OpDef& definition, std::function<std::int64_t()> draw)
    : definition_(definition), draw_(std::move(draw)) {
}

std::optional<DocumentedShapes::Extents> DocumentedShapes::of(std::string_view slot) {
  const std::string_view text = documentation(definition_, slot);
  if (const auto dims = between(text, "[", "]")) return parse(*dims);
  for (const std::string_view phrase : {"shape of ", "shape and dtype of "}) {
    const auto other = between(text, phrase, " ,;.:");
    if (other && *other != slot) return of(*other);
  }
  return std::nullopt;
}

bool DocumentedShapes::is_integral(std::string_view slot) const {
  return documentation(definition_, slot).find("int64") != std::string_view::npos;
}

DocumentedShapes::Extents DocumentedShapes::parse(std::string_view dims) {
  Extents extents;
  while (!dims.empty()) {
    const std::size_t end = std::min(dims.size(), dims.find(','));
    const std::string_view dim = trimmed(dims.substr(0, end));
    if (dim == "...") {
      for (std::int64_t more = extent("...") % 3; more > 0; --more) {
        extents.push_back(extent(std::string(static_cast<std::size_t>(more), '.')));
      }
    } else if (!dim.empty()) {
      extents.push_back(extent(dim));
    }
    dims.remove_prefix(std::min(dims.size(), end + 1));
  }
  return extents;
}

std::int64_t DocumentedShapes::extent(std::string_view dim) {
  std::int64_t factor = 1;
  const char* const end = dim.data() + dim.size();
  const auto number = std::from_chars(dim.data(), end, factor);
  if (number.ptr == end) return factor;
  if (number.ec == std::errc() && *number.ptr == ' ') {
    return factor * extent(trimmed({number.ptr, end}));
  }
  dim = trimmed(dim.substr(0, dim.find('/')));
  const auto found = extents_.find(dim);
  if (found != extents_.end()) return found->second;
  return extents_[std::string(dim)] = draw_();
}

}  // namespace fluidcore
