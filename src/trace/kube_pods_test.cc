#include "trace/kube_pods.h"

#include <gmock/gmock.h>

#include "trace/csv.h"

namespace sharewell::trace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct PodParts {
  std::string name = "train-0";
  std::string metadata = "";
  std::string spec = R"("containers":[{"resources":{"limits":{"nvidia.com/gpu":"2"},)"
                     R"("requests":{"cpu":"1500m","memory":"8Gi"}}}])";
  std::string phase = "Succeeded";
  std::string begin = "2026-01-05T10:06:00Z", end = "2026-01-05T10:36:00Z";
  int restarts = 0;
};

// As kubectl prints it: made at 10:00, placed at 10:05, runs from 10:06 to 10:36.
std::string Pod(const PodParts& parts = {}) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"team",)"
      R"("creationTimestamp":"2026-01-05T10:00:00Z"{}}},"spec":{{{}}},"status":{{"phase":"{}",)"
      R"("conditions":[{{"type":"PodScheduled","status":"True",)"
      R"("lastTransitionTime":"2026-01-05T10:05:00Z"}}],"startTime":"2026-01-05T10:05:01Z",)"
      R"("containerStatuses":[{{"restartCount":{},"state":{{"terminated":{{"startedAt":"{}",)"
      R"("finishedAt":"{}"}}}}}}]}}}})",
      parts.name, parts.metadata, parts.spec, parts.phase, parts.restarts, parts.begin, parts.end);
}

std::string Dump(const std::vector<std::string>& pods) {
  return fmt::format(R"({{"apiVersion":"v1","items":[{}],"kind":"List"}})", fmt::join(pods, ","));
}

Trace Read(const std::vector<std::string>& pods, const std::string& name_space = "") {
  auto trace = ReadKubePods(Dump(pods), "pods.json", name_space);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

std::string Why(const std::string& text) {
  const auto trace = ReadKubePods(text, "pods.json");
  return trace ? "" : trace.error().message;
}

TEST(TraceKubePods, APodBecomesAJobWithWhatItReallyWaited) {
  const Trace trace = Read({Pod()});
  ASSERT_EQ(trace.jobs.size(), 1U);
  const TraceJob& job = trace.jobs.front();
  EXPECT_EQ(job.id, "team/train-0");
  EXPECT_EQ(job.user, "team");
  EXPECT_EQ(job.gpus, 2);
  EXPECT_EQ(job.duration, core::Seconds(1800));
  EXPECT_EQ(job.waited, core::Seconds(300));
  EXPECT_EQ(job.startup, core::Seconds(60));
  EXPECT_EQ(job.cores, 1.5);
  EXPECT_EQ(job.host_memory, core::GiB(8));
  EXPECT_THAT(trace.remarks, Contains(HasSubstr("namespace is taken for the user")));
  const auto again = ReadCsv(WriteCsv(trace), "csv");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->jobs.front().waited, job.waited);
}

TEST(TraceKubePods, LeavesOutWhatIsNoJobThatEndedAndSaysSo) {
  const Trace trace =
      Read({Pod(), Pod(), Pod({.name = "runs", .phase = "Running"}),
            Pod({.name = "never", .phase = "Failed", .begin = "", .end = ""}),
            Pod({.name = "daemon", .metadata = R"(,"ownerReferences":[{"kind":"DaemonSet"}])"}),
            Pod({.name = "failed", .phase = "Failed", .restarts = 2})});
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[1].id, "team/failed");
  for (const char* words : {"1 pod left out that wait or run", "1 pod left out that never ran",
                            "1 pod left out of DaemonSets", "1 pod left out that were there",
                            "1 pod failed", "1 pod were restarted"}) {
    EXPECT_THAT(trace.remarks, Contains(HasSubstr(words)));
  }
  EXPECT_THAT(Why(Dump({Pod({.phase = "Running"})})), HasSubstr("no pod in it has run to its end"));
}

TEST(TraceKubePods, ReadsModelPriorityAndWhatWeWroteOurselves) {
  const Trace trace = Read(
      {Pod({.name = "a",
            .spec = R"("priority":2000000000,"nodeSelector":{"nvidia.com/gpu.product":"H200"},)"
                    R"("containers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}])"}),
       Pod({.name = "b",
            .metadata = R"(,"annotations":{"sharewell.io/gpu-ids":"GPU-1,GPU-2",)"
                        R"("sharewell.io/gpu-memory":"20Gi"})",
            .spec = R"("containers":[{}])"}),
       Pod({.name = "c", .spec = R"("containers":[])"})});
  ASSERT_EQ(trace.jobs.size(), 3U);
  EXPECT_THAT(trace.jobs[0].gpu_models, ElementsAre("H200"));
  EXPECT_EQ(trace.jobs[0].priority, 1'000'000);
  EXPECT_EQ(trace.jobs[1].gpus, 2);
  EXPECT_EQ(trace.jobs[1].gpu_memory, core::GiB(20));
  EXPECT_EQ(trace.jobs[2].gpus, 0);
  EXPECT_FALSE(trace.jobs[2].cores);
}

TEST(TraceKubePods, OneNamespaceAlone) {
  EXPECT_EQ(Read({Pod()}, "team").jobs.size(), 1U);
  const auto none = ReadKubePods(Dump({Pod()}), "pods.json", "other");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("in the namespace 'other'"));
}

TEST(TraceKubePods, WhatIsNoDumpIsRefusedByItsItem) {
  EXPECT_THAT(Why("no json"), HasSubstr("pods.json: it is no JSON"));
  EXPECT_THAT(Why("{}"), HasSubstr("kubectl get pods -A -o json"));
  EXPECT_THAT(Why(Dump({Pod(), R"({"kind":"Node","metadata":{},"spec":{}})"})),
              HasSubstr("item 2: it is a 'Node'"));
  EXPECT_THAT(Why(Dump({Pod({.name = "a\\nb"})})), HasSubstr("is no name of a pod"));
  EXPECT_THAT(Why(R"({"items":[{"metadata":{"name":"a","namespace":"b"},"spec":{}}]})"),
              HasSubstr("creationTimestamp"));
}

}  // namespace
}  // namespace sharewell::trace
