#include "graph/pt2/expression.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace sharewell::graph::pt2 {
namespace {

constexpr const char* kS = "Symbol('s77', positive=True, integer=True)";

std::optional<std::int64_t> At32(const std::string& expression) {
  return Evaluate(expression, {{"s77", 32}, {"s0", 7}});
}

TEST(Expression, ReadsSympysNotation) {
  EXPECT_EQ(At32(kS), 32);
  EXPECT_EQ(At32(fmt::format("Mul(Integer(8), {})", kS)), 256);
  EXPECT_EQ(At32(fmt::format("Add(Mul(Integer(-1), {}), Integer(100))", kS)), 68);
  EXPECT_EQ(At32(fmt::format("floor(Mul(Rational(1, 3), {}))", kS)), 10);
  EXPECT_EQ(At32(fmt::format("Pow({}, Integer(2))", kS)), 1024);
  EXPECT_EQ(At32(fmt::format("Max(Integer(1), FloorDiv({}, Integer(64)))", kS)), 1);
}

TEST(Expression, ReadsPythonsNotation) {
  EXPECT_EQ(At32("s77"), 32);
  EXPECT_EQ(At32("2*s77 + 1"), 65);
  EXPECT_EQ(At32("-(s77 - 40)"), 8);
  EXPECT_EQ(At32("s77**2//3"), 341);
  EXPECT_EQ(At32("Mod(s0, 2)"), 1);
  EXPECT_EQ(At32("((s77 + 6)//s0) % 4"), 1);
  EXPECT_EQ(At32("CeilDiv(s77, 7)"), 5);
}

TEST(Expression, DividesAsPythonDoes) {
  EXPECT_EQ(At32("(-7)//2"), -4);
  EXPECT_EQ(At32("(-7) % 4"), 1);
  EXPECT_EQ(At32("7 % (-4)"), -1);
}

TEST(Expression, HasNoValueWhereThereIsNone) {
  for (const char* text :
       {"", "s1", "s77/3", "1//0", "Mod(1, 0)", "Strange(1)", "1 +", "(1", "Max()", "Max(1",
        "Max(1 2)", "9223372036854775807 * 2", "99999999999999999999", "2**63", "Symbol(s77)",
        "Symbol('s77'", "1.5", "\x01"}) {
    EXPECT_EQ(At32(text), std::nullopt) << text;
  }
  EXPECT_EQ(At32("9223372036854775806 + 1"), 9223372036854775807);
}

TEST(Expression, GivesUpOnWhatIsTooDeepOrTooLong) {
  EXPECT_EQ(At32(fmt::format("{:(>{}}1{:)>{}}", "", 5000, "", 5000)), std::nullopt);
  EXPECT_EQ(At32(fmt::format("{:->{}}1", "", 9000)), std::nullopt);
  EXPECT_EQ(At32(fmt::format("1{: >{}}", "", 20000)), std::nullopt);
}

TEST(Expression, CollectsItsSymbols) {
  std::set<std::string, std::less<>> symbols;
  CollectSymbols("2*s0 + Max(u1, Symbol('s77', positive=True))", symbols);
  CollectSymbols("broken(", symbols);
  EXPECT_THAT(symbols, testing::ElementsAre("s0", "s77", "u1"));
}

TEST(Expression, KnowsALoneSymbol) {
  EXPECT_EQ(SoleSymbol(kS), "s77");
  EXPECT_EQ(SoleSymbol(" s0 "), "s0");
  EXPECT_EQ(SoleSymbol("2*s0"), std::nullopt);
  EXPECT_EQ(SoleSymbol("s0 + s1"), std::nullopt);
  EXPECT_EQ(SoleSymbol("12"), std::nullopt);
}

}  // namespace
}  // namespace sharewell::graph::pt2
