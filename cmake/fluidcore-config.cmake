include(CMakeFindDependencyMacro)
find_dependency(OpenMP COMPONENTS CXX)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/fluidcore-targets.cmake)

set(fluidcore_OP_LIBRARY_SOURCE ${CMAKE_CURRENT_LIST_DIR}/op_library_version.cc)

# fluidcore_add_op_library(name source...): a library of operators for load_op_library(), lib<name>.so
# in the build folder. One of its sources defines fluidcore_register().
function(fluidcore_add_op_library name)
  add_library(${name} MODULE ${ARGN} ${fluidcore_OP_LIBRARY_SOURCE})
  target_link_libraries(${name} PRIVATE fluidcore::fluidcore)
  # As fluidcore's own operators: nobody reads errno or the exception flags, so that loops are
  # vectorized.
  target_compile_options(${name} PRIVATE -O3 -fno-math-errno -fno-trapping-math)
endfunction()
