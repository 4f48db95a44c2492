#pragma once

#include <stdexcept>
#include <string>

#include "fluidcore/base/strings.h"

namespace fluidcore {

// Root of every exception thrown by fluidcore. Constructed from message parts:
//   throw InvalidArgument("relu: no kernel for ", dtype, " on ", device);
// Form of a message: `<operator>: <what must hold>, got <actual values>`, then the cure.
class Error : public std::runtime_error {
 public:
  template <class... Parts>
  explicit Error(const Parts&... parts) : std::runtime_error(str_cat(parts...)) {}

  // Which operator failed and where the user wrote it: "operator 3 of block 0, added at a.py:41".
  // Empty unless somebody who knows has said so. Python shows it as a note of the exception.
  const std::string& note() const { return note_; }
  void set_note(std::string note) { note_ = std::move(note); }

 private:
  std::string note_;
};

// The caller passed a wrong value, shape, dtype or attribute. Python: ValueError.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

// A name is unknown: operator, variable, attribute. Python: LookupError.
class NotFound : public Error {
 public:
  using Error::Error;
};

// Throws InvalidArgument unless `ok`. The message is built only on failure.
template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    throw InvalidArgument(parts...);
}

}  // namespace fluidcore
