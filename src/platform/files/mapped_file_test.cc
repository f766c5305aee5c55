#include "platform/files/mapped_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

using core::ErrorKind;
using testing::HasSubstr;

TEST(MappedFile, GivesTheBytes) {
  const TestFolder folder;
  const auto file = MappedFile::Open(folder.Write("a", std::string("x\0y", 3)));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->text(), std::string_view("x\0y", 3));
}

TEST(MappedFile, AnEmptyFileIsAnEmptyText) {
  const TestFolder folder;
  for (const auto access : {MappedFile::Access::kWhole, MappedFile::Access::kSparse}) {
    const auto file = MappedFile::Open(folder.Write("a", ""), access);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->text(), "");
  }
}

TEST(MappedFile, ReadHereAndThereItGivesTheSameBytes) {
  const TestFolder folder;
  std::string text(1 << 20, 'a');
  text[12345] = 'b';
  text.back() = 'c';
  const auto file = MappedFile::Open(folder.Write("a", text), MappedFile::Access::kSparse);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->text(), text);
}

TEST(MappedFile, MovesWithItsText) {
  const TestFolder folder;
  auto first = MappedFile::Open(folder.Write("a", "one"));
  auto second = MappedFile::Open(folder.Write("b", "two"));
  ASSERT_TRUE(first && second);
  *first = std::move(*second);
  EXPECT_EQ(first->text(), "two");
}

TEST(MappedFile, MissingFileAndFolderAreUsageErrors) {
  const TestFolder folder;
  const auto missing = MappedFile::Open(folder.Path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(missing.error().message, HasSubstr("no such file"));
  const auto directory = MappedFile::Open(folder.path());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(directory.error().message, HasSubstr("is a folder"));
  EXPECT_FALSE(MappedFile::Open(""));
  EXPECT_FALSE(MappedFile::Open(std::string("a\0b", 3)));
}

TEST(MappedFile, APipeIsRefusedWithoutWaitingForAWriter) {
  const TestFolder folder;
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  const auto file = MappedFile::Open(folder.Path("pipe"));
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("no regular file"));
}

TEST(MappedFile, AFileThatMayNotBeReadIsAFailure) {
  const TestFolder folder;
  ASSERT_EQ(::chmod(folder.Write("a", "x").c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder.Path("").c_str(), 0755), 0);
  // Root may read everything: for the moment of the attempt this is nobody.
  const uid_t self = ::geteuid();
  constexpr uid_t kNobody = 65534;
  if (self == 0) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const auto file = MappedFile::Open(folder.Path("a"));
  if (self == 0) {
    ASSERT_EQ(::seteuid(self), 0);
  }
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::kFailed);
  EXPECT_THAT(file.error().message, HasSubstr("permissions"));
}

}  // namespace
}  // namespace sharewell::platform
