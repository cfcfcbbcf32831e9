// DEEPSELECT_HOST_DEVICE marks functions that kernels call as well.
#pragma once

#if defined(__CUDACC__)
#define DEEPSELECT_HOST_DEVICE __host__ __device__
#else
#define DEEPSELECT_HOST_DEVICE
#endif
