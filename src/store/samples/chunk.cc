#include "store/samples/chunk.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "store/samples/bits.h"

namespace sharewell::store {
namespace {

// The first byte of a chunk: how its values are written.
enum ValueCoding : unsigned {
  kConstant = 1,  // all the same
  kDecimal = 2,   // whole numbers over a power of ten: counters, percentages, milliwatts
  kXor = 3,       // the bits that changed, after Gorilla (Pelkonen et al., VLDB 2015)
};

constexpr std::array<double, 7> kPowers{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
constexpr double kExact = 9007199254740992;  // beyond 2^53 not every whole number is a double

std::uint64_t BitsOf(double value) { return std::bit_cast<std::uint64_t>(value); }

// `value` as a whole number over 10^power, if it comes back from there bit for bit.
bool AsDecimal(double value, unsigned power, std::int64_t& whole) {
  const double scaled = value * kPowers[power];
  if (!(std::abs(scaled) < kExact)) return false;
  whole = std::llrint(scaled);
  return BitsOf(static_cast<double>(whole) / kPowers[power]) == BitsOf(value);
}

struct Decimal {
  unsigned power = 0;
  int width = 0;  // bits of the widest step
  std::vector<std::int64_t> whole;
};

bool AsDecimals(std::span<const core::Point> points, Decimal& decimal) {
  std::int64_t whole = 0;
  for (decimal.power = 0; decimal.power < kPowers.size(); ++decimal.power) {
    if (AsDecimal(points[0].value, decimal.power, whole)) break;
  }
  // One more digit may be needed further on: 1, 1.5, 1.25.
  for (; decimal.power < kPowers.size(); ++decimal.power) {
    decimal.whole.clear();
    std::uint64_t widest = 0;
    for (const core::Point& point : points) {
      if (!AsDecimal(point.value, decimal.power, whole)) break;
      if (!decimal.whole.empty()) widest |= ZigZag(whole - decimal.whole.back());
      decimal.whole.push_back(whole);
    }
    if (decimal.whole.size() == points.size()) {
      decimal.width = static_cast<int>(std::bit_width(widest));
      return true;
    }
  }
  return false;
}

// The bits in which neighbours ever differ, from `trailing` on. One window for the whole chunk,
// where Gorilla's move: simpler, and no larger for what machines say.
struct Window {
  int trailing = 0, width = 0;
};

std::uint64_t ChangeAt(std::span<const core::Point> points, std::size_t i) {
  return BitsOf(points[i].value) ^ BitsOf(points[i - 1].value);
}

Window WindowOf(std::span<const core::Point> points) {
  std::uint64_t changes = 0;
  for (std::size_t i = 1; i < points.size(); ++i) changes |= ChangeAt(points, i);
  const int trailing = std::countr_zero(changes);
  return {trailing, static_cast<int>(std::bit_width(changes)) - trailing};
}

}  // namespace

void EncodeChunk(std::span<const core::Point> points, core::UnixMillis begin, std::string& out) {
  const std::size_t count = points.size();
  SHAREWELL_CHECK(count > 0 && count <= kMostChunkPoints);
  Decimal decimal;
  const std::uint64_t first = BitsOf(points[0].value);
  const bool constant = std::all_of(points.begin(), points.end(),
                                    [&](const auto& p) { return BitsOf(p.value) == first; });
  const ValueCoding coding = constant                                            ? kConstant
                             : AsDecimals(points, decimal) && decimal.width < 56 ? kDecimal
                                                                                 : kXor;
  PutByte(out, coding);
  PutVarint(out, count);
  PutVarint(out, static_cast<std::uint64_t>(points[0].time - begin));

  // Times as what their step changed by: next to nothing where a collector is regular.
  int width = 0;
  if (count > 1) {
    PutVarint(out, static_cast<std::uint64_t>(points[1].time - points[0].time));
    std::uint64_t widest = 0;
    for (std::size_t i = 2; i < count; ++i) {
      widest |= ZigZag(points[i].time - 2 * points[i - 1].time + points[i - 2].time);
    }
    width = static_cast<int>(std::bit_width(widest));
    PutByte(out, static_cast<unsigned>(width));
  }
  if (coding == kDecimal) {
    PutByte(out, decimal.power);
    PutByte(out, static_cast<unsigned>(decimal.width));
    PutVarint(out, ZigZag(decimal.whole[0]));
  } else {
    PutFixed64(out, first);
  }
  const Window window = coding == kXor ? WindowOf(points) : Window{};
  if (coding == kXor) {
    PutByte(out, static_cast<unsigned>(window.trailing));
    PutByte(out, static_cast<unsigned>(window.width));
  }

  BitWriter bits(out);
  for (std::size_t i = 2; i < count && width > 0; ++i) {
    bits.Put(ZigZag(points[i].time - 2 * points[i - 1].time + points[i - 2].time), width);
  }
  if (coding == kDecimal) {
    for (std::size_t i = 1; i < count; ++i) {
      bits.Put(ZigZag(decimal.whole[i] - decimal.whole[i - 1]), decimal.width);
    }
  } else if (coding == kXor) {
    for (std::size_t i = 1; i < count; ++i) {
      const std::uint64_t change = ChangeAt(points, i);
      bits.Put(change == 0 ? 0 : 1, 1);
      if (change != 0) bits.Put(change >> window.trailing, window.width);
    }
  }
  bits.Finish();
}

core::Result<std::vector<core::Point>> DecodeChunk(std::string_view bytes, core::UnixMillis begin,
                                                   std::int64_t span) {
  ByteReader head(bytes);
  const unsigned coding = head.Byte();
  if (coding < kConstant || coding > kXor) {
    return core::FailedError("a chunk is damaged, or was written by a newer program");
  }
  const auto damaged = core::FailedError("a chunk is damaged");
  const std::uint64_t count = head.Varint();
  const std::uint64_t offset = head.Varint();
  const std::uint64_t step = count > 1 ? head.Varint() : 0;
  const unsigned width = count > 1 ? head.Byte() : 0;
  const unsigned power = coding == kDecimal ? head.Byte() : 0;
  const unsigned value_width = coding == kDecimal ? head.Byte() : 0;
  const std::uint64_t first = coding == kDecimal ? head.Varint() : head.Fixed64();
  const unsigned trailing = coding == kXor ? head.Byte() : 0;
  const unsigned changed = coding == kXor ? head.Byte() : 0;
  const auto limit = static_cast<std::uint64_t>(span);
  if (!head.ok() || count == 0 || count > kMostChunkPoints || offset >= limit || step > limit ||
      width > 64 || power >= kPowers.size() || value_width > 64 || changed > 64 ||
      trailing + changed > 64) {
    return damaged;
  }

  std::vector<core::Point> points(static_cast<std::size_t>(count));
  BitReader bits(head.rest());
  std::uint64_t time = offset, delta = step;
  points[0].time = begin + static_cast<std::int64_t>(offset);
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (i > 1 && width > 0) {
      delta += static_cast<std::uint64_t>(UnZigZag(bits.Take(static_cast<int>(width))));
    }
    if (delta == 0 || delta >= limit) return damaged;
    time += delta;
    if (time >= limit) return damaged;
    points[i].time = begin + static_cast<std::int64_t>(time);
  }
  if (coding == kDecimal) {
    auto whole = static_cast<std::uint64_t>(UnZigZag(first));
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i > 0) {
        whole += static_cast<std::uint64_t>(UnZigZag(bits.Take(static_cast<int>(value_width))));
      }
      points[i].value = static_cast<double>(static_cast<std::int64_t>(whole)) / kPowers[power];
    }
  } else {
    std::uint64_t value = first;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i > 0 && coding == kXor && bits.Take(1) == 1) {
        value ^= bits.Take(static_cast<int>(changed)) << trailing % 64;
      }
      points[i].value = std::bit_cast<double>(value);
    }
  }
  if (!bits.ok()) return damaged;
  return points;
}

void Normalize(std::vector<core::Point>& points) {
  const auto rising = [](const core::Point& a, const core::Point& b) { return a.time >= b.time; };
  if (std::adjacent_find(points.begin(), points.end(), rising) == points.end()) return;
  std::stable_sort(points.begin(), points.end(),
                   [](const core::Point& a, const core::Point& b) { return a.time < b.time; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i + 1 < points.size() && points[i + 1].time == points[i].time) continue;
    points[kept++] = points[i];
  }
  points.resize(kept);
}

}  // namespace sharewell::store
