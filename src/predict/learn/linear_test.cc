#include "predict/learn/linear.h"

#include <gtest/gtest.h>

#include "predict/learn/gaussian/cholesky.h"
#include "predict/learn/test_tables.h"

namespace sharewell::predict::learn {
namespace {

// 3 + 2 a - 5 b, and a feature that never varies.
Table Plane() {
  Table table = Named(3);
  for (std::size_t i = 0; i < 50; ++i) {
    const double a = 100 * Draw(1, i, 0);
    const double b = Draw(1, i, 1);
    table.Add(std::vector{a, b, 7.0}, 3 + 2 * a - 5 * b);
  }
  return table;
}

TEST(Linear, RecoversKnownCoefficients) {
  const Linear model = FitLinear({1e-9}, Plane());
  EXPECT_NEAR(model.coefficients[0] * model.scaler.factors[0], 2, 1e-8);
  EXPECT_NEAR(model.coefficients[1] * model.scaler.factors[1], -5, 1e-6);
  EXPECT_EQ(model.coefficients[2], 0);
  EXPECT_NEAR(model.Predict(std::vector{0.0, 0.0, 7.0}), 3, 1e-6);
  EXPECT_NEAR(model.Predict(std::vector{1000.0, 0.0, 7.0}), 2003, 1e-4);  // beyond the rows
}

TEST(Linear, LambdaShrinksTowardsTheMean) {
  const Table table = Plane();
  const std::vector<double> far{1000.0, 0.0, 7.0};
  const Linear heavy = FitLinear({1e9}, table);
  EXPECT_NEAR(heavy.Predict(far), heavy.intercept, 0.1);
  EXPECT_LT(FitLinear({50}, table).Predict(far), FitLinear({1}, table).Predict(far));
}

TEST(Linear, MissingIsTheMean) {
  const Linear model = FitLinear({1}, Plane());
  EXPECT_EQ(model.Predict(std::vector<double>(3, kUnknownValue)), model.intercept);
  EXPECT_DOUBLE_EQ(model.Predict(std::vector{model.scaler.means[0], kUnknownValue, 7.0}),
                   model.intercept);
}

TEST(Linear, AConstantTargetIsAnsweredExactly) {
  EXPECT_EQ(FitLinear({}, Line(9, [](double) { return 0.1; })).Predict(std::vector{4.0}), 0.1);
}

TEST(Linear, WeightIsAsGoodAsRepetition) {
  Table weighted = Line(4, [](double x) { return x * x; });
  weighted.weights = {1, 2, 1, 3};
  Table repeated = weighted.Subset(std::vector<std::size_t>{0, 1, 1, 2, 3, 3, 3});
  repeated.weights.clear();
  const std::vector<double> row{2.5};
  EXPECT_NEAR(FitLinear({1}, weighted).Predict(row), FitLinear({1}, repeated).Predict(row), 1e-12);
}

TEST(Linear, CopiesOfAFeatureShareItsPart) {
  Table table = Named(2);
  for (int i = 0; i < 20; ++i) table.Add(std::vector<double>(2, i), i);
  const Linear model = FitLinear({1e-6}, table);
  EXPECT_NEAR(model.coefficients[0], model.coefficients[1], 1e-6);
  EXPECT_NEAR(model.Predict(std::vector{30.0, 30.0}), 30, 1e-4);
  // Where they leave the matrix singular there still is an answer.
  EXPECT_NEAR(FitLinear({1e-12}, table).Predict(std::vector{30.0, 30.0}), 30, 1e-4);
}

TEST(Linear, ImportanceIsTheStandardisedCoefficients) {
  const auto importance = FitLinear({1e-6}, Plane()).Importance();
  EXPECT_GT(importance[0], 0.9);
  EXPECT_EQ(importance[2], 0);
  EXPECT_NEAR(importance[0] + importance[1], 1, 1e-12);
}

TEST(Cholesky, SolvesAndInverts) {
  const std::size_t n = 13;
  std::vector<double> a(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) a[i * n + j] += Draw(1, i, k) * Draw(1, j, k);
    }
    a[i * n + i] += 1;
  }
  std::vector<double> l = a;
  ASSERT_TRUE(Factorise(l, n));
  std::vector<double> b(n, 1);
  SolveFactored(l, n, b);
  const auto inverse = InvertFactor(l, n);
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(Dot(&a[i * n], b.data(), n), 1, 1e-10);
    double one = 0;  // row i of the inverse times column i
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t from = std::max(i, j);
      one += Dot(&inverse[i * n + from], &inverse[j * n + from], n - from) * a[j * n + i];
    }
    EXPECT_NEAR(one, 1, 1e-10);
  }
}

TEST(Cholesky, RefusesWhatIsNotPositiveDefinite) {
  std::vector<double> flat{1, 1, 1, 1};
  EXPECT_FALSE(Factorise(flat, 2));
  std::vector<double> unknown{1, 0, kUnknownValue, 1};
  EXPECT_FALSE(Factorise(unknown, 2));
}

}  // namespace
}  // namespace sharewell::predict::learn
