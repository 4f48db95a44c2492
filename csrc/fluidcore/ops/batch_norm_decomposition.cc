#include "fluidcore/ops/batch_norm_decomposition.h"

#include <cstdint>

namespace fluidcore {

namespace {

// The arithmetic of batch_norm_grad's decomposition, between tensors like X and one number for each
// channel.
class Channels {
 public:
  Channels(Decomposition& d, bool of_all_ranks)
      : d_(d),
        of_all_ranks_(of_all_ranks),
        axis_(channels_last(d) ? -1 : 1),
        count_(sum(d.filled_like(d.input("X"), 1.0))) {}

  // The sum over all but the channels: the gradient of something that was added to each.
  Expr sum(const Expr& x) const {
    return d_.op("elementwise_add_grad",
                 {{"X", d_.input("X")}, {"Y", d_.input("Scale")}, {"Out@GRAD", x}},
                 {{"axis", axis_}}, "Y@GRAD");
  }
  // Over the batch.
  Expr mean(const Expr& x) const { return over_ranks(sum(x) / count_); }
  // What the gradient of a mean gives each element. Where ranks have unlike numbers of elements
  // this is another number than the mean.
  Expr share(const Expr& dy) const { return over_ranks(sum(dy)) / count_; }
  Expr subtract(const Expr& x, const Expr& value) const {
    return d_.op("elementwise_sub", {{"X", x}, {"Y", value}}, {{"axis", axis_}});
  }
  Expr multiply(const Expr& x, const Expr& value) const {
    return d_.op("elementwise_mul", {{"X", x}, {"Y", value}}, {{"axis", axis_}});
  }

 private:
  Expr over_ranks(const Expr& x) const {
    if (!of_all_ranks_) return x;
    Decomposition::Inputs inputs{{"X", x}};
    if (d_.has_input("Samples")) inputs.emplace_back("Samples", d_.input("Samples"));
    return d_.op("c_average", inputs);
  }

  Decomposition& d_;
  bool of_all_ranks_;
  std::int64_t axis_;
  Expr count_;
};

}  // namespace

// With the statistics of the batch as functions of X; SavedMean and SavedVariance count as
// constants, which with is_test they are.
void decompose_batch_norm_grad(Decomposition& d, bool of_all_ranks) {
  const Channels channels(d, of_all_ranks);
  const bool is_test = d.attr<bool>("is_test");
  const Expr x = d.input("X");
  const Expr dy = d.input("Y@GRAD");
  const Expr centered = channels.subtract(x, is_test ? d.input("SavedMean") : channels.mean(x));
  const auto inverse_deviation = [&] {
    const Expr variance = channels.mean(square(centered)) + d.attr<double>("epsilon");
    return 1.0 / d.op("sqrt", {{"X", variance}});
  };
  const Expr inv_std = is_test ? d.input("SavedVariance") : inverse_deviation();
  const Expr normalized = channels.multiply(centered, inv_std);
  d.set("Bias@GRAD", channels.sum(dy));
  d.set("Scale@GRAD", channels.sum(dy * normalized));
  // What of Y@GRAD would shift or stretch the whole batch is undone by its statistics.
  const auto without_shift_and_stretch = [&] {
    const Expr stretch = channels.multiply(normalized, channels.share(dy * normalized));
    return channels.subtract(dy, channels.share(dy)) - stretch;
  };
  const Expr passed = is_test ? dy : without_shift_and_stretch();
  d.set("X@GRAD", channels.multiply(passed, d.input("Scale") * inv_std));
}

}  // namespace fluidcore
