// Stand-in for Ascend C's basic API: declarations, from its documentation, of what the kernels
// call, so that an ordinary compiler can check the calls. Nothing is defined. Address spaces are
// absent.
#pragma once

#include <cstdint>

#if __NPU_ARCH__ != 2201 && __NPU_ARCH__ != 3510
#error "__NPU_ARCH__ must be 2201 or 3510"
#endif

#define __aicore__
#define __global__
#define __vector__
#define __ubuf__
#define __gm__

enum pipe_t { PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3, PIPE_ALL };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5 };

void set_flag(pipe_t source, pipe_t target, event_t id);
void wait_flag(pipe_t source, pipe_t target, event_t id);
void pipe_barrier(pipe_t pipe);

#if __NPU_ARCH__ == 3510
template <class T>
void copy_gm_to_ubuf_align_v2(T* dst, T* src, std::uint8_t sid, std::uint16_t n_burst,
                              std::uint32_t len_burst, std::uint8_t left_pad,
                              std::uint8_t right_pad, bool const_pad, std::uint8_t l2_mode,
                              std::uint64_t src_stride, std::uint64_t dst_stride);
void copy_ubuf_to_gm_align_v2(void* dst, void* src, std::uint8_t sid, std::uint16_t n_burst,
                              std::uint32_t len_burst, std::uint8_t l2_mode,
                              std::uint64_t dst_stride, std::uint64_t src_stride);
#endif

// A type of the compiler's own.
struct half {
  std::uint16_t bits;
};

namespace AscendC {

enum class TPosition : std::uint8_t { VECIN, VECOUT, VECCALC };
enum class RoundMode { CAST_NONE, CAST_RINT };
enum class CMPMODE : std::uint8_t { LT, GT, EQ, LE, GE, NE };

template <class T>
struct LocalTensor {
  LocalTensor(TPosition position, std::uint32_t address, std::uint32_t num_items);
};
template <class T>
struct GlobalTensor {
  void SetGlobalBuffer(T* buffer, std::uint64_t num_items);
};

void InitSocState();
std::int64_t GetBlockIdx();
std::int64_t GetBlockNum();

#if __NPU_ARCH__ == 3510

template <class T>
void Sort(LocalTensor<T>& dst, LocalTensor<std::uint32_t>& dst_index, const LocalTensor<T>& src,
          const LocalTensor<std::uint8_t>& scratch, const std::uint32_t count);

#else

// What the documentation lists for Atlas A2: T is one of Types.
template <class T, class... Types>
concept OneOf = (__is_same(T, Types) || ...);
using ::half;
using I16 = std::int16_t;
using U16 = std::uint16_t;
using I32 = std::int32_t;
using U32 = std::uint32_t;

struct DataCopyExtParams {
  U16 blockCount;
  U32 blockLen;
  U32 srcStride;
  U32 dstStride;
  U32 rsv;
};
template <class T>
struct DataCopyPadExtParams {
  bool isPad;
  std::uint8_t leftPadding;
  std::uint8_t rightPadding;
  T paddingValue;
};
template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                 const DataCopyExtParams& params, const DataCopyPadExtParams<T>& padding);
template <class T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                 const DataCopyExtParams& params);

template <OneOf<I16, U16, half, I32, U32, float> T>
void Duplicate(const LocalTensor<T>& dst, const T& value, const I32& count);
template <OneOf<I16, U16, half, I32, U32, float> T>
void Duplicate(const LocalTensor<T>& dst, const T& value, std::uint64_t mask[],
               const std::uint8_t repeat_times, const U16 dst_block_stride,
               const std::uint8_t dst_repeat_stride);

#define STANDIN_BINARY(name, ...)                                                        \
  template <OneOf<__VA_ARGS__> T>                                                        \
  void name(const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b, \
            const I32& count)
STANDIN_BINARY(Add, I16, half, I32, float);
STANDIN_BINARY(Sub, I16, half, I32, float);
STANDIN_BINARY(Max, I16, half, I32, float);
STANDIN_BINARY(Min, I16, half, I32, float);
STANDIN_BINARY(And, I16, U16);
STANDIN_BINARY(Or, I16, U16);
#undef STANDIN_BINARY

template <OneOf<I16, U16> T>
void Not(const LocalTensor<T>& dst, const LocalTensor<T>& src, const I32& count);

#define STANDIN_SCALAR(name, ...)                                                 \
  template <OneOf<__VA_ARGS__> T>                                                 \
  void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& value, \
            const I32& count)
STANDIN_SCALAR(Adds, I16, half, I32, float);
STANDIN_SCALAR(Muls, I16, half, I32, float);
STANDIN_SCALAR(Maxs, I16, half, I32, float);
STANDIN_SCALAR(Mins, I16, half, I32, float);
STANDIN_SCALAR(ShiftLeft, I16, U16, I32, U32);
STANDIN_SCALAR(ShiftRight, I16, U16, I32, U32);
#undef STANDIN_SCALAR

template <class T, class U>
  requires(OneOf<T, float> && OneOf<U, I16>) || (OneOf<T, I32> && OneOf<U, float>)
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode,
          const U32 count);

// int32 for equality only.
template <OneOf<half, float, I32> T, OneOf<std::uint8_t> U>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src, const T value, CMPMODE mode,
              U32 count);
template <OneOf<half, float, I32> T, OneOf<std::int8_t, std::uint8_t> U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
             CMPMODE mode, U32 count);

struct GatherMaskParams {
  std::uint8_t src0BlockStride;
  U16 repeatTimes;
  U16 src0RepeatStride;
  std::uint8_t src1RepeatStride;
};
template <class T, class U>
  requires(sizeof(T) == sizeof(U)) && OneOf<U, U16, U32>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<U>& mask,
                const bool reduce_mode, const U32 count, const GatherMaskParams& params,
                std::uint64_t& kept);
template <OneOf<I16, U16, half, I32, U32, float> T>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint8_t pattern,
                const bool reduce_mode, const U32 count, const GatherMaskParams& params,
                std::uint64_t& kept);
std::int64_t GetGatherMaskRemainCount();

template <OneOf<I16, U16, half, I32, U32, float> T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<U32>& offsets,
            const U32 base, const U32 count);
template <OneOf<I16, half, I32, float> T>
void CreateVecIndex(LocalTensor<T> dst, const T& first, U32 count);

template <OneOf<half, float> T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& scores,
            const LocalTensor<U32>& payloads, const I32 repeat_times);
template <class T>
struct MrgSortSrcList {
  MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b, const LocalTensor<T>& c,
                 const LocalTensor<T>& d);
};
struct MrgSort4Info {
  MrgSort4Info(const U16 lengths[4], const bool stops_early, const U16 valid_bits,
               const U16 repeat_times);
};
template <OneOf<half, float> T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params);

#endif

}  // namespace AscendC
