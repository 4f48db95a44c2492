#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fluidcore/op/op_def.h"
#include "fluidcore/tensor/tensor.h"

namespace fluidcore {

// One operator with specs for its inputs and attributes, right or wrong.
struct RandomOp {
  const OpDef* definition = nullptr;
  std::map<std::string, std::vector<TensorSpec>> inputs = {};  // by slot
  AttributeMap attrs = {};

  OpDesc desc() const;  // variables are named after their slots: "X0", "X1"
};

std::string to_string(const RandomOp& op);

// Draws operators and values for them; equal seeds give equal ones.
class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : bits_(seed) {}

  // A new one. Most slots have related shapes, so that some are right.
  RandomOp draw(const OpDef& definition);
  // One with a single shape, dtype, or attribute changed.
  RandomOp change(RandomOp op);
  // Small numbers, and among them the largest, infinities and NaN.
  Tensor values(const TensorSpec& spec);

  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(count));
  }
  bool one_in(std::int64_t count) { return below(count) == 0; }
  template <class Items>
  auto& any_of(Items& items) {
    return items[static_cast<std::size_t>(below(std::ssize(items)))];
  }

 private:
  using Extents = std::vector<std::int64_t>;

  Extents extents();
  Extents like(Extents given);
  DType dtype();
  std::int64_t integer(bool wild);
  double number(bool wild);
  void set(RandomOp& op, const OpDef::Attr& attr);

  std::mt19937_64 bits_;
};

}  // namespace fluidcore
