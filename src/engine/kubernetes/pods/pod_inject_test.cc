#include "engine/kubernetes/pods/pod_inject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const WatcherContents kWatcher = {{"sitecustomize.py", "print('\\n')\n"},
                                  {"sharewell_watch/steps.py", "a = \"b\"\n"}};

std::string Injected(const std::string& text) {
  const auto out = InjectPods(text, "sharewell", kWatcher);
  return out ? *out : "error: " + out.error().message;
}

std::string Refusal(const std::string& text) {
  const auto out = InjectPods(text, "sharewell", kWatcher);
  return out ? "taken: " + *out : out.error().message;
}

TEST(PodInject, AGroupMayBeNamedByALabelOfOthers) {
  const auto pod = [](const std::string& labels) {
    return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: "
           "{sharewell.io/pod-group-size: \"2\"}\n" +
           labels + "spec:\n  containers:\n    - {name: a, image: b}\n";
  };
  EXPECT_THAT(Refusal(pod("")), HasSubstr("no sharewell.io/pod-group; give both"));
  EXPECT_THAT(Refusal(pod("  labels: {scheduling.x-k8s.io/pod-group: g}\n")), HasSubstr("taken"));
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
            "        - name: CUDA_MPS_CLIENT_PRIORITY\n"
            "          valueFrom: {fieldRef: {fieldPath: "
            "\"metadata.annotations['sharewell.io/client-priority']\"}}\n"
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

TEST(PodInject, K6WhatContradictsThePlacementIsRefused) {
  const std::string pod = "kind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n    - name: ";
  EXPECT_THAT(Refusal(pod + "NVIDIA_VISIBLE_DEVICES\n      value: all\n"),
              HasSubstr("container 'a': it sets NVIDIA_VISIBLE_DEVICES by hand"));
  EXPECT_THAT(Refusal(pod + "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE\n      value: '50'\n"),
              HasSubstr("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
}

TEST(PodInject, WhatIsKnownOfAPodStandsAmongItsAnnotations) {
  const std::string known = R"({"v":1,"needs":{"from":"ann's"}})";
  const auto inject = [&](const std::string& text) {
    const auto out = InjectPods(text, "sharewell", kWatcher, [&](const PodWords& words) {
      return words.batch == 3 ? core::Result<std::string>(core::FailedError("too large")) : known;
    });
    return out ? *out : "error: " + out.error().message;
  };
  const std::string spec = "spec:\n  containers: [{name: a}]\n";
  const std::string line = "sharewell.io/known: '{\"v\":1,\"needs\":{\"from\":\"ann''s\"}}'\n";
  EXPECT_THAT(inject("kind: Pod\n" + spec),
              HasSubstr("metadata:\n  annotations:\n    " + line + "kind: Pod\n"));
  EXPECT_THAT(inject("kind: Pod\nmetadata:\n  name: x\n" + spec),
              HasSubstr("metadata:\n  annotations:\n    " + line + "  name: x\n"));
  EXPECT_THAT(inject("kind: Pod\nmetadata:\n  annotations:\n    a: b\n" + spec),
              HasSubstr("  annotations:\n    " + line + "    a: b\n"));
  const std::string job = inject(
      "{\"kind\": \"Job\", \"spec\": {\"template\": {\"spec\": {\"containers\": [{\"name\": "
      "\"a\"}]}}}}");
  EXPECT_THAT(job, HasSubstr(R"("template": {"metadata": {"annotations": {"sharewell.io/known")"));
  EXPECT_EQ(inject(job), job);
  EXPECT_THAT(inject("kind: Pod\nmetadata: {annotations: {sharewell.io/gpus: '0'}}\n" + spec),
              Not(HasSubstr("known")))
      << "it has no GPU";
  const auto with = [&](const std::string& annotation) {
    return "kind: Pod\nmetadata:\n  annotations:\n    sharewell.io/" + annotation + "\n" + spec;
  };
  EXPECT_THAT(inject(with("batch: 3")), HasSubstr("error: too large"));
  EXPECT_THAT(inject(with("known: '{\"v\":1,\"needs\":{}}'")),
              HasSubstr("of another prediction already"));
  EXPECT_THAT(inject(with("known: x")), HasSubstr("inject --model FILE"));
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

constexpr const char* kWatch = "metadata: {annotations: {sharewell.io/watch: \"true\"}}\n";

TEST(PodInject, APodThatIsToBeWatchedGetsTheWatcherAndItsConfigMap) {
  const std::string text = std::string("kind: Pod\n") + kWatch +
                           "spec:\n  containers:\n    - name: main\n      image: x\n";
  const std::string out = Injected(text);
  EXPECT_TRUE(out.starts_with(
      "# The watcher of Sharewell, which pods with the annotation sharewell.io/watch run.\n"
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sharewell-watcher\ndata:\n"
      "  sitecustomize.py: \"print('\\\\n')\\n\"\n"
      "  sharewell_watch.steps.py: \"a = \\\"b\\\"\\n\"\n---\nkind: Pod\n"))
      << out;
  EXPECT_THAT(out, HasSubstr("    - name: sharewell-watcher\n"
                             "      configMap: {name: \"sharewell-watcher\", optional: true, "
                             "items: [{key: \"sitecustomize.py\", path: \"sitecustomize.py\"}, "
                             "{key: \"sharewell_watch.steps.py\", "
                             "path: \"sharewell_watch/steps.py\"}]}\n"));
  EXPECT_THAT(out, HasSubstr("        - name: SHAREWELL_WATCH_PIPE\n"
                             "          value: \"/sharewell-steps/\"\n"
                             "        - name: PYTHONPATH\n"
                             "          value: \"/sharewell-watcher\"\n"));
  EXPECT_THAT(out, HasSubstr("        - name: sharewell-watcher\n"
                             "          mountPath: \"/sharewell-watcher\"\n"));
  EXPECT_EQ(Injected(out), out);
  for (const char* word : {"\"false\"", "\"no\""}) {
    const std::string other =
        "kind: Pod\nmetadata: {annotations: {sharewell.io/watch: " + std::string(word) +
        "}}\nspec: {containers: [{name: a}]}\n";
    EXPECT_THAT(Injected(other), Not(HasSubstr("sharewell-watcher"))) << word;
  }
}

TEST(PodInject, TheWatcherStandsInFrontOfWhatAManifestSets) {
  const auto with = [](const std::string& value) {
    return std::string("kind: Pod\n") + kWatch +
           "spec:\n  containers:\n  - name: a\n    env:\n    - {name: PYTHONPATH" + value + "}\n";
  };
  EXPECT_THAT(Injected(with(", value: /mine")), HasSubstr("value: /sharewell-watcher:/mine}"));
  EXPECT_THAT(Injected(with(", value: '/a:/b'")), HasSubstr("value: '/sharewell-watcher:/a:/b'}"));
  EXPECT_THAT(Injected(with(", value: \"\"")), HasSubstr("value: \"/sharewell-watcher\"}"));
  for (const char* value : {", value: /mine", ", value: '/a'", ", value: \"\""}) {
    const std::string once = Injected(with(value));
    EXPECT_EQ(Injected(once), once);
  }
  for (const char* value : {"", ", valueFrom: {fieldRef: {fieldPath: x}}"}) {
    EXPECT_THAT(Refusal(with(value)),
                HasSubstr("container 'a': the watcher cannot be put in front of its PYTHONPATH"));
  }
  EXPECT_THAT(Injected(std::string("kind: Pod\n") + kWatch +
                       "spec:\n  containers:\n  - name: a\n    env:\n    - name: PYTHONPATH\n"
                       "      value: /mine # stays\n"),
              HasSubstr("      value: /sharewell-watcher:/mine # stays\n"));
}

TEST(PodInject, EachNamespaceHasOneConfigMapOfTheWatcher) {
  const auto pod = [](const char* name, const char* space) {
    return std::string("kind: Pod\nmetadata: {name: ") + name + ", namespace: " + space +
           ", annotations: {sharewell.io/watch: \"true\"}}\nspec: {containers: [{name: a}]}\n";
  };
  const std::string out =
      Injected("# mine\n---\n" + pod("a", "x") + "---\n" + pod("b", "x") + "---\n" + pod("c", "y"));
  const auto count = [&out](const std::string& word) {
    int n = 0;
    for (auto at = out.find(word); at != std::string::npos; at = out.find(word, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("kind: ConfigMap"), 2);
  EXPECT_THAT(out, HasSubstr("  namespace: \"x\"\n"));
  EXPECT_THAT(out, HasSubstr("  namespace: \"y\"\n"));
  EXPECT_EQ(Injected(out), out);
  const std::string job = Injected(
      "{\"kind\": \"Job\", \"spec\": {\"template\": {\"metadata\": {\"annotations\": "
      "{\"sharewell.io/watch\": \"true\"}}, \"spec\": {\"containers\": [{\"name\": \"a\", "
      "\"env\": [{\"name\": \"PYTHONPATH\", \"value\": \"/m\"}]}]}}}}");
  EXPECT_THAT(job, HasSubstr("kind: ConfigMap"));
  EXPECT_THAT(job, HasSubstr("\"value\": \"/sharewell-watcher:/m\""));
  EXPECT_EQ(Injected(job), job);
  EXPECT_THAT(Refusal(pod("a", "\"x\\ny\"")), HasSubstr("is no name of a namespace"));
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
