#include "platform/process/subordinate_uids.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

TEST(SubordinateUids, LinesThatAreNoneAreLeftOut) {
  const auto ranges = ReadSubordinateRanges(
      "ann:100000:65536\n# bob:1:2\n\n:1:2\nbob:x:1\nbob:165536\n7:4294967295:99\nlast:1:4");
  ASSERT_THAT(ranges, testing::SizeIs(3));
  EXPECT_EQ(ranges[0].owner, "ann");
  EXPECT_EQ(ranges[0].first, 100000U);
  EXPECT_EQ(ranges[0].count, 65536U);
  EXPECT_EQ(ranges[1].owner, "7");
  EXPECT_EQ(ranges[2].owner, "last");
}

TEST(SubordinateUids, A1_EachOfARangeIsItsOwner) {
  const TestFolder folder;
  const std::string path = folder.Path("subuid");
  SubordinateUids uids(path);
  EXPECT_EQ(uids.OwnerOf(4'000'000'000), 4'000'000'000U) << "there is no such file";
  std::ofstream(path) << "daemon:4000000000:1000\nnosuchuser:4000001000:10\n3:4000002000:1\n"
                         "daemon:0:2\n";
  EXPECT_EQ(uids.OwnerOf(4'000'000'000), 1U) << "daemon, as on every Debian";
  EXPECT_EQ(uids.OwnerOf(4'000'000'999), 1U);
  EXPECT_EQ(uids.OwnerOf(4'000'001'000), 4'000'001'000U) << "its owner has no account";
  EXPECT_EQ(uids.OwnerOf(4'000'002'000), 3U) << "by number";
  EXPECT_EQ(uids.OwnerOf(0), 0U) << "root has an account, whatever the file says";
  std::filesystem::remove(path);
  EXPECT_EQ(uids.OwnerOf(4'000'000'000), 4'000'000'000U) << "it is gone";
}

}  // namespace
}  // namespace sharewell::platform
