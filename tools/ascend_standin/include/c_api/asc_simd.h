// Stand-in for the register-level C API of dav-3510 and the compiler intrinsics under it:
// declarations, from their documentation, of what the kernels call. Nothing is defined.
#pragma once

#include <cstdint>

#define __simd_vf__
#define __simd_callee__

#define STANDIN_REGISTER(name) \
  struct name {                \
    unsigned char bytes[256];  \
  }
STANDIN_REGISTER(vector_uint8_t);
STANDIN_REGISTER(vector_uint16_t);
STANDIN_REGISTER(vector_int16_t);
STANDIN_REGISTER(vector_uint32_t);
STANDIN_REGISTER(vector_int32_t);
#undef STANDIN_REGISTER
struct vector_bool {
  unsigned char bits[32];
};
struct vector_store_unalign {
  unsigned char bytes[32];
};

enum StandinMaskPattern { PAT_ALL };
enum StandinPost { POST_UPDATE };
enum StandinStored { MODE_STORED };
enum StandinPosition { POS_LOWEST, POS_HIGHEST };
enum StandinPart { LOWER };
enum StandinRegister { SPR_AR };
enum StandinOrder { VST_VLD };

vector_bool standin_create_mask(StandinMaskPattern pattern);
#define asc_create_mask_b8(pattern) standin_create_mask(pattern)
#define asc_create_mask_b16(pattern) standin_create_mask(pattern)
#define asc_create_mask_b32(pattern) standin_create_mask(pattern)
vector_bool asc_update_mask_b8(std::uint32_t& count);
vector_bool asc_update_mask_b16(std::uint32_t& count);
vector_bool asc_update_mask_b32(std::uint32_t& count);
void asc_or(vector_bool& dst, vector_bool a, vector_bool b, vector_bool mask);
void asc_not(vector_bool& dst, vector_bool a, vector_bool mask);

#define STANDIN_FOR_TYPE(Register, Item)                                                 \
  void asc_loadalign(Register& dst, Item* src);                                          \
  void asc_storealign(Item* dst, Register src, vector_bool mask);                        \
  void asc_eq(vector_bool& dst, Register a, Register b, vector_bool mask);               \
  void asc_lt(vector_bool& dst, Register a, Register b, vector_bool mask);               \
  void asc_le(vector_bool& dst, Register a, Register b, vector_bool mask);               \
  void asc_gt(vector_bool& dst, Register a, Register b, vector_bool mask);               \
  void asc_ge(vector_bool& dst, Register a, Register b, vector_bool mask);               \
  void asc_add(Register& dst, Register a, Register b, vector_bool mask);                 \
  void asc_sub(Register& dst, Register a, Register b, vector_bool mask);                 \
  void asc_min(Register& dst, Register a, Register b, vector_bool mask);                 \
  void asc_max(Register& dst, Register a, Register b, vector_bool mask);                 \
  void asc_and(Register& dst, Register a, Register b, vector_bool mask);                 \
  void asc_or(Register& dst, Register a, Register b, vector_bool mask);                  \
  void asc_xor(Register& dst, Register a, Register b, vector_bool mask);                 \
  void asc_add_scalar(Register& dst, Register a, Item value, vector_bool mask);          \
  void asc_shiftleft_scalar(Register& dst, Register a, std::int16_t bits, vector_bool);  \
  void asc_shiftright_scalar(Register& dst, Register a, std::int16_t bits, vector_bool); \
  void asc_select(Register& dst, Register a, Register b, vector_bool mask);              \
  void asc_duplicate_scalar(Register& dst, Item value);                                  \
  void asc_intlv(Register& dst0, Register& dst1, Register a, Register b);                \
  void asc_deintlv(Register& dst0, Register& dst1, Register a, Register b);              \
  void vdup(Register& dst, Register src, vector_bool mask, StandinPosition position)
STANDIN_FOR_TYPE(vector_uint8_t, std::uint8_t);
STANDIN_FOR_TYPE(vector_uint16_t, std::uint16_t);
STANDIN_FOR_TYPE(vector_int16_t, std::int16_t);
STANDIN_FOR_TYPE(vector_uint32_t, std::uint32_t);
STANDIN_FOR_TYPE(vector_int32_t, std::int32_t);
#undef STANDIN_FOR_TYPE

#define STANDIN_FOR_WIDE_TYPE(Register, Item)                                    \
  void asc_loadalign_brc_elem(Register& dst, Item* src);                         \
  void asc_storealign_1st(Item* dst, Register src);                              \
  void asc_gather(Register& dst, Item* src, Register index, vector_bool mask);   \
  void vsqz(Register& dst, Register src, vector_bool mask, StandinStored);       \
  void vstur(vector_store_unalign& align, Register src, Item* dst, StandinPost); \
  void vstar(vector_store_unalign& align, Item* dst)
STANDIN_FOR_WIDE_TYPE(vector_uint16_t, std::uint16_t);
STANDIN_FOR_WIDE_TYPE(vector_uint32_t, std::uint32_t);
#undef STANDIN_FOR_WIDE_TYPE

void asc_loadalign_deintlv(vector_uint8_t& even, vector_uint8_t& odd, std::uint8_t* src);
void sprclr(StandinRegister);
void sprsts(StandinRegister, std::uint32_t* dst, int offset);
void asc_mem_bar(StandinOrder);
void asc_cumulative_histogram_bin0(vector_uint16_t& dst, vector_uint8_t src, vector_bool mask);
void asc_cumulative_histogram_bin1(vector_uint16_t& dst, vector_uint8_t src, vector_bool mask);
void asc_arange(vector_int16_t& dst, std::int16_t first);
void asc_arange(vector_int32_t& dst, std::int32_t first);
void asc_reduce_sum(vector_uint32_t& dst, vector_uint16_t src, vector_bool mask);
void asc_reduce_min(vector_uint16_t& dst, vector_uint16_t src, vector_bool mask);
void asc_reduce_max(vector_uint16_t& dst, vector_uint16_t src, vector_bool mask);
void vpack(vector_uint16_t& dst, vector_uint32_t src, StandinPart part);
