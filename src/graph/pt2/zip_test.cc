#include "graph/pt2/zip.h"

#include <gmock/gmock.h>

#include "graph/pt2/test_zip.h"

namespace sharewell::graph::pt2 {
namespace {

using testing::HasSubstr;

// Both steps in one: the contents of the last entry, or the first error.
std::string Last(const std::string& bytes) {
  const auto zip = Zip::Open(bytes, "a.pt2");
  if (!zip) return zip.error().message;
  if (zip->entries().empty()) return "no entries";
  const auto contents = zip->Read(zip->entries().back());
  return contents ? std::string(*contents) : contents.error().message;
}

TEST(Zip, ReadsStoredEntries) {
  const std::string bytes = TestZip().Add("a/one", "first").Add("a/two", "second").Bytes();
  const auto zip = Zip::Open(bytes, "a.pt2");
  ASSERT_TRUE(zip);
  ASSERT_EQ(zip->entries().size(), 2U);
  EXPECT_EQ(zip->entries()[0].name, "a/one");
  EXPECT_EQ(zip->Read(zip->entries()[0]), "first");
  EXPECT_EQ(zip->Read(zip->entries()[1]), "second");
}

TEST(Zip, ReadsZip64AndComments) {
  EXPECT_EQ(Last(TestZip().Add("x", "large").Zip64().Bytes()), "large");
  EXPECT_EQ(Last(TestZip().Add("x", "small").Comment("made by hand").Bytes()), "small");
  EXPECT_EQ(Last(TestZip().Add("x", "").Bytes()), "");
}

TEST(Zip, SaysWhenTheFileIsCutShort) {
  const std::string whole = TestZip().Add("a", std::string(100, 'x')).Zip64().Bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string said = Last(whole.substr(0, length));
    EXPECT_THAT(said, HasSubstr("a.pt2: ")) << length;
    EXPECT_THAT(said, HasSubstr("again")) << length;
  }
}

TEST(Zip, RefusesWhatItDoesNotRead) {
  EXPECT_THAT(Last(TestZip().Add("a", "x").Method(8).Bytes()), HasSubstr("is compressed"));
  EXPECT_THAT(Last(TestZip().Add("a", "x").Flags(1).Bytes()), HasSubstr("is encrypted"));
}

TEST(Zip, DoesNotBelieveTheDirectory) {
  EXPECT_THAT(Last(TestZip().Add("a", "x").Size(1'000'000'000).Bytes()),
              HasSubstr("does not lie where"));
  EXPECT_THAT(Last(TestZip().Add("a", "x").Offset(7).Bytes()), HasSubstr("does not lie where"));
  EXPECT_THAT(Last(TestZip().Add("a", "x").Offset(0xfffffff0).Bytes()),
              HasSubstr("does not lie where"));
  EXPECT_THAT(Last(TestZip().Add("a", "x").Zip64().Size(~0ULL).Offset(~0ULL - 3).Bytes()),
              HasSubstr("does not lie where"));
  EXPECT_THAT(Last(TestZip().Add("a", "x").Checksum(1).Bytes()), HasSubstr("checksum"));
  EXPECT_THAT(Last(TestZip().Add("a", "x").Count(60'000).Bytes()),
              HasSubstr("claims 60000 entries"));
  EXPECT_THAT(Last(TestZip().Add("a", "x").Zip64().Count(~0ULL - 1).Bytes()), HasSubstr("entries"));
  EXPECT_THAT(Last(TestZip().Add("a", "first").Add("a", "second").Offset(0).Bytes()),
              HasSubstr("overlaps"));
  EXPECT_THAT(Last(TestZip().Add("a", "first").Add("b", "second").Offset(0).Bytes()),
              HasSubstr("does not lie where"));
}

}  // namespace
}  // namespace sharewell::graph::pt2
