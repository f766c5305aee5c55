#include "control/service/view/eviction_words.h"

#include <gtest/gtest.h>

namespace sharewell::control {
namespace {

class EvictionWordsTest : public testing::Test {
 protected:
  core::JobId Job(std::int64_t number, const std::string& user, bool terminal = false) {
    core::JobRecord record;
    record.number = number;
    record.user.name = user;
    record.asked.gpus = 1;
    record.asked.terminal = terminal;
    return live_.GiveId(live_.Add(record));
  }
  LiveJobs live_;
};

TEST_F(EvictionWordsTest, SayWhoIsSlowedByHowMuchAndWhatNext) {
  const core::JobId hog = Job(3, "ann"), victim = Job(7, "bob");
  EvictionWords words = WhyEvicted(hog, {victim, 1.667, 1.25, true}, {7}, false, live_);
  EXPECT_EQ(words.reason,
            "evicted: job 7 of bob beside it takes 1.67 times as long as alone (by its steps), and "
            "its bound is 1.25; it goes back into the queue and is not put beside job 7 of bob "
            "with these SM shares again");
  EXPECT_EQ(words.note.find("it was evicted: job 7 of bob beside it takes 1.67 times"), 0U);
  words = WhyEvicted(victim, {victim, 2, 1.1, false}, {3, 8}, true, live_);
  EXPECT_EQ(words.reason,
            "evicted: it beside job 3 of ann and job 8 takes 2.00 times as long as alone (by SM "
            "activity), and its bound is 1.10; it goes back into the queue and has its GPUs to "
            "itself from now on, as it was evicted twice");
  EXPECT_EQ(WhyItStays({hog, {victim, 1.5, 1.25, true}}, live_),
            "beside job 3 of ann it takes 1.50 times as long as alone (by its steps), and its "
            "bound is 1.25; both were evicted twice already, so both stay and it ends later");
}

TEST_F(EvictionWordsTest, OneAtATerminalIsNotStartedAgain) {
  const core::JobId shell = Job(3, "ann", true), victim = Job(7, "bob");
  const EvictionWords words = WhyEvicted(shell, {victim, 1.5, 1.25, true}, {7}, false, live_);
  EXPECT_EQ(words.reason.find("ended: job 7 of bob"), 0U);
  EXPECT_EQ(words.note.find("ended, as an interactive job is not started again"), 0U);
}

}  // namespace
}  // namespace sharewell::control
