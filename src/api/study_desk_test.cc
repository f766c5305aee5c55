#include "api/study_desk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace sharewell::api {
namespace {

using Length = StudyDesk::Length;
using Taken = FairWorker::Taken;

bool Soon(const std::function<bool()>& holds) {
  for (int i = 0; i < 6000 && !holds(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return holds();
}

class StudyDeskTest : public ::testing::Test {
 protected:
  // One that ends when it is told to.
  StudyDesk::Put Endless(const std::string& user, Length length = Length::kLong,
                         std::size_t most = 8) {
    return desk_.Add(user, most, length, [this](const platform::WorkStop& stop) {
      ++running_;
      while (!stop.asked()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      --running_;
    });
  }
  std::atomic<int> running_{0}, done_{0};
  StudyDesk desk_{32};
};

TEST_F(StudyDeskTest, B1ManyUsersSimulationsDoNotKeepAShortOneWaiting) {
  for (const char* user : {"ann", "bob", "eve", "joe"}) Endless(user);
  ASSERT_TRUE(Soon([&] { return running_ == 3; }));
  desk_.Add("sue", 1, Length::kShort, [this](const auto&) { ++done_; });
  EXPECT_TRUE(Soon([&] { return done_ == 1; }));
}

TEST_F(StudyDeskTest, B1UsersTakeTurns) {
  // Hers fill every place and wait; his is next when one of hers ends.
  std::vector<StudyDesk::Put> hers;
  for (int i = 0; i < 5; ++i) hers.push_back(Endless("eve"));
  ASSERT_TRUE(Soon([&] { return running_ == 1; }));  // one at a time
  desk_.Add("bob", 1, Length::kLong, [this](const auto&) { ++done_; });
  EXPECT_TRUE(Soon([&] { return done_ == 1; }));
  EXPECT_EQ(running_, 1);
}

TEST_F(StudyDeskTest, OneUsersAreBoundedOverBothLengths) {
  EXPECT_EQ(Endless("eve", Length::kLong, 2).taken, Taken::kYes);
  EXPECT_EQ(Endless("eve", Length::kShort, 2).taken, Taken::kYes);
  EXPECT_EQ(Endless("eve", Length::kLong, 2).taken, Taken::kTooManyOfTheirs);
  EXPECT_EQ(desk_.CountOf("eve"), 2U);
  EXPECT_EQ(desk_.CountOf("bob"), 0U);
}

TEST_F(StudyDeskTest, AllOfThemAreBounded) {
  int taken = 0;
  for (int i = 0; i < 100; ++i) {
    if (Endless("user" + std::to_string(i)).taken == Taken::kYes) ++taken;
  }
  EXPECT_GE(taken, 32);
  EXPECT_LE(taken, 35);
}

TEST_F(StudyDeskTest, B1OneWhoseClientLeftEndsOrNeverBegins) {
  const auto first = Endless("eve"), second = Endless("eve");
  ASSERT_TRUE(Soon([&] { return running_ == 1; }));
  second.stop->Ask();
  first.stop->Ask();
  EXPECT_TRUE(Soon([&] { return desk_.CountOf("eve") == 0; }));
  EXPECT_EQ(running_, 0);
}

TEST_F(StudyDeskTest, B1StopsAtOnce) {
  for (const char* user : {"ann", "bob", "eve", "joe"}) Endless(user);
  desk_.Stop();
  EXPECT_EQ(running_, 0);
  EXPECT_NE(Endless("ann").taken, Taken::kYes);
}

}  // namespace
}  // namespace sharewell::api
