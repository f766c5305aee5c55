#include "control/service/mailbox.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <thread>

namespace sharewell::control {
namespace {

using ::testing::ElementsAre;

class MailboxTest : public ::testing::Test {
 protected:
  void Submit(const std::string& name) {
    SubmitRequest request;
    request.who.name = name;
    box_.Submit(std::move(request));
  }
  void Do(const std::string& what) {
    box_.Do([this, what] { seen_.push_back(what); });
  }
  std::vector<std::string> Deliver() {
    box_.Deliver([this](std::span<SubmitRequest> together) {
      std::string names;
      for (const SubmitRequest& one : together) names += " " + one.who.name;
      seen_.push_back("submit" + names);
    });
    return std::exchange(seen_, {});
  }

  Mailbox box_;
  std::vector<std::string> seen_;
};

TEST_F(MailboxTest, KeepsTheOrderAndJoinsSubmissionsThatStandTogether) {
  Submit("a");
  Submit("b");
  Do("cancel");
  Submit("c");
  Do("hold");
  Do("drain");
  Submit("d");
  EXPECT_THAT(Deliver(),
              ElementsAre("submit a b", "cancel", "submit c", "hold", "drain", "submit d"));
  EXPECT_THAT(Deliver(), ElementsAre()) << "each is delivered once";
}

TEST_F(MailboxTest, WhatIsAskedDuringADeliveryIsForTheNext) {
  box_.Do([this] {
    seen_.emplace_back("first");
    Do("second");
  });
  EXPECT_THAT(Deliver(), ElementsAre("first"));
  EXPECT_THAT(Deliver(), ElementsAre("second"));
}

TEST_F(MailboxTest, TakesFromManyThreads) {
  constexpr int kThreads = 4, kEach = 200;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this] {
        for (int i = 0; i < kEach; ++i) Submit("x");
      });
    }
  }
  std::size_t count = 0;
  box_.Deliver([&](std::span<SubmitRequest> together) { count += together.size(); });
  EXPECT_EQ(count, std::size_t{kThreads} * kEach);
}

TEST_F(MailboxTest, TellsThatItWasClosed) {
  EXPECT_FALSE(box_.closed());
  box_.Close();
  EXPECT_TRUE(box_.closed());
}

}  // namespace
}  // namespace sharewell::control
