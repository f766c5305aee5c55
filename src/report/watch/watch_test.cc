#include "report/watch/watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::JobRecord;
using core::Phase;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr core::UnixMillis kNow = 1'800'000'000'000;
constexpr ScreenSize kSmall = {80, 14};

JobRecord AJob(std::int64_t number, const std::string& user, Phase phase) {
  JobRecord job;
  job.number = number;
  job.phase = phase;
  job.user.name = user;
  job.asked.command = {"python3", "train.py"};
  job.submitted = kNow - 600'000;
  return job;
}

JobRecord Running(std::int64_t number, const std::string& user, int gpu, double slowdown) {
  JobRecord job = AJob(number, user, Phase::kRunning);
  job.resumed = job.started = kNow - 125'000;
  job.gpus = {{gpu, fmt::format("simulated-{}", gpu), "H200"}};
  job.cores = 4;
  job.slowdown = slowdown;
  job.sm_share = 0.6;
  job.seen.gpu_memory = core::Bytes(3.1e9);
  return job;
}

GpuNow AGpu(int index, std::optional<core::Ratio> busy, std::vector<std::int64_t> jobs) {
  GpuNow gpu;
  gpu.gpu = {index, fmt::format("simulated-{}", index), "H200"};
  gpu.memory = core::Bytes(150e9);
  gpu.memory_used = core::Bytes(30e9);
  gpu.busy = busy;
  gpu.jobs = std::move(jobs);
  return gpu;
}

WatchFacts SomeFacts() {
  WatchFacts facts;
  facts.node.name = "box";
  facts.node.policy = "sharewell";
  facts.node.cores = 16;
  facts.node.cores_given = 8;
  facts.gpus = {AGpu(0, 0.97, {17, 18}), AGpu(1, std::nullopt, {})};
  facts.running = {Running(17, "ann", 0, 1.1), Running(18, "bob", 0, 1.6)};
  JobRecord waiting = AJob(19, "ann", Phase::kWaiting);
  waiting.reason = "no GPU has room";
  waiting.expected_start = kNow + 240'000;
  facts.queue = {waiting};
  facts.counts = {{"running", 2}, {"waiting", 1}, {"finished", 40}};
  facts.host = {0.25, core::Bytes(64e9), core::Bytes(16e9)};
  return facts;
}

WatchState SomeState() {
  WatchState state;
  TakeFacts(state, SomeFacts(), kNow);
  return state;
}

std::vector<std::string> Lines(WatchState state, ScreenSize size = kSmall) {
  KeepInView(state, size);
  std::vector<std::string> lines;
  for (const ScreenLine& line : DrawWatch(state, size)) {
    std::string text = TextOf(line);
    EXPECT_LE(DisplayWidth(text), size.width);
    while (text.ends_with(' ')) text.pop_back();
    lines.push_back((line.chosen ? ">" : "|") + text);
  }
  EXPECT_EQ(lines.size(), size.height);
  return lines;
}

WatchKey Text(const std::string& text) { return {WatchKey::Kind::kText, text}; }

WatchAction Press(WatchState& state, const WatchKey& key) {
  const WatchAction action = PressKey(state, key, kSmall);
  KeepInView(state, kSmall);
  return action;
}

TEST(Watch, ShowsGpusWithTheirResidentsTheHostAndTheQueue) {
  EXPECT_THAT(
      Lines(SomeState()),
      ElementsAre(
          "|sharewell top  box: policy sharewell, 2 GPUs, 2 running, 1 waiting",
          "|cores ███░░░ 8 of 16 given  CPU ██░░░░ 25 %  memory ██░░░░ 14.9 of 59.6 GiB",
          "|GPU model busy         last 3 min    memory",
          ">  0 H200  █████░  97 %            █  █░░░░░ 27.9 of 139.7 GiB  together 1.53x",
          "|       17 python3 train.py ann       speed  91 %  SMs  60 %   2.9 GiB  4 cores …",
          "|       18 python3 train.py bob       speed  62 %  SMs  60 %   2.9 GiB  4 cores …",
          "|  1 H200  ······     -               █░░░░░ 27.9 of 139.7 GiB  idle", "|queue",
          "|       19 python3 train.py ann       waiting  in 4 min  no GPU has room", "|", "|", "|",
          "|", "|q quit  ? help  s sort: index  a array  u user  w why  l log  c cancel"));
}

TEST(Watch, UsesTheRoomOfAWideScreenAndSurvivesATinyOne) {
  const auto wide = Lines(SomeState(), {160, 14});
  EXPECT_THAT(wide[4], HasSubstr("4 cores  2m 05s"));
  for (const std::size_t width : {1, 2, 3, 10, 40, 200}) {
    for (const std::size_t height : {1, 2, 3, 6, 50}) {
      WatchState state = SomeState();
      Lines(state, {width, height});
      state.page = WatchPage::kHelp;
      Lines(state, {width, height});
    }
  }
}

TEST(Watch, SaysWhatItWaitsForUntilTheFirstAnswer) {
  EXPECT_THAT(Lines(WatchState()), Contains("|asking the server ..."));
}

TEST(Watch, InksTellSlowJobsAndFullGpus) {
  const Screen screen = DrawWatch(SomeState(), kSmall);
  EXPECT_THAT(screen[5].pieces, Contains(Piece{" speed  62 %", Ink::kBad}));
  EXPECT_THAT(screen[4].pieces, Contains(Piece{" speed  91 %", Ink::kPlain}));
}

TEST(Watch, TellsAGpuThatIsGivenAndNotUsedFromAnIdleOne) {
  WatchState state = SomeState();
  state.facts->gpus[0].busy = 0.0;
  EXPECT_THAT(Lines(state, {160, 14})[3], HasSubstr("unused"));
  EXPECT_THAT(Lines(state, {160, 14})[6], HasSubstr("idle"));
}

TEST(Watch, KeepsAHistoryOfEachGpu) {
  WatchState state = SomeState();
  core::UnixMillis time = kNow;
  for (const double busy : {0.0, 0.25, 0.5}) {
    WatchFacts facts = SomeFacts();
    facts.gpus[0].busy = busy;
    facts.past["simulated-0"] = {{kNow - 30'000, 0.5}, {kNow - 3'600'000, 1.0}};
    TakeFacts(state, facts, time += BusyHistory::kBusySlot);
  }
  EXPECT_THAT(Lines(state)[3], HasSubstr(" ▅ █▁▃▅"));
  state.ascii = true;
  EXPECT_THAT(Lines(state)[3], HasSubstr(" + #_-+"));
}

TEST(Watch, AMomentOfAGpuIsTheMeanOfWhatWasReadInIt) {
  BusyHistory history;
  for (const double busy : {0.0, 1.0, 0.5}) history.Add(30'000, busy);
  history.Add(60'000, 1);
  EXPECT_THAT(history.Last(4, 61'000),
              ElementsAre(std::nullopt, std::optional(0.5), std::nullopt, std::optional(1.0)));
  EXPECT_THAT(history.Last(1, 90'000), ElementsAre(std::nullopt));
  EXPECT_THAT(BusyHistory().Last(2, 0), ElementsAre(std::nullopt, std::nullopt));
}

TEST(Watch, AnArrayIsOneRowUntilItIsUnfolded) {
  WatchState state = SomeState();
  WatchFacts facts = SomeFacts();
  facts.queue.clear();
  for (int i = 30; i < 34; ++i) {
    facts.queue.push_back(AJob(i, "ann", Phase::kWaiting));
    facts.queue.back().asked.name = fmt::format("lr=0.{}", i);
    facts.queue.back().asked.array = fmt::format("x_{}", i);
    facts.queue.back().reason = "no GPU has room";
  }
  TakeFacts(state, facts, kNow);
  EXPECT_EQ(Lines(state)[8],
            "|    30-33 lr=*             ann       4 waiting           no GPU has room");
  Press(state, {WatchKey::Kind::kEnd, ""});
  EXPECT_EQ(Press(state, Text("c")).kind, WatchAction::Kind::kNone);
  EXPECT_THAT(Lines(state)[13], HasSubstr("several jobs"));
  Press(state, Text("a"));
  EXPECT_EQ(Lines(state)[8],
            ">       30 lr=0.30          ann       waiting            no GPU has room");
  EXPECT_EQ(Lines(state)[9], "|       31 lr=0.31          ann       waiting            the same");
}

TEST(Watch, CutsNoWordAndBreaksLongLines) {
  EXPECT_EQ(TextOf(CutLine({{{"one two three"}}, false}, 9)), "one two…");
  EXPECT_EQ(TextOf(CutLine({{{"one two"}, {"  4 cores"}, {"  2m"}}, false}, 14)), "one two …");
  EXPECT_EQ(TextOf(CutLine({{{std::string(30, 'x')}}, false}, 9)), "xxxxxxxx…");
  EXPECT_EQ(TextOf(CutLine({{{"one two"}}, false}, 7)), "one two");
  EXPECT_EQ(TextOf(CutLine({{{"one two"}}, false}, 0)), "");
  EXPECT_THAT(BrokenLine("a  column  and some words", 12),
              ElementsAre("a  column ", "  and some", "  words"));
  EXPECT_THAT(BrokenLine(std::string(12, 'x'), 5), ElementsAre("xxxxx", "  xxx", "  xxx", "  x"));
  EXPECT_THAT(BrokenLine("", 5), ElementsAre(""));
  EXPECT_THAT(BrokenLine("日本", 1), ElementsAre("日", "本"));
}

TEST(Watch, ATerminalWithoutUnicodeGetsAscii) {
  WatchState state = SomeState();
  state.ascii = true;
  state.facts->running[0].asked.name = "größe";
  for (const std::string& line : Lines(state)) {
    EXPECT_EQ(InAscii(line), line);
  }
  EXPECT_THAT(Lines(state)[4], HasSubstr("gr??e"));
}

TEST(Watch, ANameCannotDriveTheTerminal) {
  WatchState state = SomeState();
  state.facts->running[0].asked.name =
      "\x1b[2J\x1b]0;x\x07\xc2\x9b"
      "31m\r\nx\xff\xe2\x80\xae";
  state.facts->queue[0].reason = "\x1b[31mred";
  TakeText(state, WatchPage::kGpus, 0, "", 80);
  for (const std::string& line : Lines(state, {160, 14})) {
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
    EXPECT_THAT(line, Not(HasSubstr("\xc2\x9b")));
    EXPECT_THAT(line, Not(HasSubstr("\r")));
  }
  EXPECT_THAT(Lines(state, {160, 14})[4], HasSubstr("?[2J?]0;x??31m??x??"));
  state.page = WatchPage::kLog;
  state.job = 17;
  TakeText(state, WatchPage::kLog, 17, "one\x1b[2J\n\ttwo", 80);
  EXPECT_THAT(Lines(state), Contains("|one?[2J"));
}

TEST(Watch, MovesTheCursorOverWhatCanBeChosen) {
  WatchState state = SomeState();
  Press(state, {WatchKey::Kind::kDown, ""});
  EXPECT_THAT(Lines(state)[4], StartsWith(">       17"));
  Press(state, {WatchKey::Kind::kEnd, ""});
  EXPECT_THAT(Lines(state)[8], StartsWith(">       19"));
  Press(state, Text("k"));  // over the heading
  EXPECT_THAT(Lines(state)[6], StartsWith(">  1"));
  Press(state, Text("g"));
  EXPECT_THAT(Lines(state)[3], StartsWith(">  0"));
}

TEST(Watch, WhatIsChosenStaysChosenWhereverItMoves) {
  WatchState state = SomeState();
  Press(state, {WatchKey::Kind::kEnd, ""});
  WatchFacts more = SomeFacts();
  more.gpus.push_back(AGpu(2, 0.1, {}));
  TakeFacts(state, more, kNow);
  EXPECT_EQ(state.chosen, "job 19");
  EXPECT_THAT(Lines(state)[9], StartsWith(">       19"));
  more.queue.clear();
  TakeFacts(state, more, kNow);
  EXPECT_EQ(state.chosen, "gpu simulated-2") << "the nearest that is left";
}

TEST(Watch, ScrollsOverHundredsOfGpus) {
  WatchFacts facts = SomeFacts();
  facts.gpus.clear();
  for (int i = 0; i < 400; ++i) facts.gpus.push_back(AGpu(i, 0.5, {}));
  facts.running.clear();
  facts.queue.clear();
  WatchState state;
  TakeFacts(state, facts, kNow);
  EXPECT_THAT(Lines(state), Contains("|rows 1-9 of 400"));
  for (int i = 0; i < 20; ++i) Press(state, {WatchKey::Kind::kPageDown, ""});
  EXPECT_THAT(Lines(state), Contains("|rows 153-161 of 400"));
  Press(state, {WatchKey::Kind::kEnd, ""});
  EXPECT_THAT(Lines(state), Contains("|rows 392-400 of 400"));
  EXPECT_THAT(Lines(state)[11], StartsWith(">399"));
  EXPECT_THAT(Lines(state, {80, 30})[27], StartsWith(">399")) << "a larger screen is filled";
}

TEST(Watch, SortsGpus) {
  WatchState state = SomeState();
  state.facts->gpus[1].memory_used = core::Bytes(90e9);
  const auto first = [&] { return WatchRows(state)[0].gpu->gpu.index; };
  EXPECT_EQ(first(), 0);
  Press(state, Text("s"));
  EXPECT_EQ(first(), 0) << "busy; unknown is last";
  Press(state, Text("s"));
  EXPECT_EQ(first(), 1) << "memory";
  EXPECT_THAT(Lines(state)[13], HasSubstr("s sort: memory"));
  Press(state, Text("r"));
  EXPECT_EQ(first(), 0);
  EXPECT_EQ(state.chosen, "gpu simulated-0") << "the cursor goes with its row";
}

TEST(Watch, FiltersByUser) {
  WatchState state = SomeState();
  Press(state, Text("u"));
  for (const char* key : {"b", "o", "x"}) Press(state, Text(key));
  Press(state, {WatchKey::Kind::kErase, ""});
  EXPECT_THAT(Lines(state)[13], HasSubstr("jobs of user: bo_"));
  Press(state, {WatchKey::Kind::kEnter, ""});
  const auto lines = Lines(state);
  EXPECT_THAT(lines[0], HasSubstr("user: bo"));
  EXPECT_THAT(lines[4], HasSubstr("18 python3"));
  EXPECT_THAT(lines[5], testing::Eq("|"));
  Press(state, {WatchKey::Kind::kEscape, ""});
  EXPECT_EQ(WatchRows(state).size(), 6U);
}

TEST(Watch, OpensTheWhyOfAJobAndItsLog) {
  WatchState state = SomeState();
  EXPECT_EQ(Press(state, Text("w")).kind, WatchAction::Kind::kNone) << "a GPU has none";
  EXPECT_THAT(Lines(state)[13], HasSubstr("choose a job first"));
  Press(state, {WatchKey::Kind::kDown, ""});
  const WatchAction why = Press(state, {WatchKey::Kind::kEnter, ""});
  EXPECT_EQ(why.kind, WatchAction::Kind::kWhy);
  EXPECT_EQ(why.job, 17);
  TakeText(state, WatchPage::kWhy, 17, "it shares well\nwith job 18\n", 80);
  TakeText(state, WatchPage::kWhy, 18, "of another one", 80);
  EXPECT_THAT(Lines(state)[2], testing::Eq("|why: job 17"));
  EXPECT_THAT(Lines(state)[4], testing::Eq("|with job 18"));
  EXPECT_EQ(Press(state, Text("q")).kind, WatchAction::Kind::kNone) << "back, not out";
  EXPECT_EQ(Press(state, Text("l")).kind, WatchAction::Kind::kLog);
  std::string log;
  for (int i = 1; i <= 50; ++i) log += fmt::format("step {}\n", i);
  TakeText(state, WatchPage::kLog, 17, log, 80);
  EXPECT_THAT(Lines(state), Contains("|step 50")) << "the end is kept in view";
  Press(state, {WatchKey::Kind::kPageUp, ""});
  TakeText(state, WatchPage::kLog, 17, log + "step 51\n", 80);
  EXPECT_THAT(Lines(state), Not(Contains("|step 51"))) << "unless somebody reads above";
  EXPECT_EQ(Press(state, Text("e")).kind, WatchAction::Kind::kLog);
  EXPECT_TRUE(state.errors);
}

TEST(Watch, CancelsOnlyAfterAQuestion) {
  WatchState state = SomeState();
  Press(state, {WatchKey::Kind::kDown, ""});
  EXPECT_EQ(Press(state, Text("c")).kind, WatchAction::Kind::kNone);
  EXPECT_THAT(Lines(state)[13], HasSubstr("cancel job 17?"));
  EXPECT_EQ(Press(state, {WatchKey::Kind::kEnter, ""}).kind, WatchAction::Kind::kNone);
  EXPECT_THAT(Lines(state)[13], HasSubstr("job 17 was not cancelled"));
  Press(state, Text("c"));
  // Another row may have come under the cursor meanwhile: it stays the job that was asked about.
  state.at = 0;
  const WatchAction action = Press(state, Text("y"));
  EXPECT_EQ(action.kind, WatchAction::Kind::kCancel);
  EXPECT_EQ(action.job, 17);
}

TEST(Watch, SaysThatTheServerIsLostAndKeepsWhatItLastSaid) {
  WatchState state = SomeState();
  state.lost = "no server answers at 'x'";
  state.now = kNow + 12'000;
  EXPECT_THAT(Lines(state)[1], testing::Eq("|no answer for 12.0 s, trying again: no server answers "
                                           "at 'x'"));
  EXPECT_THAT(Lines(state)[4], HasSubstr("17 python3"));
  TakeFacts(state, SomeFacts(), state.now);
  EXPECT_THAT(Lines(state)[1], StartsWith("|cores"));
}

TEST(Watch, QuitsAndHelps) {
  WatchState state = SomeState();
  Press(state, Text("?"));
  EXPECT_THAT(Lines(state, {90, 24}), Contains("|  q                          quit"));
  Press(state, {WatchKey::Kind::kEscape, ""});
  EXPECT_EQ(Press(state, Text("q")).kind, WatchAction::Kind::kQuit);
}

TEST(Watch, BarsNeverClaimNothingOrEverythingWhereItIsNotSo) {
  EXPECT_EQ(LoadBar(0.001, 4, true), "#...");
  EXPECT_EQ(LoadBar(0.999, 4, true), "###.");
  EXPECT_EQ(LoadBar(0.0, 4, true), "....");
  EXPECT_EQ(LoadBar(1.0, 4, true), "####");
  EXPECT_EQ(LoadBar(std::nullopt, 4, true), "    ");
}

}  // namespace
}  // namespace sharewell::report
