// Finding U1: memory bounds have to make sense on a card smaller than the one that was measured on.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "advice/predicted_needs.h"

namespace sharewell::advice {
namespace {

using predict::Figure;

// Every n-th graph that was measured, by name. All of them take seconds in a release build.
#ifdef NDEBUG
constexpr std::size_t kEach = 1;
#else
constexpr std::size_t kEach = 8;
#endif

std::vector<std::string> Graphs() {
  std::vector<std::string> all;
  const std::filesystem::path folder("data/h200/onnx");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".onnx") all.push_back(file.path().string());
  }
  std::sort(all.begin(), all.end());
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < all.size(); i += kEach) chosen.push_back(all[i]);
  return chosen;
}

PredictionAsk AskFor(const std::string& model, const std::string& gpu) {
  PredictionAsk ask;
  ask.model = model;
  ask.batch = 32;
  ask.gpu = gpu;
  return ask;
}

TEST(MemoryBounds, U1_OnAnRtx3090WhatNeedsHalfTheCardIsBoundedByHalfOfIt) {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  const auto trained = BuiltinModel();
  ASSERT_TRUE(trained);
  const core::Bytes card = catalogue.Find("RTX 3090")->memory;
  int fit_half = 0, bounded_above_half = 0, bounded_above_card = 0;
  for (const std::string& graph : Graphs()) {
    const auto needs = PredictNeedsBy(trained->predictor, AskFor(graph, "RTX 3090"), catalogue);
    ASSERT_TRUE(needs) << needs.error().message;
    ASSERT_TRUE(needs->gpu_memory_upper && needs->profile.gpu_memory);
    if (*needs->profile.gpu_memory > card / 2) continue;
    ++fit_half;
    bounded_above_half += *needs->gpu_memory_upper > card / 2 ? 1 : 0;
    bounded_above_card += *needs->gpu_memory_upper > card ? 1 : 0;
  }
  EXPECT_GT(fit_half, 40);
  EXPECT_LE(bounded_above_half, 0.04 * fit_half) << "of " << fit_half;
  EXPECT_EQ(bounded_above_card, 0);
}

TEST(MemoryBounds, U1_NothingIsPromisedThatExceedsTheCard) {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  const auto trained = BuiltinModel();
  ASSERT_TRUE(trained);
  const auto row = PredictOne(AskFor("data/h200/onnx/text_squeezebert_256.onnx", "V100-16GB"),
                              trained->predictor, catalogue);
  ASSERT_TRUE(row) << row.error().message;
  EXPECT_LE(row->prediction[Figure::kReserved].high, row->gpu_memory.value);
  EXPECT_LE(row->prediction[Figure::kMemory].high, row->gpu_memory.value);
  const core::Needs needs = NeedsFrom(*row);
  EXPECT_EQ(needs.gpu_memory_upper->value, row->prediction[Figure::kMemory].high)
      << "the search for algorithms is no need";
}

// The bounds are narrower than they were; what was measured still lies under them. Rows of a family
// that was held out, as a new model is.
TEST(MemoryBounds, U1_WhatWasMeasuredInSteadyStateStillLiesUnderTheBound) {
  const auto trained = BuiltinModel();
  ASSERT_TRUE(trained);
  const double upper = trained->predictor.UpperOverMedian(Figure::kMemory);
  const std::size_t memory = predict::Index(Figure::kMemory);
  int rows = 0, under = 0;
  for (const predict::Known& known : trained->predictor.known()) {
    if (!known.measured[memory] || !known.held_out[memory]) continue;
    ++rows;
    under += *known.measured[memory] <= *known.held_out[memory] * upper * (1 + 1e-9) ? 1 : 0;
  }
  EXPECT_GT(rows, 500);
  EXPECT_GE(under, 0.95 * rows) << "of " << rows;
  EXPECT_LT(upper, 1.2);
}

}  // namespace
}  // namespace sharewell::advice
