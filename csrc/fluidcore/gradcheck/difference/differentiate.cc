#include "fluidcore/gradcheck/difference/differentiate.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "fluidcore/base/division.h"
#include "fluidcore/gradcheck/difference/climb.h"
#include "fluidcore/gradcheck/difference/element.h"
#include "fluidcore/gradcheck/difference/projection.h"
#include "fluidcore/gradcheck/function/rounding.h"
#include "fluidcore/gradcheck/function/unrecoverable.h"
#include "fluidcore/gradcheck/function/workers.h"

namespace fluidcore::gradcheck {

namespace {

// Where the result of each move goes, and how many moves there are.
struct Layout {
  std::int64_t rows = 1;
  std::int64_t moves = 0;
  std::int64_t columns = 0;  // of the result
};

Layout layout_of(const Tensor& input, const DifferentiateOptions& options) {
  const std::int64_t size = input.size();
  const std::int64_t rows = options.rows;
  require(rows >= 0, "gradcheck: rows must be at least 0, got ", rows);
  require(rows == 0 || !options.elements, "gradcheck: rows must be 0 when elements are given, got ",
          rows);
  require(rows == 0 || size % rows == 0, "gradcheck: rows must divide the size of the input, got ",
          rows, " rows and ", size, " elements");
  if (options.elements) {
    for (const std::int64_t element : *options.elements) {
      require(element >= 0 && element < size, "gradcheck: elements must be in [0, ", size,
              "), got ", element);
    }
    const auto count = static_cast<std::int64_t>(options.elements->size());
    return {1, count, count};
  }
  return rows == 0 ? Layout{1, size, size} : Layout{rows, size / rows, size};
}

// What one thread works with.
struct ClimbWorker {
  ClimbWorker(Function& function,
              std::size_t input,
              double rms,
              std::int64_t rows,
              const Question& ask,
              double stretch)
      : climb(function, function.inputs()[input].dtype(), rows, ask),
        element(function.inputs()[input], rows, rms, stretch),
        positions(static_cast<std::size_t>(rows)) {}

  // The derivatives by a column of elements, to `positions`.
  void work(std::int64_t column, const Approach& approach, Derivatives& to) {
    element.choose(column);
    element.measure_by_x(approach.by_x);
    climb.differentiate(element, positions, to, approach);
    if (approach.once || approach.by_x || climb.rule().absorbs) return;
    if (leave_small(to)) look_closer(approach, to);
  }

  Climb climb;
  Element element;
  std::vector<std::int64_t> positions;

 private:
  // Leaves the positions of elements so small that every step reaches across 0, or the first did
  // and the derivative is not known well. Whether there are any.
  bool leave_small(const Derivatives& found) {
    bool any = false;
    const LadderRule& rule = climb.rule();
    for (std::int64_t row = 0; row < element.rows(); ++row) {
      std::int64_t& position = positions[static_cast<std::size_t>(row)];
      if (position < 0) continue;
      const int level = is_known(found, static_cast<std::size_t>(position)) ? rule.most : 0;
      const double step = std::ldexp(element.scale(row), -rule.first - level);
      const double x = element.argument(row);
      if (!(0 < x && x < step)) position = -1;
      any |= position >= 0;
    }
    return any;
  }

  // To more digits than what f does on the scale of x would leave of it.
  static bool is_known(const Derivatives& found, std::size_t j) {
    constexpr double kDigits = 0x1p-30;
    bool is_known = is_smooth(found, j);
    for (std::size_t i = j; i < found.error.size(); i += static_cast<std::size_t>(found.elements))
      is_known &= found.error[i] <= kDigits * found.scale[i];
    return is_known;
  }

  // Measures again with steps that are small beside x alone: a pole at 0, as that of 1 / x, or what
  // else f does there, is as near as |x|.
  void look_closer(const Approach& approach, Derivatives& to) {
    std::vector<std::size_t> columns;
    for (const std::int64_t position : positions) {
      if (position >= 0) columns.push_back(static_cast<std::size_t>(position));
    }
    const Derivatives before = picked(to, columns);
    element.measure_by_x(true);
    climb.differentiate(element, positions, to, approach);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!is_better(to, columns[i], before, i)) copy_column(before, i, to, columns[i]);
    }
  }

  // Whether shorter steps know a derivative better than longer ones, or another: it is their limit.
  // Where they move nothing they may be hidden on a tread of f.
  static bool is_better(const Derivatives& closer,
                        std::size_t j,
                        const Derivatives& before,
                        std::size_t i) {
    constexpr double kBars = 3;
    if (!is_smooth(closer, j)) return false;
    bool is_better = true;
    bool is_another = false;
    for (std::int64_t row = 0; row < closer.cotangents; ++row) {
      const std::size_t there = static_cast<std::size_t>(row * closer.elements) + j;
      const std::size_t here = static_cast<std::size_t>(row * before.elements) + i;
      if (closer.scale[there] == 0) return false;
      const double error = closer.error[there] + before.error[here];
      is_better &= closer.error[there] < before.high[here] - before.low[here] + before.error[here];
      is_another |= std::abs(closer.value[there] - before.value[here]) > kBars * error;
    }
    return is_better || is_another;
  }
};

// Numbers that tell nothing of who did the work.
void sum_up(const std::vector<std::unique_ptr<ClimbWorker>>& workers, Derivatives& derivatives) {
  ++derivatives.evaluations;
  derivatives.failure.reset();
  std::int64_t first = 0;
  for (const auto& worker : workers) {
    if (worker == nullptr) continue;
    const Climb& climb = worker->climb;
    derivatives.evaluations += climb.evaluations();
    if (!climb.failure()) continue;
    if (derivatives.failure && climb.failure_position() >= first) continue;
    derivatives.failure = climb.failure();
    first = climb.failure_position();
  }
}

// Columns of the result that are wanted.
struct Wanted {
  const std::vector<std::uint8_t>* where = nullptr;  // null: all

  // The number of the column, negative if it is to stay.
  std::int64_t operator()(std::int64_t column) const {
    const bool stays = where != nullptr && (*where)[static_cast<std::size_t>(column)] == 0;
    return stays ? -1 : column;
  }
};

void differentiate_input(Function& function,
                         std::size_t input,
                         const Question& question,
                         const DifferentiateOptions& options,
                         const Layout& layout,
                         const Wanted& wanted,
                         Derivatives& derivatives) {
  const Tensor& tensor = function.inputs()[input];
  const double rms = root_mean_square(tensor);
  const Workers threads(function, input, options.workers,
                        divide_up(layout.moves, kElementsPerBlock));
  std::vector<std::unique_ptr<ClimbWorker>> workers(threads.size());
  const auto prepare = [&](std::size_t index) {
    workers[index] = std::make_unique<ClimbWorker>(threads.function(index), input, rms,
                                                   std::max<std::int64_t>(layout.rows, 1), question,
                                                   options.stretch);
  };
  prepare(0);

  const bool absorbs = workers[0]->climb.rule().absorbs;
  if (absorbs && options.approach.once) {
    for (std::int64_t i = 0; i < layout.columns; ++i) write_no_derivative(i, derivatives);
    sum_up(workers, derivatives);
    return;
  }
  std::vector<double> absorbed(absorbs ? derivatives.value.size() : 0);
  const auto work = [&](std::size_t index, std::int64_t begin, std::int64_t end) {
    if (workers[index] == nullptr) prepare(index);
    ClimbWorker& worker = *workers[index];
    worker.climb.note_absorbed(&absorbed);
    for (std::int64_t move = begin; move < end; ++move) {
      std::int64_t last = -1;
      for (std::int64_t row = 0; row < layout.rows; ++row) {
        const std::int64_t column = wanted(row * layout.moves + move);
        worker.positions[static_cast<std::size_t>(row)] = column;
        last = std::max(last, column);
      }
      if (last < 0) continue;
      const std::int64_t column =
          options.elements ? (*options.elements)[static_cast<std::size_t>(move)] : move;
      worker.work(column, options.approach, derivatives);
    }
  };
  threads.run(layout.moves, kElementsPerBlock, work);
  if (absorbs) flag_absorbed(absorbed, workers[0]->climb.rule().resolution, derivatives);
  sum_up(workers, derivatives);
}

}  // namespace

const Tensor& floating_input(const Function& function, std::size_t input) {
  const std::vector<Tensor>& inputs = function.inputs();
  require(input < inputs.size(), "gradcheck: the input must be one of the ", inputs.size(),
          ", got number ", input);
  require(inputs[input].is_initialized() && is_floating(inputs[input].dtype()), "gradcheck: input ",
          input, " must be floating to be differentiated by, got ", inputs[input].spec());
  return inputs[input];
}

Derivatives differentiate(Function& function,
                          std::size_t input,
                          const Question& question,
                          const DifferentiateOptions& options) {
  const Layout layout = layout_of(floating_input(function, input), options);
  Derivatives derivatives(static_cast<std::int64_t>(question.cotangents.size()), layout.columns);
  with_plain_exceptions(
      [&] { differentiate_input(function, input, question, options, layout, {}, derivatives); });
  return derivatives;
}

void differentiate_again(Function& function,
                         std::size_t input,
                         const Question& question,
                         const std::vector<std::uint8_t>& where,
                         Derivatives& derivatives,
                         const DifferentiateOptions& options) {
  const Layout layout = layout_of(floating_input(function, input), options);
  const auto cotangents = static_cast<std::int64_t>(question.cotangents.size());
  require(derivatives.elements == layout.columns && derivatives.cotangents == cotangents,
          "gradcheck: derivatives must be [", cotangents, ", ", layout.columns, "], got [",
          derivatives.cotangents, ", ", derivatives.elements, "]");
  require(std::ssize(where) == layout.columns, "gradcheck: where must have ", layout.columns,
          " elements, got ", where.size());
  with_plain_exceptions([&] {
    differentiate_input(function, input, question, options, layout, {&where}, derivatives);
  });
}

}  // namespace fluidcore::gradcheck
