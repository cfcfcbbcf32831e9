// FilterBound, SignedBound and LooseBound against the keys that they stand for: every 16-bit
// pattern against bounds round all edges, and the 32-bit rule at patterns round all edges. Also:
// KeyRule and SignedKeyRule order as order_key does.
#include <algorithm>
#include <random>
#include <vector>

#include "ascend/filter_bound.h"
#include "ascend/signed_keys.h"
#include "ascend/twin/asc_ub.h"
#include "expect.h"

namespace {

using namespace deepselect;
using namespace deepselect::ascend;

template <class Bits>
bool accepts(const FilterBound<Bits>& bound, Bits bits) {
  using Signed = std::make_signed_t<Bits>;
  const Bits y = static_cast<Bits>(bits + bound.add);
  return static_cast<Signed>(y) > static_cast<Signed>(bound.signed_above) ||
         y > bound.unsigned_above;
}

// Patterns near every boundary of the format, and some at random.
template <ValueType kType>
std::vector<BitsOf<kType>> patterns(int num_random) {
  using Rule = KeyRule<kType>;
  using Bits = BitsOf<kType>;
  std::vector<Bits> result;
  for (Bits edge : {Bits(0), Rule::kSign, Rule::kInfinity, Rule::kMinusInfinity, Rule::kMagnitude,
                    Rule::kMax}) {
    for (int step = -4; step <= 4; ++step) {
      result.push_back(static_cast<Bits>(edge + static_cast<Bits>(step)));
    }
  }
  std::mt19937 generator(3);
  for (int i = 0; i < num_random; ++i) result.push_back(static_cast<Bits>(generator()));
  return result;
}

template <ValueType kType>
void test_rule(const KeyRule<kType>& rule, const std::vector<BitsOf<kType>>& values,
               const std::vector<BitsOf<kType>>& keys) {
  using Rule = KeyRule<kType>;
  using Bits = BitsOf<kType>;
  for (Bits least : keys) {
    const FilterBound<Bits> at_least = rule.at_least(least);
    const FilterBound<Bits> above = rule.above(least);
    for (Bits bits : values) {
      const Bits x = static_cast<Bits>(bits ^ rule.flip);
      // The one case in which more passes than must.
      const bool may_pass = rule.nan_key == 0 && x > Rule::kInfinity && x <= Rule::kMagnitude;
      const bool wanted = rule.key(bits) >= least;
      const bool passes = accepts(at_least, bits);
      EXPECT(passes == wanted || (passes && may_pass && least <= Rule::kZeroKey));
      // Where every NaN is the greatest there is, nothing is above: one pattern may pass.
      const bool is_above = rule.key(bits) > least;
      EXPECT(!is_above || accepts(above, bits));
      if (least < Rule::kZeroKey && !may_pass) EXPECT(accepts(above, bits) == is_above);
    }
  }
}

// Exactly the elements whose key is at least `least` pass; intervals lie on one side of 0, which is
// what their evaluation by one or two compares needs.
template <ValueType kType>
void test_signed_rule(const SignedKeyRule<kType>& rule, const std::vector<BitsOf<kType>>& values,
                      const std::vector<BitsOf<kType>>& keys) {
  using Rule = SignedKeyRule<kType>;
  std::vector<std::int32_t> bounds = {-Rule::kNanKey, -Rule::kInfinity, -1, 0, 1, Rule::kInfinity,
                                      Rule::kNanKey,  Rule::kNanKey + 1};
  for (BitsOf<kType> bits : keys) bounds.push_back(rule.key(bits));
  for (std::int32_t least : bounds) {
    const SignedBound bound = rule.at_least(least);
    for (std::uint32_t i = 0; i < bound.num_intervals; ++i) {
      const SignedBound::Interval interval = bound.intervals[i];
      EXPECT(interval.low <= interval.high);
      EXPECT((interval.low < 0) == (interval.high < 0));
      EXPECT(interval.low > Rule::kMinusZero || interval.high < Rule::kLastNan);
    }
    for (BitsOf<kType> bits : values) {
      EXPECT(bound.accepts(Rule::sign_extended(bits)) == (rule.key(bits) >= least));
    }
  }
  for (BitsOf<kType> bits : values) EXPECT(rule.key(rule.worst()) <= rule.key(bits));
}

// A loose bound accepts what it must, and nothing else but NaN as its compare reads bits, and what
// lies between two adjacent numbers of those that it may use.
template <ValueType kType>
void test_loose_bound(const SignedKeyRule<kType>& rule, const std::vector<BitsOf<kType>>& values,
                      const std::vector<BitsOf<kType>>& keys) {
  using Rule = SignedKeyRule<kType>;
  constexpr std::int32_t kNanOfCompare = Rule::kGreatestNumber + 1;
  std::vector<std::int32_t> bounds = {-Rule::kNanKey, -Rule::kInfinity, Rule::kInfinity,
                                      Rule::kNanKey};
  for (std::int32_t edge : {0, Rule::kSmallestNormal, Rule::kGreatestNumber}) {
    for (std::int32_t step = -2; step <= 2; ++step) {
      bounds.push_back(edge + step);
      bounds.push_back(-edge + step);
    }
  }
  for (BitsOf<kType> bits : keys) bounds.push_back(rule.key(bits));
  for (std::int32_t least : bounds) {
    if (least < -Rule::kNanKey || least > Rule::kNanKey) continue;
    const LooseBound<BitsOf<kType>> bound = rule.loosely_at_least(least);
    EXPECT(bound.is_lower == rule.largest);
    const float number = twin::number_of(bound.bits);
    const std::int32_t magnitude = Rule::sign_extended(bound.bits) & Rule::kLastNan;
    EXPECT(magnitude == 0 || magnitude >= Rule::kSmallestNormal);
    EXPECT(magnitude <= Rule::kGreatestNumber);
    for (BitsOf<kType> bits : values) {
      const float x = twin::number_of(bits);
      const bool passes = bound.accepts_all || !(bound.is_lower ? x < number : x > number);
      if (rule.key(bits) >= least) EXPECT(passes);
      const std::int32_t size = Rule::sign_extended(bits) & Rule::kLastNan;
      const bool may_pass = size >= kNanOfCompare || size <= Rule::kSmallestNormal ||
                            size == Rule::kGreatestNumber || bound.accepts_all;
      if (rule.key(bits) < least && !may_pass) EXPECT(!passes);
    }
  }
}

// Of numbers, as the compare reads bits, a bound that compares_exactly() accepts exactly those
// whose key is at least as great, whether the device takes subnormal ones as 0 or not. The greatest
// number is none here: the search asks which elements are worse than it.
template <ValueType kType>
void test_exact_bound(const SignedKeyRule<kType>& rule, const std::vector<BitsOf<kType>>& values,
                      const std::vector<BitsOf<kType>>& keys) {
  using Rule = SignedKeyRule<kType>;
  const auto is_worse = [](const LooseBound<BitsOf<kType>>& bound, float x) {
    const float number = twin::number_of(bound.bits);
    return bound.is_lower ? x < number : x > number;
  };
  const auto flushed = [](BitsOf<kType> bits) {
    const std::int32_t magnitude = Rule::sign_extended(bits) & Rule::kLastNan;
    return magnitude < Rule::kSmallestNormal ? 0.0f : twin::number_of(bits);
  };
  const LooseBound<BitsOf<kType>> greatest = rule.loosely_at_least(Rule::kGreatestNumber);
  EXPECT(is_worse(greatest, twin::number_of(rule.worst())) == rule.worst_is_number());
  std::vector<std::int32_t> bounds;
  for (std::int32_t edge : {Rule::kSmallestNormal, Rule::kGreatestNumber}) {
    for (std::int32_t step = -2; step <= 2; ++step) {
      bounds.push_back(edge + step);
      bounds.push_back(-edge + step);
    }
  }
  for (BitsOf<kType> bits : keys) bounds.push_back(rule.key(bits));
  for (std::int32_t least : bounds) {
    if (!Rule::compares_exactly(least)) continue;
    const LooseBound<BitsOf<kType>> bound = rule.loosely_at_least(least);
    EXPECT(!bound.accepts_all);
    for (BitsOf<kType> bits : values) {
      if (!is_worse(greatest, twin::number_of(bits))) continue;
      const bool wanted = rule.key(bits) >= least;
      EXPECT(!is_worse(bound, twin::number_of(bits)) == wanted);
      EXPECT(!is_worse(bound, flushed(bits)) == wanted);
    }
  }
}

template <class Rule, ValueType kType>
void test_same_order(const Rule& rule, bool nan_is_largest, bool largest,
                     const std::vector<BitsOf<kType>>& values) {
  for (auto a : values) {
    for (auto b : values) {
      const auto key_a = order_key<kType>(a, nan_is_largest, largest);
      const auto key_b = order_key<kType>(b, nan_is_largest, largest);
      EXPECT((rule.key(a) < rule.key(b)) == (key_a < key_b));
    }
  }
}

template <ValueType kType>
void test_type(bool exhaustive) {
  using Bits = BitsOf<kType>;
  std::vector<Bits> values = patterns<kType>(2000);
  if (exhaustive) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) values.push_back(static_cast<Bits>(bits));
  }
  for (NanRule nan_rule : {NanRule::kLargest, NanRule::kSmallest, NanRule::kPoison}) {
    for (bool largest : {true, false}) {
      const KeyRule<kType> rule = KeyRule<kType>::of(nan_rule, largest);
      std::vector<Bits> keys = patterns<kType>(60);
      for (Bits bits : patterns<kType>(60)) keys.push_back(rule.key(bits));
      test_rule(rule, values, keys);
      const SignedKeyRule<kType> signed_rule = SignedKeyRule<kType>::of(nan_rule, largest);
      test_signed_rule(signed_rule, values, patterns<kType>(60));
      test_loose_bound(signed_rule, values, patterns<kType>(60));
      test_exact_bound(signed_rule, values, patterns<kType>(60));
      if (nan_rule == NanRule::kPoison) continue;
      const bool nan_is_largest = nan_rule == NanRule::kLargest;
      test_same_order<KeyRule<kType>, kType>(rule, nan_is_largest, largest, patterns<kType>(100));
      test_same_order<SignedKeyRule<kType>, kType>(signed_rule, nan_is_largest, largest,
                                                   patterns<kType>(100));
    }
  }
}

}  // namespace

int main() {
  test_type<ValueType::kBFloat16>(true);
  test_type<ValueType::kFloat16>(true);
  test_type<ValueType::kFloat32>(false);
  return expect::verdict();
}
