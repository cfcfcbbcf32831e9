// Programmatic dependent launch: the overlap of a kernel's start with its predecessor's end. On
// architectures without it both are nothing, and launches do not ask for it.
#pragma once

namespace deepselect::cuda::ptx {

// griddepcontrol.launch_dependents (PTX ISA 9.7.13.13, sm_90): the next kernel of the stream, if it
// was launched so, may start once every CTA has said this or ended. Orders no memory.
__device__ __forceinline__ void launch_dependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// griddepcontrol.wait (PTX ISA 9.7.13.13, sm_90): returns when every kernel that this one depends
// on has ended and its writes are visible.
__device__ __forceinline__ void wait_for_dependencies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace deepselect::cuda::ptx
