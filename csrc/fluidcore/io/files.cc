#include "fluidcore/io/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "fluidcore/base/error.h"

namespace fluidcore {

std::optional<std::uint64_t> file_size(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);  // NOLINT(*-vararg)
  if (file < 0) return std::nullopt;
  char first = 0;
  const bool is_read = pread(file, &first, 1, 0) >= 0;  // a folder cannot be
  const off_t end = lseek(file, 0, SEEK_END);
  close(file);
  return is_read && end >= 0 ? std::optional(static_cast<std::uint64_t>(end)) : std::nullopt;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !file_size(path)) throw NotFound("load: no file ", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void make_folder(const std::string& path) {
  constexpr mode_t kAll = 0777;  // less what the user's mask takes away
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (mkdir(folder.c_str(), kAll) != 0 && errno != EEXIST) {
      throw Error("save: ", path, " must be a folder that can be made, got ",
                  std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): of glibc, it is safe
    }
    if (end == std::string::npos) return;
  }
}

void move_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return;
  throw Error("save: ", to, " must be a file that can be written, got ",
              std::strerror(errno),  // NOLINT(concurrency-mt-unsafe): of glibc, it is safe
              "; what was saved before is unchanged");
}

void write_file(const std::string& path, std::string_view content) {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  try {
    if (!file) {
      throw Error("save: ", path, " must be a file that can be written, got no room or no ",
                  "permission; what was saved before is unchanged");
    }
    move_file(fresh, path);
  } catch (const Error&) {
    std::remove(fresh.c_str());
    throw;
  }
}

}  // namespace fluidcore
