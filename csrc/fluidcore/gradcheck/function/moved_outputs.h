#pragma once

#include <cstdint>
#include <vector>

#include "fluidcore/gradcheck/function/outputs.h"

namespace fluidcore::gradcheck {

// Which outputs of each row have moved so far: only those take part in the calculation. Every
// output that moves gets a slot; the slots of row r are [begin(r), end(r)), in the order in which
// its outputs were seen to move. Several threads may find and gather different rows at a time.
class MovedOutputs {
 public:
  // `rows` divides the size of every output.
  MovedOutputs(const Outputs& outputs, std::int64_t rows);

  std::int64_t begin(std::int64_t row) const { return row * width_; }
  std::int64_t end(std::int64_t row) const { return begin(row) + count(row); }
  std::int64_t count(std::int64_t row) const { return counts_[static_cast<std::size_t>(row)]; }
  std::int64_t output(std::int64_t slot) const { return outputs_[static_cast<std::size_t>(slot)]; }
  bool has_moved(std::int64_t output) const {
    return moved_[static_cast<std::size_t>(output)] != 0;
  }

  // Compares the last run with the point: outputs of the row that moved for the first time get
  // slots behind those that there are.
  void find(std::int64_t row);

  // The values of the row's moved outputs in the last run, to `to`[slot]; whether all are finite.
  bool gather(std::int64_t row, double* to) const;

  // Calls f(output) for the outputs of the row that never moved.
  template <class F>
  void for_each_still(std::int64_t row, const F& f) const {
    for (const Outputs::Part& part : all_.parts()) {
      const std::int64_t size = part.size / rows_;
      const std::int64_t first = part.offset + row * size;
      for (std::int64_t j = first; j < first + size; ++j) {
        if (!has_moved(j)) f(j);
      }
    }
  }

  void clear();  // nothing has moved, in no row

 private:
  void add(std::int64_t row, std::int64_t output);
  bool gather_slots(std::int64_t first, std::int64_t last, double* to) const;

  const Outputs& all_;
  std::int64_t rows_;
  std::int64_t width_;                 // outputs of a row
  std::vector<std::int64_t> counts_;   // of moved outputs, for each row
  std::vector<std::int64_t> outputs_;  // of each slot
  std::vector<std::uint8_t> moved_;    // of each output
};

}  // namespace fluidcore::gradcheck
