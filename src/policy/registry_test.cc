#include "policy/registry.h"

#include <gmock/gmock.h>

#include <set>

#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using ::testing::HasSubstr;

core::Result<std::unique_ptr<Policy>> Make(const std::string& text) {
  static const auto model = fixtures::WithoutResidual();
  Options options;
  options.interference = &model;
  return NewPolicy(text, options);
}

TEST(Registry, EveryEntryHasHelpAndCanBeMadeByItsName) {
  std::set<std::string_view> kinds;
  for (const Entry& entry : Entries()) {
    kinds.insert(entry.kind);
    EXPECT_FALSE(entry.help.empty()) << entry.name;
    const auto policy = Make(std::string(entry.name));
    ASSERT_TRUE(policy) << entry.name;
    EXPECT_EQ((*policy)->Name(), entry.name);
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre("order", "placement", "policy", "sizing"));
}

TEST(Registry, PartsComeInAnyOrderAndNumber) {
  for (const char* text : {"srtf+pack+slim", "slim+srtf+pack", "las+complement", "fair", "slim"}) {
    const auto policy = Make(text);
    ASSERT_TRUE(policy) << text;
    EXPECT_EQ((*policy)->Name(), text);
  }
}

TEST(Registry, UnknownPartsAreUsageErrorsThatNameWhatThereIs) {
  const auto policy = Make("srtf+pakc");
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().kind, core::ErrorKind::kUsage);
  EXPECT_THAT(policy.error().message, HasSubstr("'pakc'"));
  EXPECT_THAT(policy.error().message, HasSubstr("pack"));
  EXPECT_FALSE(Make(""));
  EXPECT_FALSE(Make("fifo+"));
}

TEST(Registry, AWholePolicyIsNoPart) {
  EXPECT_THAT(Make("sharewell+slim").error().message, HasSubstr("is a whole policy, not a part"));
}

TEST(Registry, UnknownPartsNameTheNearest) {
  EXPECT_THAT(Make("srtf+pakc").error().message, HasSubstr("did you mean 'pack'"));
}

TEST(Registry, TwoOfAKindAreRefused) {
  EXPECT_THAT(Make("fifo+sjf").error().message, HasSubstr("names two orders"));
  EXPECT_THAT(Make("pack+slot").error().message, HasSubstr("names two placements"));
}

}  // namespace
}  // namespace sharewell::policy
