#include "engine/kubernetes/webhook/admit_pod.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "json/text.h"
#include "json/value.h"

namespace sharewell::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const WatcherContents kWatcherFiles = {{"sitecustomize.py", ""}};
const AdmissionOptions kAsInstalled = {
    .scheduler = "sharewell", .writers = {"system:serviceaccount:sharewell-system:sharewell"}};

std::string Review(const std::string& pod, const std::string& user = "ann",
                   const std::string& before = "null") {
  return fmt::format(
      R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"r-1",)"
      R"("resource":{{"group":"","version":"v1","resource":"pods"}},"operation":"{}",)"
      R"("userInfo":{{"username":"{}"}},"object":{},"oldObject":{}}}}})",
      before == "null" ? "CREATE" : "UPDATE", user, pod, before);
}

// As the API server sends it: with its defaults.
std::string Pod(const std::string& metadata, const std::string& container = "",
                const std::string& spec = R"("schedulerName":"default-scheduler",)") {
  return fmt::format(
      R"({{"metadata":{{"generateName":"a-",{}}},"spec":{{{}"containers":[{{"name":"main")"
      R"({}{}}}]}}}})",
      metadata, spec, container.empty() ? "" : ",", container);
}

struct Answered {
  bool allowed = false;
  std::string message, patch;
};
Answered Ask(const std::string& review) {
  const auto answer = AdmitPod(review, kAsInstalled, kWatcherFiles);
  EXPECT_TRUE(answer) << answer.error().message;
  const auto parsed = json::Document::Parse(*answer);
  const json::Value root = json::RootOf(parsed), response = root["response"];
  EXPECT_EQ(root["apiVersion"].Text(), "admission.k8s.io/v1");
  EXPECT_EQ(root["kind"].Text(), "AdmissionReview");
  EXPECT_EQ(response["uid"].Text(), "r-1");
  Answered out;
  out.allowed = response["allowed"].Bool().value_or(false);
  out.message = response["status"]["message"].Text().value_or("");
  EXPECT_EQ(out.message.empty(), out.allowed);
  out.patch = json::FromBase64(response["patch"].Text().value_or("")).value_or("?");
  EXPECT_EQ(response["patchType"].is_null(), out.patch.empty());
  return out;
}
std::string WhyRefused(const std::string& pod, const std::string& user = "ann",
                       const std::string& before = "null") {
  return Ask(Review(pod, user, before)).message;
}

const std::string kAsks = R"("labels":{"sharewell.io/share":"true"})";

TEST(AdmitPod, APodThatAsksGetsWhatInjectGives) {
  const Answered got = Ask(Review(Pod(kAsks)));
  EXPECT_TRUE(got.allowed) << got.message;
  EXPECT_THAT(got.patch,
              AllOf(HasSubstr(R"({"op":"add","path":"/spec/schedulerName","value":"sharewell"})"),
                    HasSubstr(R"("path":"/spec/volumes","value":[{"name": "sharewell-steps")"),
                    HasSubstr(R"("path":"/spec/containers/0/env","value":[{"name": "NVIDIA_V)"),
                    HasSubstr("metadata.annotations['sharewell.io/client-priority']"),
                    HasSubstr(R"("path":"/spec/containers/0/volumeMounts")")));
  EXPECT_THAT(got.patch, Not(HasSubstr("resources")));
}

TEST(AdmitPod, SoDoesOneThatNamesTheSchedulerAndInItsInitContainers) {
  const Answered got =
      Ask(Review(Pod(R"("name":"a")", R"("env":[{"name":"A","value":"1"}])",
                     R"("schedulerName":"sharewell","initContainers":[{"name":"i"}],)")));
  EXPECT_TRUE(got.allowed) << got.message;
  EXPECT_THAT(got.patch, AllOf(Not(HasSubstr("schedulerName")),
                               HasSubstr(R"("path":"/spec/initContainers/0/env","value":[)"),
                               HasSubstr(R"("path":"/spec/containers/0/env/0","value":{)"),
                               HasSubstr(R"("path":"/spec/containers/0/env/4","value":{)")));
}

TEST(AdmitPod, AskedAgainNothingIsAdded) {
  const std::string env =
      R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
      R"("fieldPath":"metadata.annotations['sharewell.io/gpu-ids']"}}},)"
      R"({"name":"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE","valueFrom":{"fieldRef":{)"
      R"("fieldPath":"metadata.annotations['sharewell.io/sm-share']"}}},)"
      R"({"name":"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT","valueFrom":{"fieldRef":{)"
      R"("fieldPath":"metadata.annotations['sharewell.io/memory-limit']"}}},)"
      R"({"name":"CUDA_MPS_CLIENT_PRIORITY","valueFrom":{"fieldRef":{)"
      R"("fieldPath":"metadata.annotations['sharewell.io/client-priority']"}}},)"
      R"({"name":"SHAREWELL_PROGRESS","value":"/sharewell-steps/steps"}],)"
      R"("volumeMounts":[{"name":"sharewell-steps","mountPath":"/sharewell-steps"}])";
  const Answered got =
      Ask(Review(Pod(kAsks, env,
                     R"("schedulerName":"sharewell","volumes":[{"name":"sharewell-steps",)"
                     R"("emptyDir":{}}],)")));
  EXPECT_TRUE(got.allowed) << got.message;
  EXPECT_EQ(got.patch, "");
}

TEST(AdmitPod, APodThatIsToBeWatchedGetsTheWatcher) {
  const std::string watched = kAsks + R"(,"annotations":{"sharewell.io/watch":"true"})";
  const Answered got = Ask(Review(Pod(watched, R"("env":[{"name":"PYTHONPATH","value":"/app"}])")));
  EXPECT_TRUE(got.allowed) << got.message;
  EXPECT_THAT(got.patch,
              AllOf(HasSubstr(R"("path":"/spec/containers/0/env/0/value",)"
                              R"("value":"/sharewell-watcher:/app"})"),
                    HasSubstr("SHAREWELL_WATCH_PIPE"), HasSubstr(R"("configMap": {"name")")));
  EXPECT_THAT(WhyRefused(Pod(watched, R"("env":[{"name":"PYTHONPATH","valueFrom":{}}])")),
              HasSubstr("PYTHONPATH"));
}

TEST(AdmitPod, TheMemoryThatItNamesBecomesTheExtendedResource) {
  const std::string named =
      kAsks + R"(,"annotations":{"sharewell.io/gpu-memory":"12Gi","sharewell.io/gpus":"2"})";
  EXPECT_THAT(
      Ask(Review(Pod(named))).patch,
      AllOf(HasSubstr(R"({"op":"add","path":"/spec/containers/0/resources","value":{}})"),
            HasSubstr(R"("path":"/spec/containers/0/resources/limits/sharewell.io~1gpu-memory",)"
                      R"("value":"24576"})")));
  const std::string has = R"("resources":{"requests":{"sharewell.io/gpu-memory":"24576"},)"
                          R"("limits":{"sharewell.io/gpu-memory":"24576"}})";
  EXPECT_THAT(Ask(Review(Pod(named, has))).patch, Not(HasSubstr("resources")));
  EXPECT_THAT(Ask(Review(Pod(named, R"("resources":{"limits":{"cpu":"1"}})"))).patch,
              AllOf(Not(HasSubstr(R"(/resources","value")")), Not(HasSubstr(R"(/limits","value")")),
                    HasSubstr(R"(/resources/requests","value":{}})")));
}

TEST(AdmitPod, K6WhatGoesAroundTheAccountingIsRefused) {
  for (const char* value : {R"("value":"all")", R"("value":"0")", R"("valueFrom":{})",
                            R"("valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}})"}) {
    const std::string env = fmt::format(R"("env":[{{"name":"NVIDIA_VISIBLE_DEVICES",{}}}])", value);
    EXPECT_THAT(WhyRefused(Pod(kAsks, env)), HasSubstr("sets NVIDIA_VISIBLE_DEVICES by hand"));
    EXPECT_TRUE(Ask(Review(Pod(R"("name":"a")", env))).allowed) << "of another scheduler";
  }
  EXPECT_TRUE(Ask(Review(Pod(kAsks, R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])")))
                  .allowed);
  EXPECT_THAT(
      WhyRefused(Pod(kAsks, R"("env":[{"name":"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT","value":""}])")),
      HasSubstr("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
  EXPECT_THAT(WhyRefused(Pod(R"("name":"a")",
                             R"("resources":{"limits":{"sharewell.io/gpu-memory":"1024"}})")),
              AllOf(HasSubstr("under another scheduler"), HasSubstr("sharewell.io/share")));
  EXPECT_THAT(WhyRefused(Pod(kAsks, "", R"("schedulerName":"volcano",)")), HasSubstr("volcano"));
  EXPECT_THAT(WhyRefused(Pod(R"("labels":{"sharewell.io/share":"yes"})")), HasSubstr("'yes'"));
  EXPECT_THAT(WhyRefused(Pod(kAsks, R"("resources":{"limits":{"nvidia.com/gpu":"1"}})")),
              HasSubstr("nvidia.com/gpu"));
  EXPECT_THAT(WhyRefused(Pod(kAsks + R"(,"annotations":{"sharewell.io/gpu":"1"})")),
              HasSubstr("sharewell.io/gpu' is not known"));
}

TEST(AdmitPod, OnlyTheSchedulerWritesWhatABindingWrites) {
  const auto with = [](const std::string& ids) {
    return Pod(fmt::format(R"("annotations":{{"sharewell.io/gpu-ids":"{}"}})", ids));
  };
  const std::string& scheduler = kAsInstalled.writers.front();
  const std::string before = with("GPU-1");
  EXPECT_THAT(WhyRefused(with("GPU-1")), HasSubstr("sharewell.io/gpu-ids"));
  EXPECT_THAT(WhyRefused(with("GPU-2"), "ann", before), HasSubstr("sharewell.io/gpu-ids"));
  EXPECT_THAT(WhyRefused(Pod(R"("name":"a")"), "ann", before), HasSubstr("sharewell.io/gpu-ids"));
  EXPECT_TRUE(Ask(Review(before, "ann", before)).allowed);
  EXPECT_TRUE(Ask(Review(with("GPU-2"), scheduler, before)).allowed);
}

TEST(AdmitPod, WhatIsKnownMustBeReadable) {
  const auto known = [](const std::string& text) {
    return Pod(fmt::format(R"({},"annotations":{{"sharewell.io/known":"{}"}})", kAsks, text));
  };
  const std::string good = R"({\"v\":1,\"needs\":{\"source\":\"predicted\"}})";
  const std::string bad = R"({\"v\":1,\"needs\":{\"source\":\"observed\"}})";
  EXPECT_TRUE(Ask(Review(known(good))).allowed);
  EXPECT_THAT(WhyRefused(known(bad)), HasSubstr("observed"));
  EXPECT_THAT(WhyRefused(known(bad), "ann", known(good)), HasSubstr("observed"));
  EXPECT_TRUE(Ask(Review(known(bad), "ann", known(bad))).allowed) << "it was there before";
}

TEST(AdmitPod, AllElsePassesUnchanged) {
  const std::string plain = Pod(R"("name":"a")");
  for (std::string review :
       {Review(plain), Review(plain, "ann", plain),
        std::string(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":)"
                    R"({"uid":"r-1","resource":{"resource":"services"},"operation":"CREATE"}})")}) {
    const Answered got = Ask(review);
    EXPECT_TRUE(got.allowed) << got.message;
    EXPECT_EQ(got.patch, "");
  }
}

TEST(AdmitPod, BadInputIsNoReviewOrARefusal) {
  for (
      const char* text :
      {"", "{}", "[]", "no JSON", R"({"kind":"AdmissionReview"})",
       R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}})",
       R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"1"}})"}) {
    const auto answer = AdmitPod(text, kAsInstalled, kWatcherFiles);
    ASSERT_FALSE(answer) << text;
    EXPECT_THAT(answer.error().message, HasSubstr("AdmissionReview"));
  }
  EXPECT_FALSE(AdmitPod(std::string(5000, '['), kAsInstalled, kWatcherFiles));
  // Whatever stands in the place of a pod.
  for (const char* pod : {"null", "3", "[]", "{}", R"({"metadata":[],"spec":"?"})"}) {
    EXPECT_TRUE(Ask(Review(pod)).allowed) << pod;
  }
  EXPECT_THAT(WhyRefused(R"({"spec":{"schedulerName":"sharewell"}})"), HasSubstr("containers"));
  EXPECT_THAT(
      WhyRefused(R"({"spec":{"schedulerName":"sharewell","containers":[3],"volumes":"no"}})"), "");
}

}  // namespace
}  // namespace sharewell::engine
