// Compiles every formula of *functors.h and gated_units.h, and every rule of update_rules.h, for
// CUDA devices, so that one that only a CPU can calculate does not get in. The library's CUDA
// kernels will use them; it has none yet.

#include <cstdint>

#include "fluidcore/kernels/functors.h"
#include "fluidcore/kernels/gated_units.h"
#include "fluidcore/kernels/loss_functors.h"
#include "fluidcore/kernels/piecewise_functors.h"
#include "fluidcore/kernels/smooth_functors.h"
#include "fluidcore/kernels/update_rules.h"

namespace fluidcore::cuda {

namespace {

template <class Formula, class T, class... Inputs>
__global__ void apply(T* out, Formula formula, const Inputs*... in) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  out[i] = static_cast<T>(formula(in[i]...));
}

template <class T, class... Formulas>
void unary(T* data) {
  (apply<<<1, 1>>>(data, Formulas{}, data), ...);
}

template <class T, class... Formulas>
void binary(T* data) {
  (apply<<<1, 1>>>(data, Formulas{}, data, data), ...);
}

template <class T, class... Formulas>
void ternary(T* data) {
  (apply<<<1, 1>>>(data, Formulas{}, data, data, data), ...);
}

template <class T, class... Formulas>
void quaternary(T* data) {
  (apply<<<1, 1>>>(data, Formulas{}, data, data, data, data), ...);
}

template <class T>
__global__ void units(T* data) {
  const LstmGates<T> lstm{data[0], data[1], data[2], data[3]};
  const LstmUnit::State<T> state = LstmUnit()(lstm, data[4]);
  const GruGates<T> gru{data[0], data[1], data[2]};
  data[0] = LstmUnit().gradient(lstm, data[4], state).cell + GruCell()(gru, gru, data[4]);
  data[1] = GruCell().gradient(gru, gru, data[4], data[0]).before;
}

template <class Rule, class T, class... State>
__global__ void step(Rule rule, const T* grad, State*... state) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  rule(grad[i], state[i]...);
}

template <class... Rules, class T, class... State>
void steps(const T* grad, State*... state) {
  (step<<<1, 1>>>(Rules{}, grad, state...), ...);
}

}  // namespace

template <class T>
void check_formulas(T* data) {
  units<<<1, 1>>>(data);
  unary<T, Identity, Negate, Relu, Sigmoid, Tanh, Exp, Log, Sin, Cos, Sqrt, Square, Abs, Sign, Erf,
        GeluErf, GeluTanh, Clip, Scale, LogicalNot, Swish, Mish, Softplus, SoftRelu, LogSigmoid,
        Softsign, ScaledTanh, TanhShrink, Elu, Reciprocal, Power, SmallPower, LeakyRelu,
        ThresholdedRelu, HardSigmoid, HardShrink, SoftShrink, Ceil, Floor, Round, IsNan, IsInf,
        IsFinite>(data);
  binary<T, ReluGrad, SigmoidGrad, TanhGrad, ExpGrad, LogGrad, SinGrad, CosGrad, SqrtGrad,
         SquareGrad, AbsGrad, ErfGrad, GeluErfGrad, GeluTanhGrad, ClipGrad, Add, Sub, Mul, Div,
         FloorDiv, Mod, Max, Min, Pow, Less, LessEqual, Equal, NotEqual, LogicalAnd, LogicalOr,
         LogicalXor, SwishGrad, MishGrad, SoftplusGrad, SoftReluGrad, LogSigmoidGrad, SoftsignGrad,
         ScaledTanhGrad, TanhShrinkGrad, EluGrad, ReciprocalGrad, PowerGrad, SmallPowerGrad,
         LeakyReluGrad, NegativePart, ThresholdedReluGrad, HardSigmoidGrad, ShrinkGrad>(data);
  ternary<T, ModGradX, ModGradY, DivGradX, DivGradY, MaxGradX, MaxGradY, MinGradX, MinGradY,
          PowGradX, PowGradY>(data);
  binary<T, HingeLoss, HuberLoss, HuberResidual, LogLoss, ModifiedHuberLoss, SignedPrediction,
         SigmoidCrossEntropy, KlDiv>(data);
  ternary<T, HingeLossGradLogits, HingeLossGradLabels, HuberLossGradX, HuberLossGradY,
          LogLossGradPredicted, LogLossGradLabels, MarginRankLoss, MarginRankActivated,
          ModifiedHuberLossGradX, ModifiedHuberLossGradY, SigmoidCrossEntropyGradX,
          SigmoidCrossEntropyGradLabel, RankLoss, KlDivGradX, KlDivGradTarget>(data);
  quaternary<T, MarginRankLossGradX1, MarginRankLossGradX2, MarginRankLossGradLabel,
             RankLossGradLabel, RankLossGradLeft, RankLossGradRight>(data);
  steps<SgdRule, ProximalGdRule>(data, data);
  steps<MomentumRule, AdagradRule, DecayedAdagradRule, LambRule, LionRule, ProximalAdagradRule>(
      data, data, data);
  steps<AdamRule, AdamaxRule, AdadeltaRule, NadamRule, RmspropRule, FtrlRule>(data, data, data,
                                                                              data);
}

template void check_formulas(float* data);
template void check_formulas(double* data);

}  // namespace fluidcore::cuda
