# nlohmann_json::nlohmann_json from an installed CMake package or from the PyPI package
# "nlohmann-json", which holds the headers but no CMake files.
find_package(nlohmann_json 3.11 CONFIG QUIET)
if(NOT TARGET nlohmann_json::nlohmann_json)
  set(where_code "import nlohmann_json, os; print(os.path.dirname(nlohmann_json.__file__))")
  if(Python_Interpreter_FOUND)
    execute_process(
      COMMAND ${Python_EXECUTABLE} -c "${where_code}"
      OUTPUT_VARIABLE nlohmann_json_root
      OUTPUT_STRIP_TRAILING_WHITESPACE
      ERROR_QUIET)
  endif()
  find_path(
    FLUIDCORE_JSON_INCLUDE nlohmann/json.hpp
    HINTS ${nlohmann_json_root}/include REQUIRED)
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
  target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${FLUIDCORE_JSON_INCLUDE})
endif()
