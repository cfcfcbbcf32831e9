// Tasks handed to the pool's threads one at a time, so that rows of unequal length balance.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "cpu/topk_cpu.h"

namespace deepselect::cpu {

// No threads but the caller's.
constexpr ThreadPool kCallerOnly{1, nullptr};

// Calls function(slot, task) once for every task in [0, num_tasks). Calls that run at the same time
// have different slots in [0, num_slots): a slot owns scratch. An exception ends the slot that
// threw it and is thrown again here, after all others are done: none crosses the pool.
template <typename Function>
void run_tasks(const ThreadPool& pool, int num_slots, std::int64_t num_tasks,
               const Function& function) {
  struct Run {
    const Function& function;
    const std::int64_t num_tasks;
    std::atomic<std::int64_t> next_task{0};
    std::mutex mutex;
    std::exception_ptr error;

    void work(std::int64_t slot) {
      for (;;) {
        const std::int64_t task = next_task.fetch_add(1, std::memory_order_relaxed);
        if (task >= num_tasks) return;
        function(static_cast<int>(slot), task);
      }
    }
  };
  if (num_slots <= 1 || num_tasks <= 1) {
    for (std::int64_t task = 0; task < num_tasks; ++task) function(0, task);
    return;
  }
  Run run{function, num_tasks, {}, {}, nullptr};
  pool.parallel_for(
      0, std::min<std::int64_t>(num_slots, num_tasks), 1,
      [](std::int64_t begin, std::int64_t end, void* context) {
        Run& shared = *static_cast<Run*>(context);
        try {
          for (std::int64_t slot = begin; slot < end; ++slot) shared.work(slot);
        } catch (...) {
          const std::lock_guard<std::mutex> lock(shared.mutex);
          shared.error = std::current_exception();
        }
      },
      &run);
  if (run.error) std::rethrow_exception(run.error);
}

}  // namespace deepselect::cpu
