#include "engine/kubernetes/control/kube_publish.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "engine/kubernetes/api/scripted_kube.h"

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNode = R"({"metadata":{"name":"n1","uid":"u-1","resourceVersion":"7",)"
                              R"("annotations":{"sharewell.io/gpus":"H200 GPU-1"}},)"
                              R"("status":{"allocatable":{"sharewell.io/gpu-memory":"1024"}}})";
const PublishedGpus kSame = {"H200", {"GPU-1"}, {}, core::GiB(1)};

ScriptedKube Answers(int status, const std::string& body) {
  ScriptedKube kube;
  kube.on_ask = [=](const KubeRequest&) { return KubeAnswer{status, body, {}}; };
  return kube;
}

TEST(KubePublish, WhatIsWrittenIsWhatTheSchedulerReads) {
  const auto words = [](const std::string& model, const std::vector<std::string>& uuids,
                        const std::string& near = "") {
    const auto islands = core::GpuIslands::Parse(near, static_cast<int>(uuids.size()));
    return FormatKubeGpus({model, uuids, near.empty() ? core::GpuIslands() : islands.value(), {}});
  };
  EXPECT_EQ(words("H200", {"GPU-1", "GPU-2"}).value(), "H200 GPU-1 GPU-2");
  EXPECT_EQ(words("RTX 4090", {"GPU-1"}).value(), "RTX-4090 GPU-1");
  EXPECT_EQ(words("H200", {"", "GPU-1"}).value(), "H200 - GPU-1");
  EXPECT_EQ(words("H200", {"GPU-1", "GPU-2", "", "GPU-3"}, "0,2|1,3").value(),
            "H200 GPU-1 GPU-2 - GPU-3 near:0,2|1,3");
  EXPECT_FALSE(words("H200", {}).has_value());
  EXPECT_FALSE(words("H200", {"GPU-1", "GPU-1"}).has_value());
  EXPECT_FALSE(words("H200", {"MIG-1"}).has_value());
}

TEST(KubePublish, WritesTheAnnotationAndTheResourceAloneOfTheSameNode) {
  ScriptedKube kube = Answers(200, kNode);
  EXPECT_TRUE(PublishKubeGpus(kube, "n1", {"H200", {"GPU-1", "GPU-2"}, {}, core::GiB(1)})->changed);
  ASSERT_EQ(kube.asked.size(), 3U);
  for (int i : {1, 2}) {
    EXPECT_EQ(kube.asked[i].method, "PATCH");
    EXPECT_EQ(kube.asked[i].content_type, "application/merge-patch+json");
  }
  EXPECT_EQ(kube.asked[1].path, "/api/v1/nodes/n1");
  EXPECT_EQ(kube.asked[1].body,
            R"({"metadata":{"uid":"u-1","annotations":{"sharewell.io/gpus":"H200 GPU-1 GPU-2"}}})");
  EXPECT_EQ(kube.asked[2].path, "/api/v1/nodes/n1/status");
  EXPECT_EQ(kube.asked[2].body,
            R"({"metadata":{"uid":"u-1"},"status":{"capacity":{"sharewell.io/gpu-memory":"2048"},)"
            R"("allocatable":{"sharewell.io/gpu-memory":"2048"}}})");
}

TEST(KubePublish, WhatTheNodeSaysAlreadyIsNotWritten) {
  ScriptedKube kube = Answers(200, kNode);
  EXPECT_FALSE(PublishKubeGpus(kube, "n1", kSame)->changed);
  EXPECT_EQ(kube.asked.size(), 1U);
  EXPECT_TRUE(PublishKubeGpus(kube, "n1", {"H200", {"GPU-1"}, {}, core::GiB(2)})->changed);
  EXPECT_EQ(kube.asked.size(), 3U) << "the resource alone";
}

TEST(KubePublish, WhatSomebodyHasLeftOutStaysLeftOut) {
  const auto published = [](const std::string& annotation, const PublishedGpus& gpus) {
    ScriptedKube kube =
        Answers(200, fmt::format(R"({{"metadata":{{"name":"n1","uid":"u-1","annotations":)"
                                 R"({{"sharewell.io/gpus":"{}"}}}}}})",
                                 annotation));
    auto node = PublishKubeGpus(kube, "n1", gpus).value();
    const auto left = std::count(node.words.begin(), node.words.end(), 'U');  // of "GPU-"
    EXPECT_THAT(kube.asked.back().body, HasSubstr(fmt::format(R"("{}")", 1024 * left)));
    return node;
  };
  const auto four = core::GpuIslands::Parse("0,1|2,3", 4).value();
  const auto some = published("H200 GPU-1 - GPU-3 -",
                              {"H200", {"GPU-1", "GPU-2", "GPU-3", "GPU-4"}, four, core::GiB(1)});
  EXPECT_EQ(some.words, "H200 GPU-1 - GPU-3 - near:0,1|2,3");
  EXPECT_THAT(some.left_out, ::testing::ElementsAre(1, 3));
  EXPECT_EQ(published("H200 - GPU-2", {"H200", {"", "GPU-2", "GPU-3"}, {}, core::GiB(1)}).words,
            "H200 - GPU-2 GPU-3")
      << "one that has come";
  EXPECT_EQ(published("A100 - GPU-2", {"H200", {"GPU-1", "GPU-2"}, {}, core::GiB(1)}).words,
            "H200 GPU-1 GPU-2")
      << "another machine";
  EXPECT_EQ(published("H200 - GPU-2", {"H200", {"GPU-1"}, {}, core::GiB(1)}).words, "H200 GPU-1")
      << "the only one that is there";
}

TEST(KubePublish, RefusalsSayWhatToDo) {
  ScriptedKube absent = Answers(404, "{}");
  EXPECT_THAT(PublishKubeGpus(absent, "n9", kSame).error().message, HasSubstr("kubectl get nodes"));
  ScriptedKube forbidden = Answers(403, R"({"kind":"Status","message":"no"})");
  EXPECT_THAT(PublishKubeGpus(forbidden, "n1", kSame).error().message, HasSubstr("RBAC"));
  for (const char* wrong : {"", "N1", "a/b", "..", "n1?x=1"}) {
    ScriptedKube none = Answers(200, kNode);
    EXPECT_FALSE(PublishKubeGpus(none, wrong, kSame).has_value()) << wrong;
    EXPECT_TRUE(none.asked.empty()) << wrong;
  }
}

}  // namespace
}  // namespace sharewell::engine
