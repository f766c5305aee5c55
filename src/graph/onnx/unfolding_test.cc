#include "graph/onnx/unfolding.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "graph/onnx/onnx.h"
#include "testing/sanitized.h"

namespace sharewell::graph::onnx {
namespace {

// Read in a process of its own, so that its memory is its own too: 0, or why not.
struct Cost {
  int status = 0;
  double seconds = 0, megabytes = 0;
};

Cost CostOfReading(const std::string& bytes) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto graph = ReadOnnx(bytes, "unfolds", Batch(1));
    ::_exit(graph || !graph.error().message.empty() ? 0 : 1);
  }
  Cost cost;
  rusage used{};
  ::wait4(pid, &cost.status, 0, &used);
  cost.seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                 static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  cost.megabytes = static_cast<double>(used.ru_maxrss) / 1e3;
  return cost;
}

TEST(Unfolding, TheSameSeedIsTheSameFile) {
  EXPECT_EQ(Unfolding(17, 10'000).Bytes(), Unfolding(17, 10'000).Bytes());
  std::set<std::string> files;
  for (std::uint64_t seed = 0; seed < kUnfoldingKinds; ++seed) {
    files.insert(Unfolding(seed, 10'000).Bytes());
  }
  EXPECT_EQ(files.size(), kUnfoldingKinds);
}

void ExpectWithinBounds(std::uint64_t seed, std::size_t length, double megabytes) {
  Unfolding unfolding(seed, length);
  const std::string bytes = unfolding.Bytes();
  EXPECT_LT(bytes.size(), 2 * length + 1000) << unfolding.name();
  const Cost cost = CostOfReading(bytes);
  const std::string what = std::string(unfolding.name()) + ", seed " + std::to_string(seed);
  EXPECT_EQ(cost.status, 0) << what;
  if (fixtures::kSanitized) return;
  EXPECT_LT(cost.megabytes, megabytes) << what;
  EXPECT_LT(cost.seconds, 30) << what;
}

// What a file costs is bounded by what is counted, however long it is: a longer one shows no more.
TEST(Unfolding, A2EachIsReadOrRefusedWithinBounds) {
  for (std::uint64_t seed = 0; seed < kUnfoldingKinds; ++seed) {
    ExpectWithinBounds(seed, fixtures::kSanitized ? 4'000 : 8'000, 300);
  }
}

// Those that are refused before much is done can be longer here.
TEST(Unfolding, A2LongOnesAreRefusedEarly) {
  for (std::uint64_t seed = 0; seed < kUnfoldingKinds; ++seed) {
    const std::string_view name = Unfolding(seed, 1000).name();
    for (const char* early : {"a function that calls itself first", "references to attributes",
                              "numbers that are passed on", "long names", "sparse shapes"}) {
      if (name == early) ExpectWithinBounds(seed, 300'000, 300);
    }
  }
}

}  // namespace
}  // namespace sharewell::graph::onnx
