#include "research/reproduce/yeung_real.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "platform/files/test_folder.h"

namespace sharewell::research::reproduce {
namespace {

using platform::TestFolder;

struct Ran {
  std::string policy;
  double second_start;  // of the second of two jobs that take 20 s alone, start-up of 2 s included
  double took;          // by each
  double busy;
};

// Two light loops, which hardly slow each other: alone 18 s of steps.
std::string Record(const Ran& ran, const std::string& extra = "", const std::string& mix = "abc") {
  const auto job = [&ran](double submit, double start) {
    return fmt::format(
        R"({{"workload":"hf:bert@128","batch":16,"precision":"bf16","workers":1,"steps":475,
        "submit_seconds":{},"start_seconds":{},"steady_seconds":{},"end_seconds":{},"phase":"finished",
        "attempt":1,"steps_per_second":{},"needs":{{"gpu":"H200","busy":0.23,"sm":0.13,"cpu_cores":1.1,
        "steps_per_second":26.39}}}})",
        submit, start, start + 2, start + ran.took, 475 / (ran.took - 2));
  };
  return fmt::format(
      R"({{"schema":1,"kind":"mix-run","policy":"{}","stub":false,"warm":true,"complete":true,
      "mix":{{"sha256":"{}"}},"machine":{{"gpus":[{{"model":"H200"}}],"cores":16,"memory_bytes":1.3e11}},
      "busy_mean":{},"jobs":[{},{}]{}}})",
      ran.policy, mix, ran.busy, job(0, 0), job(1, ran.second_start), extra);
}

const Ran kSlot{"slot", 20, 20, 0.2};
const Ran kShared{"sharewell", 1, 22, 0.36};

const ReproduceRow* RowOf(const Experiment& experiment, const std::string& what) {
  for (const auto& row : experiment.rows) {
    if (row.what == what) return &row;
  }
  ADD_FAILURE() << "no row " << what;
  return nullptr;
}

double OursOf(const Experiment& experiment, const std::string& what) {
  const auto* row = RowOf(experiment, what);
  return row != nullptr && row->ours ? *row->ours : -1e9;
}

std::string ErrorOf(const std::vector<std::string>& files) {
  const auto made = YeungReal(files);
  return made ? "no error" : made.error().message;
}

TEST(YeungReal, SetsARealRunBesideThePaperAndTheSimulator) {
  const TestFolder folder;
  const auto made = YeungReal(
      {folder.Write("slot.json", Record(kSlot)), folder.Write("sharewell.json", Record(kShared))});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NEAR(OursOf(*made, "makespan_vs_slot_sharewell"), 23.0 / 40 - 1, 1e-9);
  EXPECT_EQ(RowOf(*made, "makespan_vs_slot_sharewell")->paper, -0.335);
  EXPECT_NEAR(OursOf(*made, "busy_vs_slot_sharewell"), 1.8, 1e-9);
  EXPECT_EQ(RowOf(*made, "busy_vs_slot_sharewell")->paper, 1.615);
  EXPECT_NEAR(OursOf(*made, "jct_sharewell"), 22, 1e-9);
  EXPECT_NEAR(OursOf(*made, "slowdown_mean_sharewell"), 20.0 / 18, 1e-9);
  EXPECT_NEAR(OursOf(*made, "slowdown_mean_slot"), 1, 1e-9);
  EXPECT_EQ(OursOf(*made, "slowdown_above_bound_sharewell"), 0);
  EXPECT_EQ(OursOf(*made, "jobs_finished_sharewell"), 2);
  // The simulator runs one after the other under slot, and both at once under sharewell.
  EXPECT_NEAR(OursOf(*made, "makespan_simulated_slot"), 40, 0.1);
  EXPECT_NEAR(OursOf(*made, "makespan_simulated_here_slot"), 40, 0.1);
  EXPECT_NE(RowOf(*made, "makespan_simulated_off_slot")->note.find("kept"), std::string::npos);
  const double shared = OursOf(*made, "makespan_simulated_sharewell");
  EXPECT_GT(shared, 21);
  EXPECT_LT(shared, 26);
  for (const std::string here : {"", "here_"}) {
    EXPECT_NEAR(OursOf(*made, "slowdown_simulated_" + here + "slot"), 1, 1e-9);
    const double slowdown = OursOf(*made, "slowdown_simulated_" + here + "sharewell");
    EXPECT_GT(slowdown, 1);
    EXPECT_LT(slowdown, 1.25);
  }
}

TEST(YeungReal, TitleSaysWhetherNeedsWereMeasuredOrPredicted) {
  const TestFolder folder;
  const auto title = [&folder](const std::string& first, const std::string& others) {
    std::string text = Record(kShared);
    const std::string needs = R"("needs":{)";
    auto at = text.find(needs);
    for (std::string source = first; at != text.npos; source = others) {
      if (!source.empty()) text.insert(at + needs.size(), R"("source":")" + source + R"(",)");
      at = text.find(needs, at + 1);
    }
    const auto made = YeungReal({folder.Write("one.json", text)});
    return made ? made->title : made.error().message;
  };
  EXPECT_EQ(title("measured", "measured"),
            "co-location by measured utilisation, on a real machine");
  EXPECT_EQ(title("predicted", "predicted"),
            "co-location by predicted utilisation, on a real machine");
  EXPECT_EQ(title("measured", "predicted"),
            "co-location by measured and predicted utilisation, on a real machine");
  EXPECT_EQ(title("", ""), "co-location by utilisation of unknown source, on a real machine");
}

TEST(YeungReal, CountsJobsSlowedBeyondTheBound) {
  const TestFolder folder;
  // 18 s of steps alone, 25 s beside others: both are slowed 1.39 times.
  const auto made = YeungReal({folder.Write("slot.json", Record(kSlot)),
                               folder.Write("sharewell.json", Record({"sharewell", 1, 27, 0.36}))});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(OursOf(*made, "slowdown_above_bound_sharewell"), 2);
  EXPECT_EQ(RowOf(*made, "slowdown_above_bound_sharewell")->note,
            "jobs slowed more than 1.25 times, of 2 whose slowdown is known");
}

TEST(YeungReal, TheMixOnAnH200KeepsItsBars) {
  const std::string folder = "data/h200/mix/";
  const auto made =
      YeungReal({folder + "slot.json", folder + "pack.json", folder + "sharewell.json"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->title, "co-location by measured utilisation, on a real machine");
  EXPECT_LT(OursOf(*made, "makespan_vs_slot_sharewell"), -0.335);
  EXPECT_LT(OursOf(*made, "jct_mean_vs_slot_sharewell"), 0);
  EXPECT_LT(OursOf(*made, "slowdown_mean_sharewell"), 1.25);
  EXPECT_EQ(OursOf(*made, "slowdown_above_bound_slot"), 0);
  for (const std::string policy : {"slot", "pack", "sharewell"}) {
    EXPECT_EQ(OursOf(*made, "jobs_finished_" + policy), 20);
    EXPECT_LT(std::abs(OursOf(*made, "makespan_simulated_here_off_" + policy)), 0.1) << policy;
  }
}

TEST(YeungReal, RatesAloneInTheSameSittingStandInForARunUnderSlot) {
  const TestFolder folder;
  std::string text = Record(kShared);
  for (auto at = text.find("\"needs\""); at != text.npos; at = text.find("\"needs\"", at + 60)) {
    text.insert(at, R"("alone_steps_per_second":25,"alone_from":"slot",)");
  }
  const auto made = YeungReal({folder.Write("one.json", text)});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NEAR(OursOf(*made, "slowdown_mean_sharewell"), 25 / (475.0 / 20), 1e-9);
  // 475 steps are 19 s alone, after 2 s of start-up: slot takes twice that, and 23 s were measured.
  EXPECT_NEAR(OursOf(*made, "makespan_vs_simulated_slot_sharewell"), 23.0 / 42 - 1, 0.005);
  EXPECT_GT(OursOf(*made, "makespan_simulated_here_sharewell"),
            OursOf(*made, "makespan_simulated_sharewell"));  // it was told 26.39 steps a second
  // A rate of a profile, of another machine, does not.
  const auto at = text.find("\"slot\"");
  const auto other = YeungReal({folder.Write("two.json", text.replace(at, 6, "\"data/h200\""))});
  ASSERT_TRUE(other) << other.error().message;
  for (const auto& row : other->rows) {
    EXPECT_EQ(row.what.find("_here"), std::string::npos) << row.what;
  }
}

TEST(YeungReal, TheMixWithLoopsOfAMinuteIsHalvedAndKeepsItsBoundsWithinTheirSpread) {
  for (const std::string file : {"sharewell-1.json", "sharewell-2.json"}) {
    const auto made = YeungReal({"data/h200/mix/long/second-sitting/" + file});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(OursOf(*made, "jobs_finished_sharewell"), 20);
    EXPECT_LT(OursOf(*made, "makespan_vs_simulated_slot_sharewell"), -0.4) << file;
    EXPECT_LT(OursOf(*made, "slowdown_mean_sharewell"), 1.2) << file;
  }
}

TEST(YeungReal, ComparesWithNothingThatIsNotGiven) {
  const TestFolder folder;
  const auto made = YeungReal({folder.Write("one.json", Record(kShared))});
  ASSERT_TRUE(made) << made.error().message;
  for (const auto& row : made->rows) {
    EXPECT_EQ(row.what.find("vs_slot"), std::string::npos) << row.what;
    EXPECT_EQ(row.what.find("_here"), std::string::npos) << row.what;
  }
  EXPECT_FALSE(RowOf(*made, "slowdown_mean_sharewell")->ours);
  EXPECT_FALSE(RowOf(*made, "slowdown_above_bound_sharewell")->ours);
}

TEST(YeungReal, RefusesWhatIsNoRecordAndSaysWhy) {
  const TestFolder folder;
  const auto expect = [&folder](const std::string& text, const std::string& why) {
    const std::string file = folder.Write("wrong.json", text);
    EXPECT_NE(ErrorOf({file}).find(why), std::string::npos) << ErrorOf({file});
  };
  const std::string good = Record(kShared);
  const auto with = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  expect("", "line 1: is no valid JSON here");
  expect("[1]", "no JSON object");
  expect("{}", "no record of a mix");
  expect(with("\"schema\":1", "\"schema\":2"), "schema");
  expect(with("\"complete\":true", "\"complete\":false"), "not all of its jobs ended");
  expect(with("\"end_seconds\":23", "\"end_seconds\":0.5"),
         "job 2: end_seconds: it is 0.5, before the job was started at 1");
  expect(with("\"submit_seconds\":1", "\"submit_seconds\":1.5"),
         "job 2: start_seconds: it is 1, before the job was submitted at 1.5");
  expect(with("\"steps_per_second\":26.39", "\"steps_per_second\":0"),
         "job 1: needs: steps_per_second: 0 is not from 1e-09 to");
  expect(with("\"mix\":{\"sha256\":\"abc\"}", "\"mix\":{\"file\":\"m.toml\"}"),
         "mix.sha256: is missing");
  expect(with("\"mix\":{\"sha256\":\"abc\"},", ""), "mix: is missing");
  expect(with("\"sha256\":\"abc\"", "\"sha256\":\"\""), "mix: sha256: it is empty");
  std::string nothing_ran = with("\"end_seconds\":22", "\"end_seconds\":0");
  nothing_ran.replace(nothing_ran.find("\"end_seconds\":23"), 16, "\"end_seconds\":1");
  expect(nothing_ran, "job 2: end_seconds: it is 1, when it started");
  expect(with("\"batch\":16", "\"batch\":\"many\""), "job 1: batch: 'many' is no number");
  expect(with("\"busy\":0.23", "\"busy\":23"), "job 1: needs: busy: 23 is not from 0 to 1");
  expect(with("\"model\":\"H200\"", "\"model\":\"H2000\""), "H2000");
  expect(with("\"cores\":16", "\"cores\":null"), "machine: cores: is missing");
  expect(with("\"policy\":\"sharewell\"", "\"policy\":\"sharwell\""), "sharwell");
  EXPECT_NE(
      ErrorOf({folder.Write("a.json", good), folder.Write("b.json", good)}).find("one a policy"),
      std::string::npos);
  EXPECT_NE(
      ErrorOf({folder.Write("a.json", good), folder.Write("c.json", Record(kSlot, "", "another"))})
          .find("of another mix"),
      std::string::npos);
  EXPECT_NE(ErrorOf({folder.path() + "/none.json"}).find("none.json"), std::string::npos);
}

}  // namespace
}  // namespace sharewell::research::reproduce
