# Lets a module that is linked on a new Linux run on an old one: what the old one has not is linked into it.
function(link_with_old_libraries module)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    message(FATAL_ERROR "FLUIDCORE_PORTABLE: must be on Linux and x86_64, "
                        "got ${CMAKE_SYSTEM_NAME} and ${CMAKE_SYSTEM_PROCESSOR}")
  endif()
  set(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/glibc_2_28.cc")
  target_sources(${module} PRIVATE "${source}")
  # It declares what headers of a new Linux declare otherwise.
  set_source_files_properties("${source}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                                                     SKIP_UNITY_BUILD_INCLUSION ON)
  foreach(
    name
    exp
    log
    pow
    hypot
    pthread_once
    pthread_rwlock_rdlock
    pthread_rwlock_unlock
    pthread_rwlock_wrlock
    dlerror
    dlopen
    dlsym
    pthread_cond_clockwait
    _ZNSt15__exception_ptr13exception_ptr9_M_addrefEv
    _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv)
    target_link_options(${module} PRIVATE "-Wl,--wrap=${name}")
  endforeach()
  # std::to_chars of floating numbers, of GCC 11.
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a
    OUTPUT_VARIABLE archive
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(
    COMMAND ${CMAKE_AR} x "${archive}" floating_to_chars.o
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" COMMAND_ERROR_IS_FATAL ANY)
  target_link_libraries(${module} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/floating_to_chars.o")
endfunction()
