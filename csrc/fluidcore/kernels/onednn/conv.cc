#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "fluidcore/base/threads.h"
#include "fluidcore/kernels/cpu/elementwise.h"
#include "fluidcore/kernels/cpu/isa.h"
#include "fluidcore/kernels/onednn/layout.h"
#include "fluidcore/kernels/onednn/onednn.h"
#include "fluidcore/kernels/onednn/pipeline.h"

namespace fluidcore::onednn {

namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

// The three tensors as they lie in memory, and in the layout that the primitive gets: images with
// their channels last as they are, so that nothing is copied, others as oneDNN likes best. It
// likes blocks of channels, too, where its kernels for channels that come last, which work on one
// row of pixels at a time, would find short ones.
struct ConvDescs {
  ConvDescs(const ConvProblem& p, dnnl::memory::data_type type)
      : is_last(p.channels_last),
        stays(p.channels_last && p.out[kWidth] >= kShortRow),
        input(image(with_axes({p.batch, p.channels}, p.in, p.axes), type)),
        filter(plain(
            p.groups == 1
                ? with_axes({p.filters, p.channels}, p.kernel, p.axes)
                : with_axes(
                      {p.groups, p.filters / p.groups, p.channels / p.groups}, p.kernel, p.axes),
            type)),
        output(image(with_axes({p.batch, p.filters}, p.out, p.axes), type)),
        strides(with_axes({}, p.stride, p.axes)),
        dilations(with_axes({}, p.dilation, p.axes)),
        padding(with_axes({}, p.pad, p.axes)) {
    for (std::int64_t& dilation : dilations) --dilation;  // oneDNN counts what lies between
  }

  static Desc any(const Desc& desc) { return {desc.get_dims(), desc.get_data_type(), Tag::any}; }

  Desc image(const dnnl::memory::dims& dims, dnnl::memory::data_type type) const {
    return is_last ? channels_last(dims, type) : plain(dims, type);
  }
  Desc of_primitive(const Desc& image) const {
    return stays ? channels_last(image.get_dims(), image.get_data_type()) : any(image);
  }

  static constexpr std::int64_t kShortRow = 8;
  bool is_last;
  bool stays;
  Desc input;
  Desc filter;
  Desc output;
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;
  dnnl::memory::dims padding;
};

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc forward(const Pipeline& pipeline, const ConvDescs& d) {
  return {pipeline.engine(),
          dnnl::prop_kind::forward_training,
          kDirect,
          d.of_primitive(d.input),
          ConvDescs::any(d.filter),
          d.of_primitive(d.output),
          d.strides,
          d.dilations,
          d.padding,
          d.padding,
          with_scratchpad()};
}

// Adds `primitive` with its result in the layout `desc`, and the copy into the plain `result`.
template <class PrimitiveDesc>
void add_with_result(Pipeline& pipeline,
                     const dnnl::primitive& primitive,
                     const PrimitiveDesc& primitive_desc,
                     std::pair<int, dnnl::memory> first,
                     std::pair<int, dnnl::memory> second,
                     int result_index,
                     const Desc& result_desc,
                     const dnnl::memory& result) {
  const bool plain = result_desc == result.get_desc();
  const dnnl::memory out = plain ? result : pipeline.temporary(result_desc);
  pipeline.add(primitive, primitive_desc.scratchpad_desc(),
               {std::move(first), std::move(second), {result_index, out}});
  if (!plain) pipeline.copy(out, result);
}

// make(pipeline, descs) adds the steps.
template <class T, class Out = T, class Make>
Prepared2<T, Out> prepare_steps(const char* what, const ConvProblem& p, const Make& make) {
  if (p.is_empty() || !is_native<T>()) return {};
  return prepare(what, p.flops(), [&]() -> Prepared2<T, Out> {
    auto pipeline = std::make_shared<Pipeline>();
    make(*pipeline, ConvDescs(p, kDataType<T>));
    return [pipeline](const T* first, const T* second, Out* out) {
      pipeline->run({first, second, out});
    };
  });
}

// One of the parts that the gradient of a filter is calculated in: some of the images, whose
// results are added up, or some of the filters.
struct FilterGradPart {
  ConvProblem problem;
  std::int64_t input = 0;   // where it starts in the input,
  std::int64_t output = 0;  // in the gradient of the output
  std::int64_t result = 0;  // and in the gradient of the filter
};

// The largest power of two that is at most `limit`, and at least 1.
std::int64_t power_of_two(double limit) {
  std::int64_t power = 1;
  while (2.0 * static_cast<double>(power) <= limit) power *= 2;
  return power;
}

std::vector<FilterGradPart> cut_filter_grad(const ConvProblem& p) {
  constexpr double kMaxParts = 8;
  constexpr double kWork = 4e6;    // operations that are worth a part of their own
  constexpr double kPixels = 480;  // for each part, so that adding the results up costs little
  constexpr double kFilters = 32;  // two of oneDNN's blocks
  const auto pixels = static_cast<double>(p.batch * p.out_plane());
  const double limit = std::min(kMaxParts, p.flops() / kWork);
  const std::int64_t by_batch =
      power_of_two(std::min({limit, pixels / kPixels, static_cast<double>(p.batch)}));
  const std::int64_t by_filter =
      by_batch > 1 || p.groups > 1
          ? 1
          : power_of_two(std::min(limit, static_cast<double>(p.filters) / kFilters));
  std::vector<FilterGradPart> parts;
  for (std::int64_t i = 0; i < by_batch * by_filter; ++i) {
    FilterGradPart part{p};
    if (by_batch > 1) {
      const std::int64_t first = p.batch * i / by_batch;
      part.problem.batch = p.batch * (i + 1) / by_batch - first;
      part.input = first * p.channels * p.in_plane();
      part.output = first * p.filters * p.out_plane();
    } else {
      const std::int64_t first = p.filters * i / by_filter;
      part.problem.filters = p.filters * (i + 1) / by_filter - first;
      part.output = first * (p.channels_last ? 1 : p.out_plane());
      part.result = first * p.taps();
    }
    parts.push_back(part);
  }
  return parts;
}

// Leaves float32, in which parts are added up.
template <class T>
Prepared2<T, float> prepare_filter_grad_part(const ConvProblem& problem, std::int64_t all_filters) {
  return prepare_steps<T, float>(
      "convolution gradient", problem, [&](Pipeline& pipeline, ConvDescs d) {
        dnnl::memory::dims all = d.output.get_dims();
        all[1] = all_filters;
        d.output =
            Desc(d.output.get_dims(), kDataType<T>, d.image(all, kDataType<T>).get_strides());
        const Desc filter_grad = plain(d.filter.get_dims());
        const dnnl::convolution_backward_weights::primitive_desc desc(
            pipeline.engine(), kDirect, d.of_primitive(d.input), ConvDescs::any(filter_grad),
            d.of_primitive(d.output), d.strides, d.dilations, d.padding, d.padding,
            forward(pipeline, d), with_scratchpad());
        const dnnl::memory input = pipeline.converted(pipeline.external(d.input), desc.src_desc());
        const dnnl::memory output_grad =
            pipeline.converted(pipeline.external(d.output), desc.diff_dst_desc());
        add_with_result(pipeline, dnnl::convolution_backward_weights(desc), desc,
                        {DNNL_ARG_SRC, input}, {DNNL_ARG_DIFF_DST, output_grad},
                        DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc(),
                        pipeline.external(filter_grad));
      });
}

// The prepared parts, and where those that are added up, or rounded, leave their results.
template <class T>
struct FilterGradParts {
  struct Prepared {
    FilterGradPart part;
    Prepared2<T, float> calculate;
    std::exception_ptr error;  // a thread must not let an exception out
  };

  // Parts of the batch all start at the first filter.
  bool sums() const { return parts.size() > 1 && parts[1].part.result == 0; }
  static constexpr bool kRounds = !std::is_same_v<T, float>;

  void reserve(const ConvProblem& problem) {
    size = static_cast<std::size_t>(problem.filters * problem.taps());
    partial.resize(size * ((sums() ? parts.size() - 1 : 0) + (kRounds ? 1 : 0)));
  }

  void run(const T* input, const T* output_grad, T* filter_grad) {
    float* sum = nullptr;
    float* more = partial.data();
    if constexpr (kRounds) {
      sum = std::exchange(more, more + size);
    } else {
      sum = filter_grad;
    }
    const bool adds = sums();
    parallel_for(static_cast<std::int64_t>(parts.size()), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     Prepared& p = parts[static_cast<std::size_t>(i)];
                     float* result = adds && i > 0 ? more + (i - 1) * size : sum + p.part.result;
                     try {
                       p.calculate(input + p.part.input, output_grad + p.part.output, result);
                     } catch (...) {
                       p.error = std::current_exception();
                     }
                   }
                 });
    for (Prepared& p : parts) {
      if (p.error) std::rethrow_exception(std::exchange(p.error, nullptr));
    }
    const cpu::Isa isa = cpu::cpu_isa();
    for (std::size_t i = 0; adds && i + 1 < parts.size(); ++i, more += size) {
      cpu::run_on(isa, [=, this] {
        for (std::size_t k = 0; k < size; ++k) sum[k] += more[k];
      });
    }
    if constexpr (kRounds) {
      cpu::convert_row(isa, static_cast<std::int64_t>(size), filter_grad, sum);
    }
  }

  std::vector<Prepared> parts;
  std::size_t size = 0;  // of the gradient of the filter
  std::vector<float> partial;
};

}  // namespace

template <class T>
PreparedWeights<T> prepare_conv(const ConvProblem& problem) {
  if (problem.is_empty() || !is_native<T>()) return {};
  return prepare("convolution", problem.flops(), [&]() -> PreparedWeights<T> {
    auto pipeline = std::make_shared<Pipeline>();
    const ConvDescs d(problem, kDataType<T>);
    const auto desc = forward(*pipeline, d);
    const dnnl::memory input = pipeline->converted(pipeline->external(d.input), desc.src_desc());
    const dnnl::memory filter = pipeline->kept(pipeline->external(d.filter), desc.weights_desc());
    add_with_result(*pipeline, dnnl::convolution_forward(desc), desc, {DNNL_ARG_SRC, input},
                    {DNNL_ARG_WEIGHTS, filter}, DNNL_ARG_DST, desc.dst_desc(),
                    pipeline->external(d.output));
    return [pipeline](const T* in, const T* weights, std::uint64_t version, T* out) {
      pipeline->run({in, weights, out}, version);
    };
  });
}

template PreparedWeights<float> prepare_conv(const ConvProblem&);
template PreparedWeights<BFloat16> prepare_conv(const ConvProblem&);

template <class T>
Prepared2<T> prepare_conv_input_grad(const ConvProblem& problem) {
  // oneDNN works on blocks of channels: for an image of 1 or 3 the product of matrices is faster.
  constexpr std::int64_t kFewChannels = 3;
  if (problem.channels <= kFewChannels) return {};
  return prepare_steps<T>(
      "convolution gradient", problem, [](Pipeline& pipeline, const ConvDescs& d) {
        const dnnl::convolution_backward_data::primitive_desc desc(
            pipeline.engine(), kDirect, d.of_primitive(d.input), ConvDescs::any(d.filter),
            d.of_primitive(d.output), d.strides, d.dilations, d.padding, d.padding,
            forward(pipeline, d), with_scratchpad());
        const dnnl::memory output_grad =
            pipeline.converted(pipeline.external(d.output), desc.diff_dst_desc());
        const dnnl::memory filter =
            pipeline.converted(pipeline.external(d.filter), desc.weights_desc());
        add_with_result(pipeline, dnnl::convolution_backward_data(desc), desc,
                        {DNNL_ARG_DIFF_DST, output_grad}, {DNNL_ARG_WEIGHTS, filter},
                        DNNL_ARG_DIFF_SRC, desc.diff_src_desc(), pipeline.external(d.input));
      });
}

template Prepared2<float> prepare_conv_input_grad(const ConvProblem&);
template Prepared2<BFloat16> prepare_conv_input_grad(const ConvProblem&);

// The gradient of the filter is a sum over the images of a batch. oneDNN gives some of the images
// to each thread, so that the rounding of its result depends on the number of threads. Here the
// problem decides how the work is cut; each part runs on one thread.
template <class T>
Prepared2<T> prepare_conv_filter_grad(const ConvProblem& problem) {
  if (problem.is_empty()) return {};
  auto parts = std::make_shared<FilterGradParts<T>>();
  for (const FilterGradPart& part : cut_filter_grad(problem)) {
    const ThreadCountScope one_thread(1);
    auto prepared = prepare_filter_grad_part<T>(part.problem, problem.filters);
    if (!prepared) return {};
    parts->parts.push_back({part, std::move(prepared), nullptr});
  }
  parts->reserve(problem);
  return [parts](const T* input, const T* output_grad, T* filter_grad) {
    parts->run(input, output_grad, filter_grad);
  };
}

template Prepared2<float> prepare_conv_filter_grad(const ConvProblem&);
template Prepared2<BFloat16> prepare_conv_filter_grad(const ConvProblem&);

}  // namespace fluidcore::onednn
