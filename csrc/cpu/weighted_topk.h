// Calls with weights or a bias, in the two steps of deepselect/weights.h.
#pragma once

#include "cpu/isa.h"
#include "cpu/topk_cpu.h"
#include "deepselect/contract.h"

namespace deepselect::cpu {

// As topk_with(), for is_weighted() calls.
void weighted_topk(const IsaPrimitives& isa, const TopkParams& params, const ThreadPool& pool);

}  // namespace deepselect::cpu
