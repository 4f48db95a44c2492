#pragma once

// Marks a function that runs on the CPU and in CUDA kernels.
#ifdef __CUDACC__
#define FC_HOST_DEVICE __host__ __device__
#else
#define FC_HOST_DEVICE
#endif
