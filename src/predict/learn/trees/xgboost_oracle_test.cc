// Our boosted trees against the library they stand in for: XGBoost's exact method with the same
// options is the judge of how well they generalise.
#include <gtest/gtest.h>
#include <xgboost/c_api.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "predict/learn/judge/metrics.h"
#include "predict/learn/target_mean.h"
#include "predict/learn/test_tables.h"
#include "predict/learn/trees/boosting.h"

namespace sharewell::predict::learn {
namespace {

class Matrix {
 public:
  explicit Matrix(const Table& table) {
    const std::vector<float> values(table.values.begin(), table.values.end());
    const std::vector<float> targets(table.targets.begin(), table.targets.end());
    EXPECT_EQ(XGDMatrixCreateFromMat_omp(values.data(), table.rows(), table.columns(),
                                         std::numeric_limits<float>::quiet_NaN(), &handle_, 1),
              0);
    EXPECT_EQ(XGDMatrixSetFloatInfo(handle_, "label", targets.data(), targets.size()), 0);
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  DMatrixHandle get() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

std::vector<double> XGBoost(const BoostingOptions& options, const Table& train, const Table& test) {
  const Matrix train_matrix(train);
  const Matrix test_matrix(test);
  const DMatrixHandle handles[] = {train_matrix.get()};
  BoosterHandle booster = nullptr;
  EXPECT_EQ(XGBoosterCreate(handles, 1, &booster), 0);
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"nthread", "1"},
           {"tree_method", "exact"},
           {"objective", "reg:squarederror"},
           {"base_score", std::to_string(TargetMean(train))},
           {"max_depth", std::to_string(options.depth)},
           {"eta", std::to_string(options.eta)},
           {"lambda", std::to_string(options.lambda)},
           {"min_child_weight", std::to_string(options.min_child_weight)}}) {
    EXPECT_EQ(XGBoosterSetParam(booster, name.c_str(), value.c_str()), 0);
  }
  for (int round = 0; round < options.rounds; ++round) {
    EXPECT_EQ(XGBoosterUpdateOneIter(booster, round, train_matrix.get()), 0);
  }
  bst_ulong count = 0;
  const float* answers = nullptr;
  EXPECT_EQ(XGBoosterPredict(booster, test_matrix.get(), 0, 0, 0, &count, &answers), 0);
  std::vector<double> out(answers, answers + count);
  XGBoosterFree(booster);
  return out;
}

std::vector<double> Ours(const BoostingOptions& options, const Table& train, const Table& test) {
  const auto model = FitBoosted(options, train);
  std::vector<double> out;
  for (std::size_t i = 0; i < test.rows(); ++i) out.push_back(model.Predict(test.Row(i)));
  return out;
}

void ExpectAsGood(const BoostingOptions& options, const Table& train, const Table& test) {
  const double theirs = Rmse(test.targets, XGBoost(options, train, test));
  const double ours = Rmse(test.targets, Ours(options, train, test));
  EXPECT_LE(ours, 1.03 * theirs) << "depth " << options.depth << ", XGBoost " << theirs;
}

TEST(XGBoostOracle, OneTreeIsTheSameTree) {
  const Table train = Friedman(300, 10, 1);
  const Table test = Friedman(300, 10, 2);
  BoostingOptions options;
  options.rounds = 1;
  options.eta = 1;
  options.depth = 3;
  const auto theirs = XGBoost(options, train, test);
  const auto ours = Ours(options, train, test);
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-4) << i;
}

TEST(XGBoostOracle, GeneralisesAsWell) {
  for (const std::size_t columns : {10, 40}) {
    const Table train = Friedman(500, columns, 1);
    const Table test = Friedman(1000, columns, 2);
    for (const int depth : {2, 4, 6}) {
      BoostingOptions options;
      options.depth = depth;
      ExpectAsGood(options, train, test);
    }
  }
}

TEST(XGBoostOracle, GeneralisesAsWellWithMissingValues) {
  const auto with_gaps = [](std::uint64_t seed) {
    Table table = Friedman(500, 10, seed);
    for (std::size_t i = 0; i < table.values.size(); ++i) {
      if (Draw(seed, i, 77) < 0.1) table.values[i] = kUnknownValue;
    }
    return table;
  };
  BoostingOptions options;
  options.min_child_weight = 5;
  ExpectAsGood(options, with_gaps(1), with_gaps(2));
}

}  // namespace
}  // namespace sharewell::predict::learn
