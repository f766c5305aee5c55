// KubeControlTest: a KubeControl over a cluster that is played (FakeKube), of two nodes of two GPUs
// each, on a clock of the test's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/kubernetes/control/kube_control.h"
#include "testing/fake_kube.h"
#include "testing/run_event_text.h"

namespace sharewell::fixtures {

class KubeControlTest : public ::testing::Test {
 protected:
  KubeControlTest() {
    kube_.AddNode("n0", {"GPU-0", "GPU-1"}, "V100");
    kube_.AddNode("n1", {"GPU-2", "GPU-3"}, "V100");
  }
  ~KubeControlTest() override { EXPECT_EQ(kube_.wrong, ""); }

  // A server that begins. What an earlier one did is read back.
  std::vector<engine::RunRequest> Begin() {
    control_ = std::make_unique<engine::KubeControl>(options_(kube_));
    kube_.EmitAll(*control_);
    control_->Open(kube_.now());
    return control_->Recover();
  }
  void Live(double seconds) {
    const core::Seconds until = kube_.now() + core::Seconds(seconds);
    while (kube_.now() < until) {
      kube_.Emit(*control_);
      control_->Cycle(kube_.now(), told_);
      kube_.Advance(kube_.now() + core::Seconds(0.25));
    }
    kube_.Emit(*control_);
    control_->Cycle(kube_.now(), told_);
  }
  template <class Event>
  std::vector<Event> Told() const {
    return AllOf<Event>(told_);
  }
  // The last of that kind; one that is empty where there is none.
  template <class Event>
  Event Last() const {
    const auto some = Told<Event>();
    return some.empty() ? Event() : some.back();
  }
  static engine::RunRequest RunOf(std::int64_t job, const std::string& node,
                                  const std::vector<std::string>& gpus, int attempt = 1) {
    engine::RunRequest request;
    request.id = {job, attempt};
    request.nodes = {node};
    for (const std::string& gpu : gpus) request.gpus.push_back({0, gpu, "V100"});
    request.shares = true;
    request.cores = 1;
    request.expected_memory = core::GiB(10);
    return request;
  }
  std::string AnnotationOf(const std::string& key, const char* name) {
    return kube_.pod(key)["metadata"]["annotations"].value(std::string("sharewell.io/") + name, "");
  }
  std::string ClaimsOn(const std::string& node) {
    return kube_.node(node)["metadata"]["annotations"].value("sharewell.io/claims", "");
  }
  std::string ConditionOf(const std::string& key, const std::string& type) {
    for (const nlohmann::json& one :
         kube_.pod(key)["status"].value("conditions", nlohmann::json::array())) {
      if (one["type"] == type) return one.value("message", "");
    }
    return {};
  }
  int Requests(const std::string& part) const {
    return static_cast<int>(
        std::count_if(kube_.log.begin(), kube_.log.end(), [&](const engine::KubeRequest& request) {
          return request.path.find(part) != std::string::npos;
        }));
  }

  FakeKube kube_;
  std::function<engine::KubeControlOptions(FakeKube&)> options_ = FakeKubeRunner::Options;
  std::unique_ptr<engine::KubeControl> control_;
  std::vector<engine::RunEvent> told_;
};

}  // namespace sharewell::fixtures
