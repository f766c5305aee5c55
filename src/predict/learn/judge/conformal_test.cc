#include "predict/learn/judge/conformal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/numbers/random.h"

namespace sharewell::predict::learn {
namespace {

using testing::HasSubstr;

// 1 to n, in no order.
std::vector<Residual> OneTo(int n, const std::string& family = "") {
  std::vector<Residual> out;
  for (int i = 0; i < n; ++i) out.push_back({1.0 + (i * 7 + 3) % n, family, 1});
  return out;
}

double Normal(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  return core::Normal(core::HashOf({a, b, c}));
}

TEST(Conformal, TakesTheOrderStatisticsOfTheHeader) {
  const auto c = Calibrate(OneTo(100), {});
  ASSERT_TRUE(c);
  EXPECT_EQ(c->levels, (std::vector<double>{0.05, 0.5, 0.95}));
  EXPECT_EQ(c->Offset(0, "any"), 5);   // floor(101 x 0.05)
  EXPECT_EQ(c->Offset(1, "any"), 51);  // ceil(101 x 0.5)
  EXPECT_EQ(c->Offset(2, "any"), 96);  // ceil(101 x 0.95)
}

TEST(Conformal, NineteenAreEnoughForNineteenInTwenty) {
  EXPECT_EQ(Calibrate(OneTo(19), {})->pooled, (std::vector<double>{1, 10, 19}));
  // With fewer the extremes have to do.
  EXPECT_EQ(Calibrate(OneTo(3), {})->pooled, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(Calibrate(OneTo(1), {})->pooled, (std::vector<double>{1, 1, 1}));
}

TEST(Conformal, AFamilyWithEnoughHasItsOwn) {
  std::vector<Residual> residuals = OneTo(20, "large");
  for (int i = 0; i < 19; ++i) residuals.push_back({100.0 + i, "small", 1});
  const auto c = Calibrate(residuals, {});
  EXPECT_EQ(c->Offset(2, "large"), 20);
  EXPECT_EQ(c->Offset(2, "small"), c->pooled[2]);
  EXPECT_EQ(c->Offset(2, "unseen"), c->pooled[2]);
  EXPECT_EQ(c->pooled[2], 117);  // the 38th of 39
  ConformalOptions together;
  together.by_family = false;
  EXPECT_EQ(Calibrate(residuals, together)->Offset(2, "large"), 117);
}

TEST(Conformal, ScalesOffsetsWithHowHardARowIs) {
  std::vector<Residual> residuals;
  for (int i = 0; i < 99; ++i) residuals.push_back({0.1 * (i + 1), "", 0.1});
  const auto c = Calibrate(residuals, {});
  EXPECT_NEAR(c->Offset(2, "", 1), 95, 1e-9);
  EXPECT_NEAR(c->Offset(2, "", 3), 285, 1e-9);
}

TEST(Conformal, EqualFamiliesWeighTheSameHoweverManyRowsTheyHave) {
  // One family of 900 rows around 0, thirty of 10 around 1.
  std::vector<Residual> residuals;
  for (int i = 0; i < 900; ++i) residuals.push_back({0.001 * (i % 10), "many", 1});
  for (int f = 0; f < 30; ++f) {
    for (int i = 0; i < 10; ++i) residuals.push_back({1 + 0.01 * i, "f" + std::to_string(f), 1});
  }
  ConformalOptions options;
  EXPECT_LT(Calibrate(residuals, options)->pooled[1], 0.1);
  options.families_equal = true;
  const auto c = Calibrate(residuals, options);
  EXPECT_GE(c->pooled[1], 1);
  // 31 families and one more: the bounds are read at 0.95 x 32 / 31.
  EXPECT_DOUBLE_EQ(c->pooled[2], 1.09);
  EXPECT_LT(c->pooled[0], 0.1);
}

TEST(Conformal, FewEqualFamiliesPromiseOnlyTheirExtremes) {
  std::vector<Residual> residuals = OneTo(30, "a");
  residuals.push_back({-50, "b", 1});
  residuals.push_back({60, "c", 1});
  ConformalOptions options;
  options.families_equal = true;
  const auto c = Calibrate(residuals, options);
  EXPECT_EQ(c->pooled[0], -50);
  EXPECT_EQ(c->pooled[2], 60);
}

// Over many calibrations a new exchangeable row lies below the upper bound in at least p of the
// cases, and in not much more.
TEST(Conformal, CoversExchangeableRows) {
  const int trials = 4000;
  for (const int n : {19, 30, 100}) {
    double below_upper = 0;
    double above_lower = 0;
    for (int t = 0; t < trials; ++t) {
      std::vector<Residual> residuals;
      for (int i = 0; i < n; ++i) residuals.push_back({Normal(n, t, i), "", 1});
      const auto c = Calibrate(residuals, {});
      const double actual = Normal(n, t, 1'000'000);
      below_upper += actual <= c->Offset(2, "") ? 1 : 0;
      above_lower += actual >= c->Offset(0, "") ? 1 : 0;
    }
    // Four standard deviations of a share of 4,000.
    const double slack = 4 * std::sqrt(0.95 * 0.05 / trials);
    EXPECT_GE(below_upper / trials, 0.95 - slack) << n;
    EXPECT_LE(below_upper / trials, 0.95 + 1.0 / (n + 1) + slack) << n;
    EXPECT_GE(above_lower / trials, 0.95 - slack) << n;
  }
}

// A new family, of a kind of its own, is covered when families count equally; it is not when one
// large family speaks for all.
TEST(Conformal, EqualFamiliesCoverNewFamilies) {
  const int trials = 1500;
  double equal = 0;
  double pooled = 0;
  for (int t = 0; t < trials; ++t) {
    std::vector<Residual> residuals;
    const auto shift = [&](int f) { return 3 * Normal(1, t, f); };
    for (int f = 0; f < 30; ++f) {
      const int rows = f == 0 ? 500 : 5;
      for (int i = 0; i < rows; ++i) {
        const std::uint64_t row = static_cast<std::uint64_t>(f) * 1000 + i;
        residuals.push_back({shift(f) + Normal(2, t, row), "f" + std::to_string(f), 1});
      }
    }
    const double actual = shift(99) + Normal(3, t);
    ConformalOptions options;
    pooled += actual <= Calibrate(residuals, options)->Offset(2, "new") ? 1 : 0;
    options.families_equal = true;
    equal += actual <= Calibrate(residuals, options)->Offset(2, "new") ? 1 : 0;
  }
  EXPECT_GE(equal / trials, 0.95 - 4 * std::sqrt(0.95 * 0.05 / trials));
  EXPECT_LT(pooled / trials, 0.9);
}

TEST(Conformal, SaysWhatItCannotUse) {
  const auto message = [](const std::vector<Residual>& residuals, std::vector<double> levels) {
    ConformalOptions options;
    options.levels = std::move(levels);
    return Calibrate(residuals, options).error().message;
  };
  EXPECT_THAT(message({}, {0.5}), HasSubstr("no residuals"));
  EXPECT_THAT(message({{std::numeric_limits<double>::infinity(), "vit", 1}}, {0.5}),
              HasSubstr("family \"vit\" is no finite number"));
  EXPECT_THAT(message({{1, "vit", 0}}, {0.5}), HasSubstr("scale 0"));
  EXPECT_THAT(message({{1, "vit", 1}}, {1}), HasSubstr("level 1 is not between"));
}

}  // namespace
}  // namespace sharewell::predict::learn
