// Tuning of the cluster_row variant. What was measured beside the numbers of threads and of groups,
// and what was not measured yet, is in the log of docs/kernels/cluster_row.md.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

template <int kThreadsValue, int kVectorsValue>
struct ClusterRowPolicy {
  static constexpr int kThreads = kThreadsValue;
  // 16-byte vectors of the row in a thread's registers.
  static constexpr int kVectors = kVectorsValue;

  // Brought into L2 while the bound is searched: up to this many times what registers hold.
  static constexpr int kPrefetchedLayers = 4;

  static constexpr bool is_valid() {
    return kThreads % 32 == 0 && kThreads <= 1024 && kThreads >= 16 * 16 &&
           (kVectors == 2 || kVectors == 4 || kVectors == 8 || kVectors == 16);
  }
};

using ClusterRow2 = ClusterRowPolicy<512, 2>;
using ClusterRow4 = ClusterRowPolicy<512, 4>;
using ClusterRow8 = ClusterRowPolicy<512, 8>;
using ClusterRow16 = ClusterRowPolicy<512, 16>;
static_assert(ClusterRow2::is_valid() && ClusterRow4::is_valid() && ClusterRow8::is_valid() &&
              ClusterRow16::is_valid());

struct ClusterRowTuning {
  static constexpr std::int64_t kMaxK = 4096;

  // Groups of a CTA for each of its part of the k best: the more, the fewer survivors; with fewer
  // than the minimum, the bound lets most of the row through.
  static constexpr std::int64_t kGroupsPerWanted = 4;
  static constexpr std::int64_t kMinGroupsPerWanted = 2;
  static constexpr std::int32_t kMaxGroupsPerThread = 4;
  // The bound may let this part of its rank in groups through beyond it.
  static constexpr std::uint32_t kRankSlackDivisor = 8;

  // Room for the survivors of a CTA: enough for rows whose best elements all lie side by side,
  // where all 8 items of a vector survive and not one, as long as the cluster has no more than
  // kSurvivors.
  static constexpr std::int64_t kMinSurvivorsPerWanted = 4;
  static constexpr std::int64_t kMaxSurvivorsPerWanted = 12;
  static constexpr std::int64_t kSurvivors = 8192;
  static constexpr std::int64_t kMinRegion = 512;

  // Where registers hold one layer of several, the bound of that layer lets as many times more
  // survivors through. Up to this many times k, that costs less than another reading of the rest.
  static constexpr std::int64_t kMaxLayeredK = 2560;

  // More CTAs than kCluster from these many bytes of a row on; fewer where not all rows would be
  // served at once.
  static constexpr std::int64_t kLargeClusterBytes = 256 << 10;
  static constexpr std::int32_t kCluster = 8;
  static constexpr std::int32_t kMaxLog2Ctas = 4;

  static constexpr bool is_valid() {
    const bool is_power =
        (kMaxGroupsPerThread & (kMaxGroupsPerThread - 1)) == 0 && (kCluster & (kCluster - 1)) == 0;
    return is_power && kMaxGroupsPerThread <= 4 && kCluster <= 1 << kMaxLog2Ctas &&
           kMaxLog2Ctas <= 4 && kMinGroupsPerWanted >= 1 &&
           kMinGroupsPerWanted <= kGroupsPerWanted && kRankSlackDivisor >= 1 && kMinRegion >= 2 &&
           kMinSurvivorsPerWanted <= kMaxSurvivorsPerWanted;
  }
};
static_assert(ClusterRowTuning::is_valid());

}  // namespace deepselect::cuda
