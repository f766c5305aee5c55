#include "store/samples/chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "core/numbers/random.h"
#include "store/samples/segment.h"
#include "store/samples/slot.h"

namespace sharewell::store {
namespace {

using testing::ElementsAre;

constexpr core::UnixMillis kBegin = 28'333'380 * kMinute;

std::string Encoded(const std::vector<core::Point>& points) {
  std::string bytes;
  EncodeChunk(points, kBegin, bytes);
  return bytes;
}

void ExpectSame(const std::vector<core::Point>& points) {
  const auto back = DecodeChunk(Encoded(points), kBegin, kMinute);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ((*back)[i].time, points[i].time);
    EXPECT_EQ(std::bit_cast<std::uint64_t>((*back)[i].value),
              std::bit_cast<std::uint64_t>(points[i].value));
  }
}

template <class ValueAt>
std::vector<core::Point> Seconds(int count, ValueAt value_at) {
  std::vector<core::Point> points;
  for (int i = 0; i < count; ++i) {
    points.push_back({kBegin + i * 1000 + i % 3, static_cast<double>(value_at(i))});
  }
  return points;
}

TEST(Chunk, ComesBackBitForBit) {
  ExpectSame({{kBegin, 1}});
  ExpectSame({{kBegin, 1}, {kBegin + 59'999, 1}});
  ExpectSame({{kBegin + 1, -0.0}, {kBegin + 2, 0.0}, {kBegin + 50'000, std::nan("7")}});
  ExpectSame({{kBegin + 5, 1e308}, {kBegin + 6, -1e308}, {kBegin + 7, 5e-324}});
  ExpectSame({{kBegin, 9007199254740993.0}, {kBegin + 1, -9007199254740991.0}, {kBegin + 2, 0.5}});
  ExpectSame(Seconds(60, [](int i) { return 1e12 + i * 1234567; }));
  ExpectSame(Seconds(60, [](int i) { return 70.0 + 0.001 * (i * 37 % 100); }));
  ExpectSame(Seconds(60, [](int i) { return std::sin(i); }));
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<core::Point> points;
    core::UnixMillis time = kBegin + static_cast<core::UnixMillis>(core::HashOf({seed}) % 100);
    for (std::uint64_t i = 0; time < kBegin + kMinute; ++i) {
      const std::uint64_t draw = core::HashOf({seed, i});
      points.push_back({time, draw % 3 == 0   ? std::bit_cast<double>(draw)
                              : draw % 3 == 1 ? static_cast<double>(draw % 1000) / 100
                                              : static_cast<double>(draw >> 20)});
      time += 1 + static_cast<core::UnixMillis>(core::Mix(draw) % 4000);
    }
    ExpectSame(points);
  }
}

TEST(Chunk, IsSmallForWhatMachinesSay) {
  const auto bytes_a_sample = [](auto value_at) {
    return static_cast<double>(Encoded(Seconds(60, value_at)).size()) / 60;
  };
  EXPECT_LT(bytes_a_sample([](int) { return 81920.0; }), 0.7);
  EXPECT_LT(bytes_a_sample([](int i) { return 1e15 + i * 1e6; }), 3.5);
  EXPECT_LT(bytes_a_sample([](int i) { return 350 + 0.001 * (i * 7919 % 4000); }), 2.5);
  EXPECT_LT(bytes_a_sample([](int i) { return core::Uniform(static_cast<std::uint64_t>(i)); }),
            7.8);
}

TEST(Chunk, DamagedBytesAreAnErrorNotPoints) {
  const auto points = Seconds(60, [](int i) { return std::sin(i); });
  const std::string whole = Encoded(points);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeChunk(std::string_view(whole).substr(0, size), kBegin, kMinute)) << size;
  }
  for (const std::string_view bytes : {"\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00",
                                       "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) {
    const auto points_of = DecodeChunk(bytes, kBegin, kMinute);
    ASSERT_FALSE(points_of);
    EXPECT_THAT(points_of.error().message, testing::HasSubstr("damaged"));
  }
  // Every single bit: an error, or points in order within the minute.
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bent = whole;
    bent[bit / 8] = static_cast<char>(bent[bit / 8] ^ (1 << bit % 8));
    const auto decoded = DecodeChunk(bent, kBegin, kMinute);
    if (!decoded) continue;
    for (std::size_t i = 0; i < decoded->size(); ++i) {
      ASSERT_GE((*decoded)[i].time, i == 0 ? kBegin : (*decoded)[i - 1].time + 1);
      ASSERT_LT((*decoded)[i].time, kBegin + kMinute);
    }
  }
}

TEST(Chunk, NormalizeKeepsTheLastOfATime) {
  std::vector<core::Point> points{{5, 1}, {3, 2}, {5, 3}, {1, 4}, {3, 5}};
  Normalize(points);
  EXPECT_THAT(points, ElementsAre(core::Point{1, 4}, core::Point{3, 5}, core::Point{5, 3}));
}

TEST(Segment, GivesItsSlicesBackAllOrOne) {
  const std::vector<core::Point> a{{kBegin, 1}, {kBegin + 5, 2}}, b{{kBegin + 9, 3}};
  const Slice slices[] = {{3, a}, {400, b}};
  const std::string bytes = EncodeSegment(slices, kBegin / kMinute);
  std::vector<std::pair<std::int64_t, std::vector<core::Point>>> read;
  const auto add = [&](std::int64_t series, std::vector<core::Point> points) {
    read.emplace_back(series, std::move(points));
  };
  ASSERT_TRUE(DecodeSegment(bytes, kBegin / kMinute, std::nullopt, add));
  EXPECT_THAT(read, ElementsAre(std::pair(3, a), std::pair(400, b)));
  read.clear();
  ASSERT_TRUE(DecodeSegment(bytes, kBegin / kMinute, 400, add));
  EXPECT_THAT(read, ElementsAre(std::pair(400, b)));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeSegment(bytes.substr(0, size), kBegin / kMinute, std::nullopt, add)) << size;
  }
}

TEST(Slot, KeepsBlockAndSeriesAlsoBefore1970) {
  for (const std::int64_t block : {-100'000'000L, -1L, 0L, 29'000'000L}) {
    for (const std::int64_t series : {std::int64_t{0}, std::int64_t{1}, kSeriesLimit - 1}) {
      EXPECT_EQ(BlockOfSlot(SlotOf(block, series)), block);
      EXPECT_EQ(SeriesOf(SlotOf(block, series)), series);
    }
  }
  EXPECT_EQ(BlockOf(-1, kMinute), -1);
  EXPECT_EQ(BlockOf(-60'000, kMinute), -1);
  EXPECT_EQ(BlockOf(-60'001, kMinute), -2);
  EXPECT_EQ(BlockOf(59'999, kMinute), 0);
}

}  // namespace
}  // namespace sharewell::store
