#pragma once

#include <string>
#include <string_view>

namespace fluidcore {

// The SHA-256 of bytes as 64 hexadecimal digits (FIPS 180-4): by it the two files of a saved model
// know each other.
std::string sha256(std::string_view bytes);

}  // namespace fluidcore
