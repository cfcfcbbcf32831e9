// Our names for what a kernel does outside vector functions: copies, flags between pipes, scalar
// accesses; and the library's sort, of dav-3510. Otherwise shared by both architectures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

// On the host every function knows the line that called it.
#if defined(DEEPSELECT_TWIN)
#include "ascend/twin/asc_kernel.h"
#define DEEPSELECT_ONLY_SITE ::deepselect::twin::Site site = ::deepselect::twin::Site::current()
#define DEEPSELECT_SITE , DEEPSELECT_ONLY_SITE
#define DEEPSELECT_AT_SITE() ::deepselect::twin::machine().at(site)
// Calls a vector function: the unit that PIPE_V executes.
#define DEEPSELECT_VECTOR_CALL(...)                                                           \
  do {                                                                                        \
    const ::deepselect::twin::VectorFunctionScope scope(::deepselect::twin::Site::current()); \
    __VA_ARGS__;                                                                              \
  } while (false)
#else
#include "kernel_operator.h"
#define DEEPSELECT_ONLY_SITE
#define DEEPSELECT_SITE
#define DEEPSELECT_AT_SITE()
#define DEEPSELECT_VECTOR_CALL(...) __VA_ARGS__
#endif

namespace deepselect::ascend::simd {

#if defined(DEEPSELECT_TWIN)

using Pipe = ::deepselect::twin::Pipe;
constexpr Pipe kPipeS = ::deepselect::twin::kScalar;
constexpr Pipe kPipeV = ::deepselect::twin::kVector;
constexpr Pipe kPipeMte2 = ::deepselect::twin::kMte2;
constexpr Pipe kPipeMte3 = ::deepselect::twin::kMte3;

template <Pipe kSource, Pipe kTarget>
void set(int id DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  ::deepselect::twin::machine().set_flag(kSource, kTarget, id);
}
template <Pipe kSource, Pipe kTarget>
void wait(int id DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  ::deepselect::twin::machine().wait_flag(kSource, kTarget, id);
}
template <Pipe kPipe>
void barrier(DEEPSELECT_ONLY_SITE) {
  DEEPSELECT_AT_SITE();
  ::deepselect::twin::machine().barrier(kPipe);
}

inline void start_kernel() {}
inline std::int64_t block_index() {
  return ::deepselect::twin::machine().block_index();
}
inline std::int64_t num_blocks() {
  return ::deepselect::twin::machine().num_blocks();
}

// The unified buffer from byte `offset` on.
template <class T>
T* ub_at(std::size_t offset) {
  return reinterpret_cast<T*>(::deepselect::twin::machine().ub() + offset);
}
template <class T>
T* as_gm(const void* pointer) {
  return static_cast<T*>(const_cast<void*>(pointer));
}

inline void copy_in(void* ub, const void* gm, std::uint32_t bytes DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  ::deepselect::twin::copy_in(ub, gm, bytes);
}
inline void copy_out(void* gm, const void* ub, std::uint32_t bytes DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  ::deepselect::twin::copy_out(gm, ub, bytes);
}
template <class T>
T load_ub(const T* address DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  return ::deepselect::twin::load_ub(address);
}
template <class T>
void store_ub(T* address, T value DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  ::deepselect::twin::store_ub(address, value);
}
template <class T>
T load_gm(const T* address DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  return ::deepselect::twin::load_gm(address);
}
template <class T>
void sort_ascending(T* sorted, std::uint32_t* source_index, T* source, std::uint8_t* scratch,
                    std::uint32_t scratch_bytes, std::uint32_t count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  ::deepselect::twin::sort_ascending(sorted, source_index, source, scratch, scratch_bytes, count);
}

#else

using Pipe = pipe_t;
constexpr Pipe kPipeS = PIPE_S;
constexpr Pipe kPipeV = PIPE_V;
constexpr Pipe kPipeMte2 = PIPE_MTE2;
constexpr Pipe kPipeMte3 = PIPE_MTE3;

template <Pipe kSource, Pipe kTarget>
__aicore__ inline void set(int id) {
  set_flag(kSource, kTarget, static_cast<event_t>(id));
}
template <Pipe kSource, Pipe kTarget>
__aicore__ inline void wait(int id) {
  wait_flag(kSource, kTarget, static_cast<event_t>(id));
}
template <Pipe kPipe>
__aicore__ inline void barrier() {
  pipe_barrier(kPipe);
}

__aicore__ inline void start_kernel() {
  AscendC::InitSocState();
}
__aicore__ inline std::int64_t block_index() {
  return AscendC::GetBlockIdx();
}
__aicore__ inline std::int64_t num_blocks() {
  return AscendC::GetBlockNum();
}

template <class T>
__aicore__ inline __ubuf__ T* ub_at(std::size_t offset) {
  return reinterpret_cast<__ubuf__ T*>(offset);
}
template <class T>
__aicore__ inline __gm__ T* as_gm(const void* pointer) {
  return (__gm__ T*)(const_cast<void*>(pointer));
}

// One burst of bytes without padding values.
#if __NPU_ARCH__ == 2201
template <class T>
__aicore__ inline AscendC::LocalTensor<std::uint8_t> ub_bytes_at(__ubuf__ T* ub,
                                                                 std::uint32_t bytes) {
  return AscendC::LocalTensor<std::uint8_t>(AscendC::TPosition::VECCALC,
                                            (std::uint32_t)(std::uint64_t)ub, bytes);
}
template <class T>
__aicore__ inline AscendC::GlobalTensor<std::uint8_t> gm_bytes_at(__gm__ T* gm,
                                                                  std::uint32_t bytes) {
  AscendC::GlobalTensor<std::uint8_t> tensor;
  tensor.SetGlobalBuffer((__gm__ std::uint8_t*)gm, bytes);
  return tensor;
}
template <class T>
__aicore__ inline void copy_in(__ubuf__ T* ub, __gm__ T* gm, std::uint32_t bytes) {
  const AscendC::DataCopyExtParams burst{1, bytes, 0, 0, 0};
  const AscendC::DataCopyPadExtParams<std::uint8_t> no_padding{false, 0, 0, 0};
  AscendC::DataCopyPad(ub_bytes_at(ub, bytes), gm_bytes_at(gm, bytes), burst, no_padding);
}
template <class T>
__aicore__ inline void copy_out(__gm__ T* gm, __ubuf__ T* ub, std::uint32_t bytes) {
  const AscendC::DataCopyExtParams burst{1, bytes, 0, 0, 0};
  AscendC::DataCopyPad(gm_bytes_at(gm, bytes), ub_bytes_at(ub, bytes), burst);
}
#else
// The strides do not matter for one burst.
template <class T>
__aicore__ inline void copy_in(__ubuf__ T* ub, __gm__ T* gm, std::uint32_t bytes) {
  copy_gm_to_ubuf_align_v2((__ubuf__ std::uint8_t*)ub, (__gm__ std::uint8_t*)gm, 0, 1, bytes, 0, 0,
                           false, 0, bytes, bytes);
}
template <class T>
__aicore__ inline void copy_out(__gm__ T* gm, __ubuf__ T* ub, std::uint32_t bytes) {
  copy_ubuf_to_gm_align_v2((__gm__ void*)gm, (__ubuf__ void*)ub, 0, 1, bytes, 0, bytes, bytes);
}
#endif
template <class T>
__aicore__ inline T load_ub(__ubuf__ T* address) {
  return *address;
}
template <class T>
__aicore__ inline void store_ub(__ubuf__ T* address, T value) {
  *address = value;
}
template <class T>
__aicore__ inline T load_gm(__gm__ T* address) {
  return *address;
}
#if __NPU_ARCH__ != 2201
template <class T>
__aicore__ inline void sort_ascending(__ubuf__ T* sorted, __ubuf__ std::uint32_t* source_index,
                                      __ubuf__ T* source, __ubuf__ std::uint8_t* scratch,
                                      std::uint32_t scratch_bytes, std::uint32_t count) {
  using AscendC::LocalTensor;
  constexpr auto kPosition = AscendC::TPosition::VECCALC;
  LocalTensor<T> sorted_tensor(kPosition, (std::uint32_t)(std::uint64_t)sorted, count);
  LocalTensor<std::uint32_t> index_tensor(kPosition, (std::uint32_t)(std::uint64_t)source_index,
                                          count);
  LocalTensor<T> source_tensor(kPosition, (std::uint32_t)(std::uint64_t)source, count);
  LocalTensor<std::uint8_t> scratch_tensor(kPosition, (std::uint32_t)(std::uint64_t)scratch,
                                           scratch_bytes);
  AscendC::Sort<T>(sorted_tensor, index_tensor, source_tensor, scratch_tensor, count);
}
#endif

#endif

}  // namespace deepselect::ascend::simd
