#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fluidcore {

// By POSIX: std::filesystem asks for a newer libstdc++ than wheels may, stat() for a newer glibc.

std::optional<std::uint64_t> file_size(const std::string& path);  // null: there is no file
std::string read_file(const std::string& path);                   // throws NotFound

// Throw Error where they fail.
void make_folder(const std::string& path);  // and those above it
void move_file(const std::string& from, const std::string& to);

// Writes path.new, and then moves it to `path`: whole or not at all. Throws Error when that fails;
// then what was there is as before.
void write_file(const std::string& path, std::string_view content);

}  // namespace fluidcore
