#include "engine/local/errands.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace sharewell::engine {
namespace {

TEST(Errands, RunSideBySideAndFollowOnTheOwnersThread) {
  std::atomic<int> told = 0;
  std::atomic<bool> go = false;
  std::vector<int> followed;
  Errands errands([&] { ++told; });
  const auto owner = std::this_thread::get_id();
  for (int i = 0; i < 3; ++i) {
    errands.Run([&, i]() -> Errands::Then {
      // The first ends last: none waits for another.
      while (i == 0 && !go) std::this_thread::yield();
      if (i == 2) go = true;
      return [&, i] {
        EXPECT_EQ(std::this_thread::get_id(), owner);
        followed.push_back(i);
        // What follows may need another errand.
        if (i == 1) errands.Run([&] { return [&] { followed.push_back(9); }; });
      };
    });
  }
  errands.FinishAll();
  EXPECT_EQ(followed.size(), 4U);
  EXPECT_EQ(followed.back(), 9);
  EXPECT_EQ(told, 4);
  errands.Finish();
  EXPECT_EQ(followed.size(), 4U);
}

TEST(Errands, ItsEndWaitsForThemAndNothingFollows) {
  std::atomic<bool> ran = false;
  {
    Errands errands({});
    errands.Run([&]() -> Errands::Then {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      ran = true;
      return [] { ADD_FAILURE() << "its owner is gone"; };
    });
    errands.Run([] { return Errands::Then(); });
  }
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace sharewell::engine
