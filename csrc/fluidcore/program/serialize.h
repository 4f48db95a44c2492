#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace fluidcore {

class ProgramDesc;

// The version of program files that this library writes, and the newest it reads.
inline constexpr int kProgramVersion = 1;

// The program as JSON text. The same program gives the same text.
std::string to_json(const ProgramDesc& program);

// Reads what to_json wrote. Nothing in the text is executed or trusted: truncated text, wrong
// types, a newer version, block indices that do not exist or form a cycle, negative sizes and
// duplicate names throw InvalidArgument with the place in the file.
std::unique_ptr<ProgramDesc> program_from_json(std::string_view text);

}  // namespace fluidcore
