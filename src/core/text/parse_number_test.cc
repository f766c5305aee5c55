#include "core/text/parse_number.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(ParseMemory, KnowsItsUnits) {
  EXPECT_EQ(ParseMemory("8GB"), Bytes(8e9));
  EXPECT_EQ(ParseMemory("512 MiB"), Bytes(512.0 * 1024 * 1024));
  EXPECT_EQ(ParseMemory("4096"), Bytes(4096));
  for (const char* wrong : {"", "GB", "-1GB", "8gb", "nan", "1e30", "0.1"}) {
    EXPECT_FALSE(ParseMemory(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace sharewell::core
