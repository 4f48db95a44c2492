#pragma once

#include <cstdint>
#include <vector>

#include "fluidcore/gradcheck/difference/derivatives.h"
#include "fluidcore/gradcheck/difference/ladder.h"
#include "fluidcore/gradcheck/difference/question.h"
#include "fluidcore/gradcheck/function/moved_outputs.h"

namespace fluidcore::gradcheck {

// What becomes of the slots of a row at its end, and their sums for each cotangent: G = Σ v_j G_j,
// E = √Σ (v_j E_j)², [low, high] = Σ v_j [low_j, high_j], scale = Σ |v_j G_j|.

// Replaces kBest, kError, kLow and kHigh by value, error bar and hull; returns DerivativeFlags. The
// error bar of a slot without derivative is infinite.
std::uint8_t settle_slots(Ladder& ladder,
                          std::int64_t begin,
                          std::int64_t end,
                          const Ladder::Progress& progress,
                          bool one_sided);

// Writes column `position` of `to` from the slots of a row that settle_slots has seen to.
void project(const Ladder& ladder,
             const MovedOutputs& moved,
             std::int64_t row,
             const Question& question,
             std::int64_t position,
             Derivatives& to);

void write_no_derivative(std::int64_t position, Derivatives& to);

// Widens the error bars of column `position` by what outputs of the row that never moved may hide:
// `rounding` times their size. Entry [cotangent, position] of `absorbed` gets that part.
void add_absorption(const MovedOutputs& moved,
                    const double* base,
                    std::int64_t row,
                    const Question& question,
                    double rounding,
                    std::int64_t position,
                    Derivatives& to,
                    std::vector<double>& absorbed);

// Sets kAbsorbed where it holds; `resolution` is that of the dtype.
void flag_absorbed(const std::vector<double>& absorbed,
                   double resolution,
                   Derivatives& derivatives);

}  // namespace fluidcore::gradcheck
