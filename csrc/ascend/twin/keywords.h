// Keywords of the device's language on the host: nothing.
#pragma once

#define __simd_vf__
#define __simd_callee__
#define __aicore__
#define __global__
#define __vector__
#define __ubuf__
#define __gm__
