// For tests: small networks, and measurements of them that follow from the base by a rule the base
// does not know, so that there is something to learn.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/numbers/random.h"
#include "core/result.h"
#include "graph/layers/layers.h"
#include "predict/features.h"
#include "predict/train.h"

namespace sharewell::predict {

inline graph::Graph TestGraph(std::string_view list, std::int64_t batch) {
  auto read = graph::ReadLayers(list, "net.json", {.batch = batch, .named = {}});
  SHAREWELL_CHECK(read.has_value());
  return *std::move(read);
}

inline std::string ImageList(int channels, int blocks) {
  return fmt::format(
      R"({{"inputs":[{{"name":"x","shape":["batch",3,64,64]}}],"layers":[
          {{"type":"conv2d","out_channels":{0},"kernel":3,"padding":1}},
          {{"type":"repeat","times":{1},"layers":[
            {{"type":"conv2d","out_channels":{0},"kernel":3,"padding":1,"bias":false}},
            {{"type":"batchnorm"}},{{"type":"relu"}}]}},
          {{"type":"globalpool"}},{{"type":"flatten"}},{{"type":"linear","out":10}}]}})",
      channels, blocks);
}

inline std::string TokenList(int width, int blocks) {
  return fmt::format(
      R"({{"inputs":[{{"name":"ids","shape":["batch",64],"dtype":"int64"}}],"layers":[
          {{"type":"embedding","rows":1000,"dim":{0}}},
          {{"type":"repeat","times":{1},"layers":[
            {{"type":"layernorm"}},{{"type":"attention","heads":4}},
            {{"type":"linear","out":{2}}},{{"type":"gelu"}},{{"type":"linear","out":{0}}}]}},
          {{"type":"mean"}},{{"type":"linear","out":2}}]}})",
      width, blocks, 4 * width);
}

inline std::string RecurrentList(int hidden) {
  return fmt::format(
      R"({{"inputs":[{{"name":"x","shape":["batch",50,32]}}],"layers":[
          {{"type":"lstm","hidden":{}}},{{"type":"select"}},{{"type":"linear","out":2}}]}})",
      hidden);
}

inline core::GpuModel TestGpu() {
  core::GpuModel gpu;
  gpu.name = "T1";
  gpu.memory = core::GiB(80);
  gpu.bandwidth = core::GBps(2000);
  gpu.fp32_tflops = 20;
  gpu.tf32_tflops = 150;
  gpu.fp16_tflops = gpu.bf16_tflops = 300;
  gpu.sms = 108;
  gpu.power_limit = core::Watts(400);
  gpu.idle_power = core::Watts(50);
  return gpu;
}

inline Query TestQuery(const graph::Graph& graph, const core::GpuModel& gpu,
                       graph::Precision precision = graph::Precision::kFp32, int workers = 4) {
  Query query;
  query.graph = &graph;
  query.gpu = &gpu;
  query.run.precision = precision;
  query.workers = workers;
  return query;
}

// Six families, four batches each. Kernels take `slower` as long as the base says.
struct TestWorld {
  explicit TestWorld(double slower = 1.5) {
    const std::pair<const char*, std::string> nets[] = {
        {"narrow", ImageList(16, 2)},      {"wide", ImageList(64, 3)},
        {"deep", ImageList(24, 8)},        {"text", TokenList(64, 2)},
        {"large text", TokenList(256, 4)}, {"lstm", RecurrentList(128)}};
    for (const auto& [family, list] : nets) {
      for (const std::int64_t batch : {8, 32, 64, 128}) Add(family, list, batch, slower);
    }
  }
  TestWorld(const TestWorld&) = delete;  // rows point to graphs and the GPU model
  TestWorld& operator=(const TestWorld&) = delete;

  void Add(const std::string& family, const std::string& list, std::int64_t batch, double slower) {
    graphs.push_back(TestGraph(list, batch));
    Row row;
    row.workload = family + "-net";
    row.family = family;
    const bool half = rows.size() % 2 == 1;
    row.precision_word = half ? "bf16" : "fp32";
    row.query =
        TestQuery(graphs.back(), gpu, half ? graph::Precision::kBf16 : graph::Precision::kFp32);
    const Base base = BaseOf(row.query);
    const auto noise = [&](std::uint64_t what) {
      return 1 + 0.03 * core::Normal(core::HashOf({rows.size(), what}));
    };
    const double busy = base.gpu * slower * noise(100);
    const double step = base.Step(busy) * 1.1 * noise(101);
    for (std::size_t f = 0; f < kFigures; ++f) {
      const auto figure = static_cast<Figure>(f);
      row.measured[f] = BaseFigure(figure, row.query, base, busy, step) *
                        (IsShare(figure) ? 0.9 : 1.2) * noise(f);
    }
    row.measured[Index(Figure::kBusySeconds)] = busy;
    row.measured[Index(Figure::kStepSeconds)] = step;
    row.measured[Index(Figure::kBusy)] = busy / step;
    rows.push_back(std::move(row));
  }

  core::GpuModel gpu = TestGpu();
  std::deque<graph::Graph> graphs;
  std::vector<Row> rows;
};

}  // namespace sharewell::predict
