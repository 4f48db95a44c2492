#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluidcore/gradcheck/difference/coordinates.h"
#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/ladder.h"
#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/function/function.h"
#include "fluidcore/gradcheck/function/moved_outputs.h"
#include "fluidcore/gradcheck/function/outputs.h"

namespace fluidcore::gradcheck {

// Moves coordinates by smaller and smaller steps until the derivatives are known. One per thread:
// it holds the working memory, O(m), and allocates none once it is warm.
//
// An exception of f at a moved point (a std::exception) is an edge of f's domain, for every row;
// anything else goes through. The coordinates are put back in any case.
//
// What there is to calculate for many rows, or many outputs, is divided among the threads that
// num_threads() allows; they change no result.
class Climb {
 public:
  // Runs f at the point; throws InvalidArgument unless `question` and `rows` suit the outputs.
  // `moved` is the coarsest dtype of what will be moved. `question` outlives this.
  Climb(Function& function, DType moved, std::int64_t rows, const Question& question);

  Climb(const Climb&) = delete;
  Climb& operator=(const Climb&) = delete;

  const Outputs& outputs() const { return outputs_; }
  const LadderRule& rule() const { return rule_; }

  // Writes the derivatives by row r to column positions[r] of `to`; a row whose position is
  // negative stays where it is. Two threads may write to different columns.
  void differentiate(Coordinates& coordinates,
                     const std::vector<std::int64_t>& positions,
                     Derivatives& to,
                     const Approach& approach = {});

  // Notes every level of the next derivative, 12 where the dtype has so many. One row only.
  void trace(std::vector<TracedLevel>* levels) { levels_ = levels; }
  // Entry [cotangent, position] gets the part of the error bar that comes from outputs that never
  // moved. Needed before differentiate() where rule().absorbs.
  void note_absorbed(std::vector<double>* absorbed) { absorbed_ = absorbed; }

  std::int64_t evaluations() const { return evaluations_; }  // besides the one at the point
  // Text and first position of the first exception at a moved point.
  const std::optional<std::string>& failure() const { return failure_; }
  std::int64_t failure_position() const { return failure_position_; }

 private:
  struct Row {
    bool wanted = true;
    bool climbing = false;
    bool finite = true;  // in the runs of this level
    bool lost = false;   // there is no derivative
    int side = 0;        // 0: both; 1 or -1: f is finite on this side only
    double scale = 0;
    double first_step = 0;
    double reach = 0;           // the largest move at which f could be evaluated
    int level = 0;              // the next one
    int most = 0;               // levels that there are
    double error = 0;           // the largest error bar at the last level that was looked at
    std::uint32_t dropped = 0;  // a bit for each level
    Ladder::Progress progress;
  };

  Row& row(std::int64_t r) { return rows_[static_cast<std::size_t>(r)]; }
  double step_size(const Row& row, int level) const;
  Ladder::Sides sides_of(const Row& row) const;
  Ladder::Steps steps_of(std::int64_t r, int level) const;
  bool can_step(std::int64_t r, int level) const;

  void start(const std::vector<std::int64_t>& positions);
  void look_once();
  void probe_for_absorption();
  void climb_both_sides();
  void find_edges();
  void climb_one_side();
  void finish_level(std::int64_t r);
  bool is_done(std::int64_t r);
  void write(std::int64_t r, std::int64_t position, Derivatives& to);

  // Calls f(r) for the rows, and for those that are live; on several threads where there are many.
  template <class F>
  void for_each_row(const F& f);
  template <class F>
  void for_each_live(const F& f);
  template <class Is>
  bool select(const Is& is);  // fills live_; whether it is not empty
  // Moves the live rows by offset(row, r), runs f, and reads what moved into `field`.
  template <class Offset>
  void evaluate(Ladder::Field field, const Offset& offset);
  void join(std::int64_t r, std::int64_t begin, std::int64_t end);

  Outputs outputs_;
  bool base_is_finite_;
  LadderRule rule_;
  const Question& question_;
  MovedOutputs moved_;
  Ladder ladder_;
  std::vector<Row> rows_;
  std::int64_t grain_;                // rows that are worth a thread
  std::vector<std::uint8_t> chosen_;  // by select(), for each row
  std::vector<std::int64_t> live_;    // rows that are moved
  Coordinates* coordinates_ = nullptr;
  Approach approach_;
  std::int64_t first_position_ = 0;
  std::vector<TracedLevel>* levels_ = nullptr;
  std::vector<double>* absorbed_ = nullptr;
  std::int64_t evaluations_ = 0;
  std::optional<std::string> failure_;
  std::int64_t failure_position_ = 0;
};

}  // namespace fluidcore::gradcheck
