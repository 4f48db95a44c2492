#pragma once

namespace fluidcore::bindings {

// Whether this thread is in a TimeLimit whose time is over.
bool is_out_of_time();

}  // namespace fluidcore::bindings
