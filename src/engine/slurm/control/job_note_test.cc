#include "engine/slurm/control/job_note.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

JobNote Gang() {
  JobNote note;
  note.ask = {2, "V100", true, "", false};
  note.put = {3, {{"n2", {"g0", "g1"}}, {"n3", {"g0", "g1"}}}, 40, 80, 3, 14000, {"g2", "g3"}};
  return note;
}

TEST(JobNote, IsWrittenAsTheHeaderShowsIt) {
  EXPECT_EQ(FormatJobNote(Gang()),
            "sharewell1 ask=gpus:2,model:V100,exclusive "
            "put=3,n2:g0+g1/n3:g0+g1,shards:40,sm:80,cores:3,mem:14000,kept:g2+g3");
}

TEST(JobNote, ReadsWhatItWrites) {
  JobNote odd;
  odd.ask = {1, "A100, 80 \"GB\"", false, "gpu:a100:1,tmp:5G\n--x", true};
  JobNote cpus_only;
  cpus_only.put = {1, {{"n1", {}}}, 100, 100, 2.5, std::nullopt, {}};
  JobNote slimmed = Gang();
  slimmed.ask.cpus = 16;
  slimmed.ask.nodes = {"n1", "gpu-2.site"};
  slimmed.ask.anywhere = true;
  slimmed.ask.script = "0123456789abcdef";
  JobNote guest = Gang();
  guest.put->guest = true;
  for (const JobNote& note : {Gang(), odd, cpus_only, slimmed, guest, JobNote{}}) {
    const std::string text = FormatJobNote(note);
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(ParseJobNote(text), note) << text;
  }
}

TEST(JobNote, QuotesThatScontrolKeptAreTakenOff) {
  EXPECT_EQ(ParseJobNote('"' + FormatJobNote(Gang()) + '"'), Gang());
  EXPECT_EQ(ParseJobNote('\'' + FormatJobNote(Gang()) + "' "), Gang());
}

TEST(JobNote, AnAskAloneHasNoPlaceYet) {
  const auto note = ParseJobNote("sharewell1 ask=gpus:4");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->ask.gpus, 4);
  EXPECT_FALSE(note->put);
}

TEST(JobNote, WhatIsNotOursOrBrokenIsNoNote) {
  for (const char* text : {
           "",
           "hello",
           "sharewell",
           "sharewell2 ask=gpus:1",
           "sharewell1x",
           "extsched:tres_per_node=gres:gpu:2",
           "sharewell1 ask=gpus:-1",
           "sharewell1 ask=gpus:99999999999999999999",
           "sharewell1 ask=gpus:1 ask=gpus:2",
           "sharewell1 ask=gpus:1,gpus:2",
           "sharewell1 ask=gpus:1,cpus:0",
           "sharewell1 ask=gpus:1,cpus:99999999999",
           "sharewell1 ask=model:%4",
           "sharewell1 ask=model:",
           "sharewell1 plain=--gpu-bind",
           "sharewell1 ask=gpus:2 plain=released",
           "sharewell1 ask=gpus:1,script:",
           "sharewell1 put=1",
           "sharewell1 put=x,n1",
           "sharewell1 put=1,",
           "sharewell1 put=1,n1:",
           "sharewell1 put=1,n1:g0,shards:101",
           "sharewell1 put=1,n1:g0,shards:0",
           "sharewell1 put=1,n1:g0,sm:0",
           "sharewell1 put=1,n1:g0,cores:nan",
           "sharewell1 put=1,n1:g0,cores:1e99",
           "sharewell1 put=1,n1:g0,mem:-5",
           "sharewell1 put=1,n1:g0,kept:g1+",
           "sharewell1 put=1,n1:g0,new:5",
           "sharewell1 put=1,n1:g0,new",
           "sharewell1 more=1",
       }) {
    EXPECT_FALSE(ParseJobNote(text)) << text;
  }
}

TEST(UserWords, AUsersCommentSaysWhatTheJobIs) {
  const auto words = ParseUserWords(
      "sharewell model=/data/resnet50.onnx batch=64 precision=fp16 max-slowdown=1.25 "
      "gpu-memory=10GiB sm_share=60% exclusive");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->model, "/data/resnet50.onnx");
  EXPECT_EQ(words->batch, 64);
  EXPECT_EQ(words->precision, "fp16");
  EXPECT_EQ(words->max_slowdown, 1.25);
  EXPECT_EQ(words->gpu_memory_mib, 10240);
  EXPECT_EQ(words->sm_percent, 60);
  EXPECT_TRUE(words->exclusive);
  EXPECT_THAT(words->problem, IsEmpty());
  EXPECT_EQ(ParseUserWords("\"sharewell profile=bert\"")->profile, "bert");
}

TEST(UserWords, OtherCommentsAreNotLookedAt) {
  for (const char* text : {"", "my job", "sharewellbatch=64", "Sharewell batch=64", "x sharewell",
                           "sharewell1 ask=gpus:1"}) {
    EXPECT_FALSE(ParseUserWords(text)) << text;
  }
}

TEST(UserWords, WhatIsNotUnderstoodIsSaidAndTheRestIsTaken) {
  const auto words = ParseUserWords("sharewell bach=64 batch=0 sm_share=200 batch=32 model=");
  ASSERT_TRUE(words);
  EXPECT_FALSE(words->sm_percent);
  EXPECT_THAT(words->problem, HasSubstr("'bach'"));
  EXPECT_THAT(words->problem, HasSubstr("did you mean 'batch'"));
  EXPECT_THAT(words->problem, HasSubstr("sm_share='200' in the comment is not used"));
  EXPECT_THAT(words->problem, HasSubstr("batch is in the comment twice"));
  EXPECT_THAT(words->problem, HasSubstr("model in the comment has no value"));
}

TEST(UserWords, AComplaintOfAHostileCommentStaysShort) {
  std::string comment = "sharewell";
  for (int i = 0; i < 100000; ++i) comment += " x" + std::to_string(i);
  EXPECT_LT(ParseUserWords(comment)->problem.size(), 2000u);
}

}  // namespace
}  // namespace sharewell::engine
