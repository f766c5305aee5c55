#include "predict/learn/gaussian/gaussian.h"

#include <gtest/gtest.h>

#include <cmath>

#include "predict/learn/judge/metrics.h"
#include "predict/learn/test_tables.h"

namespace sharewell::predict::learn {
namespace {

double Wave(double x) { return std::sin(x / 4); }

TEST(PortableExp, IsTheExponentialToTheLastBits) {
  for (double x = -700; x < 700; x += 0.37) {
    EXPECT_NEAR(PortableExp(x) / std::exp(x), 1, 5e-16) << x;
  }
  EXPECT_EQ(PortableExp(0), 1);
  EXPECT_EQ(PortableExp(-1e300), 0);
}

TEST(Kernel, FallsFromOneToNothing) {
  for (const Kernel kernel : {Kernel::kMatern52, Kernel::kRbf}) {
    EXPECT_EQ(Alike(kernel, 0), 1);
    EXPECT_EQ(Alike(kernel, 1e308), 0);
    EXPECT_EQ(Alike(kernel, std::numeric_limits<double>::infinity()), 0);
    const double step = 1e-6;
    const double slope = (Alike(kernel, 2 + step) - Alike(kernel, 2 - step)) / (2 * step);
    EXPECT_NEAR(AlikeSlope(kernel, 2), slope, 1e-8);
  }
}

TEST(Gaussian, InterpolatesWhatHasNoNoise) {
  for (const Kernel kernel : {Kernel::kMatern52, Kernel::kRbf}) {
    GaussianOptions options;
    options.kernel = kernel;
    const auto model = FitGaussian(options, Line(40, Wave));
    ASSERT_TRUE(model);
    for (double x = 0; x < 39; x += 0.5) {
      EXPECT_NEAR(model->Predict(std::vector{x}), Wave(x), 0.01) << x;
    }
  }
}

TEST(Gaussian, IsSureWhereItHasRowsAndNotBeyond) {
  const auto model = FitGaussian({}, Line(40, Wave));
  EXPECT_LT(model->Spread(std::vector{20.5}), 0.02);
  EXPECT_GT(model->Spread(std::vector{80.0}), 0.2);
  // Far away it knows nothing but the mean.
  EXPECT_NEAR(model->Predict(std::vector{1e9}), model->state().mean, 1e-12);
}

TEST(Gaussian, SpreadCoversAsOftenAsItSays) {
  const Table train = Friedman(300, 6, 1);
  const Table test = Friedman(500, 6, 2);
  const auto model = FitGaussian({}, train);
  double inside = 0;
  for (std::size_t i = 0; i < test.rows(); ++i) {
    const double off = test.targets[i] - model->Predict(test.Row(i));
    inside += std::abs(off) <= 1.645 * model->Spread(test.Row(i)) ? 1 : 0;
  }
  EXPECT_NEAR(inside / 500, 0.9, 0.05);
}

TEST(Gaussian, OwnLengthsFindTheFeaturesThatMatter) {
  const Table train = Friedman(200, 15, 1);
  const Table test = Friedman(300, 15, 2);
  const auto error = [&](bool ard) {
    GaussianOptions options;
    options.ard = ard;
    const auto model = FitGaussian(options, train);
    std::vector<double> predicted;
    for (std::size_t i = 0; i < test.rows(); ++i) predicted.push_back(model->Predict(test.Row(i)));
    return Rmse(test.targets, predicted);
  };
  EXPECT_LT(error(true), 0.8 * error(false));
  GaussianOptions options;
  options.ard = true;
  const auto importance = FitGaussian(options, train)->Importance();
  for (std::size_t f = 5; f < 15; ++f) {
    for (std::size_t used = 0; used < 5; ++used) EXPECT_LT(importance[f], importance[used]);
  }
}

TEST(Gaussian, TheSameRowTwiceIsFine) {
  Table table = Line(20, Wave);
  for (std::size_t i = 0; i < 20; ++i) {
    table.Add(std::vector{static_cast<double>(i)}, Wave(static_cast<double>(i)) + 0.1);
  }
  const auto model = FitGaussian({}, table);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->Predict(std::vector{8.0}), Wave(8) + 0.05, 0.03);
}

TEST(Gaussian, AConstantTargetIsAnsweredExactly) {
  const auto model = FitGaussian({}, Line(20, [](double) { return 0.1; }));
  EXPECT_EQ(model->Predict(std::vector{5.0}), 0.1);
  EXPECT_EQ(model->Spread(std::vector{5.0}), 0);
}

TEST(Gaussian, FeaturesThatNeverVaryDoNotMatter) {
  Table table = Named(2);
  for (int i = 0; i < 20; ++i) table.Add(std::vector{1.0, static_cast<double>(i)}, Wave(i));
  const auto model = FitGaussian({}, table);
  EXPECT_EQ(model->Predict(std::vector{1.0, 3.5}), model->Predict(std::vector{99.0, 3.5}));
}

TEST(Gaussian, ManyRowsAreDrawnFrom) {
  GaussianOptions options;
  options.most_rows = 60;
  const Table table = Friedman(300, 3, 1);
  const auto model = FitGaussian(options, table);
  EXPECT_EQ(model->state().targets.size(), 60u);
  EXPECT_EQ(*model, *FitGaussian(options, table));
}

TEST(Gaussian, FromItsSolutionItAnswersTheSameBits) {
  const auto fitted = FitGaussian({}, Line(40, Wave));
  ASSERT_TRUE(fitted);
  const Gaussian again = Gaussian::FromSolved(fitted->state(), fitted->solution());
  for (double x = -3; x < 45; x += 0.7) {
    EXPECT_EQ(again.Predict(std::vector{x}), fitted->Predict(std::vector{x}));
    EXPECT_EQ(again.Spread(std::vector{x}), fitted->Spread(std::vector{x}));
  }
  EXPECT_EQ(again.Importance(), fitted->Importance());
}

}  // namespace
}  // namespace sharewell::predict::learn
