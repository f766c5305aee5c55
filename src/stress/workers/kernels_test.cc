#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>

#include "platform/files/test_folder.h"
#include "stress/cpu_caches.h"
#include "stress/workers/host_memory.h"
#include "stress/workers/stream_copy.h"

namespace sharewell::stress {
namespace {

using testing::ElementsAre;

TEST(StreamCopy, CopiesEveryWordAndAddsTheStamp) {
  constexpr std::size_t kBytes = 4096;
  const auto memory = HostMemory::Map(2 * kBytes);
  ASSERT_TRUE(memory);
  for (std::size_t i = 0; i < kBytes / 8; ++i) {
    const std::uint64_t word = i * 1000;
    std::memcpy(memory->data() + i * 8, &word, 8);
  }
  StreamCopy(memory->data() + kBytes, memory->data(), kBytes, 7);
  for (std::size_t i = 0; i < kBytes / 8; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory->data() + kBytes + i * 8, 8);
    ASSERT_EQ(word, i * 1000 + 7);
  }
}

TEST(TouchLines, EachLineOnceARound) {
  for (const std::size_t lines : {1, 2, 3, 4, 10, 64, 1000, 1719}) {
    const std::size_t stride = ScatterStride(lines);
    std::vector<int> touched(lines);
    std::vector<std::byte> memory(lines * kLine);
    std::size_t at = 0;
    for (std::size_t i = 0; i < lines; ++i) {
      ++touched[at];
      at = TouchLines(memory.data(), lines, stride, at, 1);
    }
    EXPECT_EQ(at, 0U) << lines;
    EXPECT_THAT(touched, testing::Each(1)) << lines;
    EXPECT_EQ(TouchLines(memory.data(), lines, stride, 0, 3 * lines), 0U);
    EXPECT_EQ(memory[0], std::byte{4});  // the first line has a mark
    if (lines > kMarkEvery) {
      EXPECT_EQ(memory[kMarkEvery * kLine], std::byte{4});
      EXPECT_EQ(memory[(kMarkEvery + 1) * kLine], std::byte{0});
    }
  }
}

TEST(HostMemory, MoreThanThereIsIsRefused) {
  const auto memory = HostMemory::Map(std::size_t{1} << 50U);
  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error().message, testing::HasSubstr("to spare"));
}

class CachesTest : public testing::Test {
 protected:
  void Cache(int cpu, int index, const char* level, const char* type, const char* size,
             const char* shared) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" +
                               std::to_string(index) + "/";
    std::filesystem::create_directories(folder_.Path(folder));
    folder_.Write(folder + "level", std::string(level) + "\n");
    folder_.Write(folder + "type", std::string(type) + "\n");
    folder_.Write(folder + "size", std::string(size) + "\n");
    folder_.Write(folder + "shared_cpu_list", std::string(shared) + "\n");
  }

  platform::TestFolder folder_;
};

TEST_F(CachesTest, CpusAreGroupedByTheirLastCache) {
  for (int cpu = 0; cpu < 4; ++cpu) {
    Cache(cpu, 0, "1", "Data", "48K", "x");
    Cache(cpu, 1, "1", "Instruction", "32K", "x");
    Cache(cpu, 2, "3", "Unified", "32768K", cpu < 2 ? "0-1" : "2-3");
  }
  const auto domains = CacheDomains({0, 1, 3}, folder_.path());
  EXPECT_THAT(domains, ElementsAre(CacheDomain{{0, 1}, 32.0 * (1 << 20)},
                                   CacheDomain{{3}, 32.0 * (1 << 20)}));
  EXPECT_EQ(TotalCache(domains), 64.0 * (1 << 20));
}

TEST_F(CachesTest, AMachineThatSaysNothingHasNoSize) {
  const auto domains = CacheDomains({0, 1}, folder_.path());
  EXPECT_THAT(domains, ElementsAre(CacheDomain{{0, 1}, std::nullopt}));
  EXPECT_FALSE(TotalCache(domains));
}

TEST_F(CachesTest, NonsenseIsNoSize) {
  Cache(0, 0, "3", "Unified", "large", "0");
  Cache(1, 0, "three", "Unified", "1024K", "1");
  Cache(2, 0, "2", "Unified", "-5K", "2");
  EXPECT_FALSE(TotalCache(CacheDomains({0}, folder_.path())));
  EXPECT_FALSE(TotalCache(CacheDomains({1}, folder_.path())));
  EXPECT_FALSE(TotalCache(CacheDomains({2}, folder_.path())));
}

TEST(ChooseCpus, OnlyThoseThatMayBeUsed) {
  const auto all = ChooseCpus({});
  ASSERT_TRUE(all);
  ASSERT_FALSE(all->empty());
  EXPECT_EQ(*ChooseCpus({all->front()}), std::vector<int>{all->front()});
  const auto none = ChooseCpus({60000});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, core::ErrorKind::kUsage);
}

}  // namespace
}  // namespace sharewell::stress
