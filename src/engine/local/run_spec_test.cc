#include "engine/local/run_spec.h"

#include <gtest/gtest.h>

#include "testing/job_records.h"

namespace sharewell::engine {
namespace {

// By way of the file's bytes.
RunRequest Again(const RunRequest& request) {
  JobSpec spec;
  EXPECT_TRUE(PutRequest(request, spec));
  const auto read = JobSpec::Parse(spec.Bytes());
  EXPECT_TRUE(read);
  return read ? RequestIn(*read) : RunRequest{};
}

// A server that finds a run whose record it does not trust takes the submission from here.
TEST(RunSpec, ASubmissionComesBackAsItWas) {
  RunRequest request;
  request.id = {17, 2};
  request.asked = testing::FullSubmission();
  EXPECT_EQ(Again(request).asked, request.asked);
  request.asked = {};
  EXPECT_EQ(Again(request).asked, request.asked);
  request.asked.needs.emplace();
  EXPECT_EQ(Again(request).asked, request.asked);
}

// An older server wrote a number, and one for all figures.
TEST(RunSpec, ASourceOfAnOlderServerStandsForAll) {
  JobSpec spec;
  spec.Put("needs_source", "2");
  const core::Sources sources = RequestIn(spec).asked.needs->sources;
  EXPECT_EQ(sources, core::SourcesByOne(core::Source::kObserved));
  EXPECT_EQ(sources.busy, core::Source::kObserved);
  EXPECT_EQ(sources.pace, core::Source::kPredicted) << "nobody said that the rate was seen";
}

TEST(RunSpec, SoDoesWhatTheRunWasGiven) {
  RunRequest request;
  request.id = {17, 2};
  request.user = {"ann", 1000, 1001, true};
  request.gpus = {{0, "GPU-1f", "H200"}, {3, "GPU-2e", "A100"}};
  request.cores = 4.5;
  request.thread_share = 0.6;
  request.gpu_memory = core::GiB(20);
  request.guest_memory = core::GiB(31);
  request.shares = true;
  const RunRequest again = Again(request);
  EXPECT_EQ(again.id, request.id);
  EXPECT_EQ(again.user, request.user);
  EXPECT_EQ(again.gpus, request.gpus);
  EXPECT_EQ(again.cores, request.cores);
  EXPECT_EQ(again.thread_share, request.thread_share);
  EXPECT_EQ(again.gpu_memory, request.gpu_memory);
  EXPECT_EQ(again.guest_memory, request.guest_memory);
  EXPECT_EQ(again.shares, request.shares);
}

TEST(RunSpec, NoCommandCanBeGivenAZeroByte) {
  RunRequest request;
  request.asked.command = {"echo", std::string("a\0b", 3)};
  JobSpec spec;
  EXPECT_FALSE(PutRequest(request, spec));
}

}  // namespace
}  // namespace sharewell::engine
