#pragma once

#include <exception>
#include <utility>

#include "fluidcore/runtime/interruption.h"

namespace fluidcore::gradcheck {

// What a Function throws when that says nothing about the point: the user's interrupt, or outputs
// that are not those of the first run. It is no std::exception, so that nobody takes it for the
// edge of f's domain. The functions that a caller calls throw `cause` in its place.
struct Unrecoverable {
  std::exception_ptr cause;

  template <class Cause>
  static Unrecoverable because(Cause cause) {
    return {std::make_exception_ptr(std::move(cause))};
  }
};

// Calls f, and throws the cause of an Unrecoverable in its place.
template <class F>
decltype(auto) with_plain_exceptions(const F& f) {
  try {
    return f();
  } catch (const Unrecoverable& unrecoverable) {
    std::rethrow_exception(unrecoverable.cause);
  }
}

// Calls f, unless `interruption` is over; what f throws once it is over is Unrecoverable. Null: no
// interruption.
template <class F>
decltype(auto) interruptible(Interruption* interruption, const F& f) {
  if (interruption == nullptr) return f();
  try {
    interruption->check("gradcheck");
    return f();
  } catch (const Unrecoverable&) {
    throw;
  } catch (...) {
    if (interruption->is_over()) throw Unrecoverable{std::current_exception()};
    throw;
  }
}

}  // namespace fluidcore::gradcheck
