#include "api/fair_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

namespace sharewell::api {
namespace {

using Taken = FairWorker::Taken;

void WaitUntil(const std::function<bool()>& holds) {
  bool held = holds();
  for (int i = 0; i < 3000 && !held; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    held = holds();
  }
  EXPECT_TRUE(held);
}

TEST(FairWorkerTest, F17_AnotherUsersStudyIsNotWaitedFor) {
  FairWorker worker(2, 100);
  std::promise<void> go_on;
  const std::shared_future<void> going = go_on.get_future().share();
  std::atomic<int> anns = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(worker.Put("ann", 3,
                         [&anns, going] {
                           ++anns;
                           going.wait();
                         }),
              Taken::kYes);
  }
  EXPECT_EQ(worker.Put("ann", 3, [] {}), Taken::kTooManyOfTheirs);
  EXPECT_EQ(worker.CountOf("ann"), 3U);
  std::atomic<bool> bobs = false;
  EXPECT_EQ(worker.Put("bob", 3, [&bobs] { bobs = true; }), Taken::kYes);
  WaitUntil([&] { return bobs.load(); });
  EXPECT_EQ(anns, 1) << "one of a user's at a time";
  go_on.set_value();
  WaitUntil([&] { return anns == 3 && worker.CountOf("ann") == 0; });
}

TEST(FairWorkerTest, WhatWaitsIsBoundedAndDroppedAtTheEnd) {
  FairWorker worker(1, 1);
  std::promise<void> go_on;
  const std::shared_future<void> going = go_on.get_future().share();
  EXPECT_EQ(worker.Put("ann", 9, [going] { going.wait(); }), Taken::kYes);
  WaitUntil([&] { return worker.Put("ann", 1, [] {}) == Taken::kTooManyOfTheirs; });
  WaitUntil([&] { return worker.Put("bob", 9, [] { FAIL(); }) == Taken::kYes; });
  EXPECT_EQ(worker.Put("carol", 9, [] {}), Taken::kTooManyOfAll);
  EXPECT_EQ(worker.Put("carol", 0, [] {}), Taken::kTooManyOfAll);
  std::thread stopping([&] { worker.Stop(); });
  WaitUntil([&] { return worker.CountOf("bob") == 0; });  // dropped
  go_on.set_value();
  stopping.join();
  EXPECT_EQ(worker.Put("ann", 9, [] {}), Taken::kTooManyOfAll);
}

}  // namespace
}  // namespace sharewell::api
