#include "engine/kubernetes/pod_inject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;

std::string Injected(const std::string& text) {
  const auto out = InjectPods(text, "sharewell");
  return out ? *out : "error: " + out.error().message;
}

std::string Refusal(const std::string& text) {
  const auto out = InjectPods(text, "sharewell");
  return out ? "taken: " + *out : out.error().message;
}

TEST(PodInject, APodGetsItsSchedulerAndEveryContainerItsVariablesAndAllElseStays) {
  EXPECT_EQ(Injected("# mine\n"
                     "apiVersion: v1\n"
                     "kind: Pod\n"
                     "metadata: {name: a}  # stays\n"
                     "spec:\n"
                     "  restartPolicy: Never\n"
                     "  containers:\n"
                     "    - name: main\n"
                     "      image: 'x'  # and this\n"
                     "      args: [\"true\", 'no']\n"),
            "# mine\n"
            "apiVersion: v1\n"
            "kind: Pod\n"
            "metadata: {name: a}  # stays\n"
            "spec:\n"
            "  schedulerName: sharewell\n"
            "  volumes:\n"
            "    - name: sharewell-steps\n"
            "      emptyDir: {}\n"
            "  restartPolicy: Never\n"
            "  containers:\n"
            "    - name: main\n"
            "      image: 'x'  # and this\n"
            "      env:\n"
            "        - name: NVIDIA_VISIBLE_DEVICES\n"
            "          valueFrom: {fieldRef: {fieldPath: "
            "\"metadata.annotations['sharewell.io/gpu-ids']\"}}\n"
            "        - name: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE\n"
            "          valueFrom: {fieldRef: {fieldPath: "
            "\"metadata.annotations['sharewell.io/sm-share']\"}}\n"
            "        - name: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT\n"
            "          valueFrom: {fieldRef: {fieldPath: "
            "\"metadata.annotations['sharewell.io/memory-limit']\"}}\n"
            "        - name: SHAREWELL_PROGRESS\n"
            "          value: \"/sharewell-steps/steps\"\n"
            "      volumeMounts:\n"
            "        - name: sharewell-steps\n"
            "          mountPath: \"/sharewell-steps\"\n"
            "      args: [\"true\", 'no']\n");
}

TEST(PodInject, ASecondTimeAddsNothing) {
  for (const char* text :
       {"kind: Pod\nspec:\n  containers:\n  - image: x\n    name: a\n  - name: b\n",
        "{\"kind\": \"Pod\", \"spec\": {\"containers\": [{\"name\": \"a\"}]}}",
        "kind: Pod\r\nspec:\r\n  containers:\r\n  - image: x\r\n    env:\r\n    - name: A\r\n"
        "      value: b\r\n",
        "kind: Pod\nspec: {containers: [{env: [{name: A, value: b}]}]}\n",
        "kind: Pod\nspec:\n  containers:\n  - command: |\n      sleep\n    image: \"x y\"\n"}) {
    const std::string once = Injected(text);
    EXPECT_THAT(once, HasSubstr("sharewell.io/memory-limit")) << text;
    EXPECT_EQ(Injected(once), once);
  }
}

TEST(PodInject, VolumesThatAreThereStay) {
  const std::string out = Injected(
      "kind: Pod\nspec:\n  volumes:\n  - name: data\n    emptyDir: {}\n  containers:\n"
      "  - name: a\n    volumeMounts: [{name: data, mountPath: /data}]\n");
  EXPECT_THAT(out, HasSubstr("  volumes:\n  - name: sharewell-steps\n    emptyDir: {}\n"
                             "  - name: data\n"));
  EXPECT_THAT(out, HasSubstr("volumeMounts: [{\"name\": \"sharewell-steps\", \"mountPath\": "
                             "\"/sharewell-steps\"}, {name: data, mountPath: /data}]\n"));
  EXPECT_THAT(Refusal("kind: Pod\nspec: {volumes: 3, containers: [{name: a}]}\n"),
              HasSubstr("spec: volumes is no list"));
}

TEST(PodInject, WhatIsThereIsLeftAlone) {
  const std::string out = Injected(
      "kind: Pod\nspec:\n  schedulerName: sharewell\n  containers:\n  - name: a\n    env:\n"
      "    - name: NVIDIA_VISIBLE_DEVICES\n      value: none\n");
  EXPECT_THAT(out, HasSubstr("value: none"));
  EXPECT_EQ(out.find("gpu-ids"), std::string::npos);
  EXPECT_THAT(out, HasSubstr("    - name: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT\n"));
}

TEST(PodInject, TemplatesOfWorkloadsAndListsOfThem) {
  for (const char* kind : {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"}) {
    const std::string out = Injected(std::string("kind: ") + kind +
                                     "\nspec:\n  template:\n    spec:\n      containers:\n"
                                     "      - name: a\n      initContainers:\n      - name: b\n");
    EXPECT_THAT(out, HasSubstr("    spec:\n      schedulerName: sharewell\n"));
    EXPECT_NE(out.find("gpu-ids"), out.rfind("gpu-ids")) << "its first container too";
  }
  EXPECT_THAT(
      Injected("kind: CronJob\nspec:\n  jobTemplate:\n    spec:\n      template:\n        spec:\n"
               "          containers: [{name: a}]\n"),
      HasSubstr("          schedulerName: sharewell\n"));
  const std::string two = Injected(
      "kind: Service\nspec: {}\n---\nkind: List\nitems:\n- kind: Pod\n  spec:\n"
      "    containers:\n    - name: a\n");
  EXPECT_THAT(two, HasSubstr("kind: Service\nspec: {}\n---\n"));
  EXPECT_THAT(two, HasSubstr("    schedulerName: sharewell\n"));
}

TEST(PodInject, WhatCannotBeDoneIsSaid) {
  EXPECT_THAT(Refusal("kind: [Pod\n"), HasSubstr("it is no YAML"));
  EXPECT_THAT(Refusal(""), HasSubstr("it has no pod"));
  EXPECT_THAT(Refusal("kind: Service\n"), HasSubstr("it has no pod"));
  EXPECT_THAT(Refusal("kind: Pod\nspec:\n"), HasSubstr("no spec.containers"));
  EXPECT_THAT(Refusal("kind: Job\nspec: {template: {spec: {containers: 3}}}\n"),
              HasSubstr("no spec.template.spec.containers"));
  EXPECT_THAT(Refusal("kind: Pod\nspec:\n  schedulerName: other\n  containers: [{name: a}]\n"),
              HasSubstr("schedulerName 'other'; remove that line"));
  EXPECT_THAT(Refusal("kind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n"),
              HasSubstr("container 'a': env is no list"));
  EXPECT_THAT(
      Refusal("kind: Pod\nmetadata: {annotations: {sharewell.io/precision: half}}\n"
              "spec:\n  containers: [{name: a}]\n"),
      HasSubstr("metadata.annotations of a pod: sharewell.io/precision is 'half'; write one "
                "of fp32, tf32, bf16, fp16"));
  EXPECT_THAT(Refusal("kind: Job\nspec:\n  template:\n    metadata:\n      annotations:\n"
                      "        sharewell.io/gpu-ids: x\n    spec: {containers: [{name: a}]}\n"),
              HasSubstr("spec.template.metadata.annotations of a pod: its annotation "
                        "sharewell.io/gpu-ids is written by Sharewell"));
  EXPECT_THAT(Refusal("kind: Pod\nspec: &a\n  containers: [{name: a}]\n"), HasSubstr("anchors"));
}

}  // namespace
}  // namespace sharewell::engine
