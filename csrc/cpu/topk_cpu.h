// The CPU backend behind the op: torch-free, so that it is tested without torch.
#pragma once

#include <cstdint>

#include "deepselect/contract.h"

namespace deepselect::cpu {

// Runs body(begin, end, context) over disjoint parts of [begin, end), each at least `grain` long
// where possible, on the caller's threads; returns when all are done. torch's intra-op pool in
// production, a plain loop in tests.
struct ThreadPool {
  using Body = void (*)(std::int64_t begin, std::int64_t end, void* context);
  int num_threads;
  void (*parallel_for)(std::int64_t begin, std::int64_t end, std::int64_t grain, Body body,
                       void* context);
};

// Selects the k best of every row; `params` was checked by the op. Requires num_rows >= 1 and
// k >= 1. Throws std::bad_alloc.
void topk(const TopkParams& params, const ThreadPool& pool);

}  // namespace deepselect::cpu
