// The scan order is a bijection for every number of pages to 4096, and not the identity.
#include "deepselect/scan_order.h"

#include <vector>

#include "expect.h"

namespace {

using deepselect::ScanOrder;

bool is_bijection(std::uint32_t num_pages, std::uint32_t seed) {
  const ScanOrder order(num_pages, seed);
  std::vector<bool> seen(num_pages, false);
  for (std::uint32_t step = 0; step < num_pages; ++step) {
    const std::uint32_t page = order.page_at(step);
    if (page >= num_pages || seen[page]) return false;
    seen[page] = true;
  }
  return true;
}

// Steps that follow their predecessor's page directly; one in expectation for a random order.
std::uint32_t num_ascending_steps(std::uint32_t num_pages, std::uint32_t seed) {
  const ScanOrder order(num_pages, seed);
  std::uint32_t count = 0;
  for (std::uint32_t step = 1; step < num_pages; ++step) {
    if (order.page_at(step) == order.page_at(step - 1) + 1) ++count;
  }
  return count;
}

// How far the mean page of the first `num_steps` steps is from the middle, as a part of the range.
double skew_of_start(std::uint32_t num_pages, std::uint32_t num_steps, std::uint32_t seed) {
  const ScanOrder order(num_pages, seed);
  double sum = 0;
  for (std::uint32_t step = 0; step < num_steps; ++step) sum += order.page_at(step);
  const double skew = sum / num_steps / num_pages - 0.5;
  return skew < 0 ? -skew : skew;
}

}  // namespace

int main() {
  for (std::uint32_t num_pages = 1; num_pages <= 4096; ++num_pages) {
    for (std::uint32_t seed : {0u, 1u, 0xDEADBEEFu}) EXPECT(is_bijection(num_pages, seed));
  }
  EXPECT(is_bijection(1u << 20, 7));
  EXPECT(is_bijection((1u << 20) + 1, 7));
  // Near 2^31 pages the arithmetic must not wrap out of the range.
  const ScanOrder huge(0x7FFFFFFFu, 3);
  for (std::uint32_t step = 0x7FFFFFF0u; step < 0x7FFFFFFFu; ++step) {
    EXPECT(huge.page_at(step) < 0x7FFFFFFFu);
  }

  double total_skew = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    EXPECT(num_ascending_steps(1000, seed) < 50);
    total_skew += skew_of_start(1000, 32, seed);
  }
  // A uniform sample of 32 has a mean skew of 0.041.
  EXPECT(total_skew / 200 < 0.06);
  return expect::verdict();
}
