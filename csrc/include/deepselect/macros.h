// DEEPSELECT_HOST_DEVICE marks functions that kernels call as well.
#pragma once

#if defined(__CUDACC__)
#define DEEPSELECT_HOST_DEVICE __host__ __device__
#elif defined(__CCE__)  // bisheng
#define DEEPSELECT_HOST_DEVICE [ host, aicore ]
#else
#define DEEPSELECT_HOST_DEVICE
#endif
