#include "fluidcore/gradcheck/input_message.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "fluidcore/base/strings.h"

namespace fluidcore::gradcheck {

namespace {

std::string number(double value, const char* format = "%.9g") {
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// 5 of [2, 3] is "[1, 2]".
std::string index_text(const Shape& shape, std::int64_t index) {
  std::vector<std::int64_t> position(shape.rank());
  for (std::size_t d = position.size(); d-- > 0;) {
    position[d] = index % shape[d];
    index /= shape[d];
  }
  return to_string(Shape(std::move(position)));
}

}  // namespace

std::string message_of(const InputCheck& check) {
  const std::int64_t size = check.spec.shape.num_elements();
  std::string text = str_cat("\n  ", check.name, " ", check.spec, ": ", check.verdict);
  if (!check.reason.empty()) text += str_cat(" (", check.reason, ")");
  if (check.verdict == Verdict::kPass) {
    const std::string way =
        check.directions > 0 ? str_cat(" along ", check.directions, " random directions") : "";
    return text + str_cat(", a relative error of ", number(check.resolution, "%.2g"),
                          " would have been seen", way);
  }
  if (check.narrowed_to) {
    text += str_cat(", every element is a number of ", *check.narrowed_to,
                    ", though the gradient is not");
  }
  const bool is_fail = check.verdict == Verdict::kFail;
  const std::int64_t count = is_fail ? check.num_wrong : check.num_unsure;
  if (count == 0) {
    return check.reason == "domain" ? text + ", f or its gradient is not finite" : text;
  }
  const std::string what = check.directions > 0 ? str_cat(check.directions, " random directions")
                                                : str_cat(size, " elements");
  const std::string where = check.directions > 0
                                ? str_cat("along direction ", check.index)
                                : "at " + index_text(check.spec.shape, check.index);
  const bool is_kernel = check.reason == "kernel-mismatch";
  return text + str_cat(", ", count, " of ", what, is_fail ? " wrong" : " unsure", "\n    worst ",
                        where, ": gradient ", number(check.analytical),
                        is_kernel ? ", formula " : ", numerical ", number(check.numerical), " +- ",
                        number(check.error_bar, "%.2g"), ", limit of the difference ",
                        number(check.limit, "%.2g"));
}

}  // namespace fluidcore::gradcheck
