# What the CUDA kernels are built with: a compiler, the runtime, which is linked in, and the headers of
# cuBLASLt, which is loaded when it is first used. All of them are in NVIDIA's packages on PyPI, whose
# folders are searched too.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90 100 120)
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
find_package(Python COMPONENTS Interpreter)
if(Python_EXECUTABLE)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import sysconfig; print(sysconfig.get_path('purelib'))"
    OUTPUT_VARIABLE packages
    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
find_path(FLUIDCORE_CUBLAS_INCLUDE cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${packages}/nvidia/cu13/include
                                                    ${packages}/nvidia/cublas/include REQUIRED)
# Several GPUs need NCCL; without its headers they exchange through the host.
find_path(FLUIDCORE_NCCL_INCLUDE nccl.h HINTS ${packages}/nvidia/nccl/include)
