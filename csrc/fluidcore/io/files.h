#pragma once

#include <string>
#include <string_view>

namespace fluidcore {

std::string read_file(const std::string& path);  // throws NotFound

// Writes path.new, and then moves it to `path`: whole or not at all. Throws Error when that fails;
// then what was there is as before.
void write_file(const std::string& path, std::string_view content);

}  // namespace fluidcore
