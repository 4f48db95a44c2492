#include "fluidcore/kernels/cpu/multinomial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "fluidcore/base/error.h"
#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"

namespace fluidcore::cpu {

namespace {

// Throws InvalidArgument for weights that say no distribution. A row needs `least` above 0.
void check_weights(const ClassDraws& shape, std::int64_t least, const double* weights) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    std::int64_t positive = 0;
    for (std::int64_t i = 0; i < shape.classes; ++i) {
      const double weight = weights[row * shape.classes + i];
      require(weight >= 0.0 && std::isfinite(weight),
              "multinomial: X must hold finite weights of at least 0, got ", weight, " in row ",
              row);
      positive += weight > 0.0 ? 1 : 0;
    }
    require(positive >= least, "multinomial: each row of X must have at least ", least,
            " weights above 0 to draw from, got ", positive, " in row ", row);
  }
}

// The first class whose sum with those before it is above a share of the whole. Overwrites the
// weights of the row.
void draw_with_replacement(const ClassDraws& shape,
                           const RandomSequence& numbers,
                           std::int64_t row,
                           double* weights,
                           std::int64_t* out) {
  double sum = 0.0;
  std::int64_t last = 0;  // a rounded share may be the whole
  for (std::int64_t i = 0; i < shape.classes; ++i) {
    if (weights[i] > 0.0) last = i;
    weights[i] = sum += weights[i];
  }
  for (std::int64_t i = 0; i < shape.samples; ++i) {
    const double share =
        sum * numbers.uniform<double>(static_cast<std::uint64_t>(row * shape.samples + i));
    const double* found = std::upper_bound(weights, weights + shape.classes, share);
    out[i] = std::min<std::int64_t>(found - weights, last);
  }
}

// Waiting times with the weights as rates: the order of arrival is that of drawing one after the
// other without those that are drawn already (Efraimidis and Spirakis 2006). Overwrites the weights
// of the row.
void draw_without_replacement(const ClassDraws& shape,
                              const RandomSequence& numbers,
                              std::int64_t row,
                              double* weights,
                              std::int64_t* order,
                              std::int64_t* out) {
  for (std::int64_t i = 0; i < shape.classes; ++i) {
    const double u = numbers.uniform<double>(static_cast<std::uint64_t>(row * shape.classes + i));
    weights[i] =
        weights[i] > 0.0 ? -std::log1p(-u) / weights[i] : std::numeric_limits<double>::infinity();
  }
  std::iota(order, order + shape.classes, std::int64_t{0});
  std::partial_sort(order, order + shape.samples, order + shape.classes,
                    [=](std::int64_t a, std::int64_t b) {
                      return weights[a] != weights[b] ? weights[a] < weights[b] : a < b;
                    });
  std::copy_n(order, shape.samples, out);
}

}  // namespace

void draw_classes(const ClassDraws& shape,
                  const RandomSequence& numbers,
                  double* weights,
                  std::int64_t* order,
                  std::int64_t* out) {
  check_weights(shape, order == nullptr ? 1 : shape.samples, weights);
  const std::int64_t grain = kGrain / (shape.classes + shape.samples) + 1;
  parallel_for(shape.rows, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double* const of_row = weights + row * shape.classes;
      std::int64_t* const to = out + row * shape.samples;
      if (order == nullptr) {
        draw_with_replacement(shape, numbers, row, of_row, to);
      } else {
        draw_without_replacement(shape, numbers, row, of_row, order + row * shape.classes, to);
      }
    }
  });
}

}  // namespace fluidcore::cpu
