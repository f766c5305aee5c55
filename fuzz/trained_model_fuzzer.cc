// Any bytes as a trained model: read, or refused with a reason. One that is read answers any
// workload with bounds in order, tells how jobs fare together, and is written and read again as the
// same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/layers/layers.h"
#include "predict/trained.h"

namespace {

using namespace sharewell;

const graph::Graph& Net() {
  static const graph::Graph net =
      graph::ReadLayers(R"({"inputs":[{"name":"x","shape":["batch",3,8,8]}],
      "layers":[{"type":"conv2d","out_channels":8,"kernel":3},{"type":"relu"},{"type":"flatten"},
                {"type":"linear","out":10}]})",
                        "net.json", {.batch = 4, .named = {}})
          .value();
  return net;
}

void Ask(const predict::Predictor& predictor) {
  core::GpuModel gpu;
  gpu.name = predictor.known().empty() ? "T1" : predictor.known()[0].gpu;
  gpu.bandwidth = core::GBps(1000);
  gpu.fp32_tflops = 10;
  predict::Query query;
  query.graph = &Net();
  query.gpu = &gpu;
  const predict::Prediction prediction = predictor.Predict(query);
  for (const core::Estimated<>& value : prediction.figures) {
    if (!(value.low <= value.median && value.median <= value.high)) __builtin_trap();
  }
  for (const auto figure : {predict::Figure::kMemory, predict::Figure::kCores}) {
    if (!(predictor.UpperOverMedian(figure) >= 1)) __builtin_trap();
  }
}

void Ask(const predict::ColocationModel& together) {
  std::vector<predict::Resident> residents(3);
  residents[0].demand.busy = residents[0].demand.sm = 0.5;
  residents[1].demand.busy = 1;
  residents[1].step = core::Seconds(0.1);
  if (!together.state().residents.empty()) residents[2] = together.state().residents[0];
  for (const auto& speed : together.Speeds(residents)) {
    if (!(speed.low <= speed.median && speed.median <= speed.high)) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trained =
      predict::ReadTrained(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!trained) {
    if (trained.error().message.empty()) __builtin_trap();
    return 0;
  }
  Ask(trained->predictor);
  if (trained->together) Ask(*trained->together);
  const std::string text = predict::Write(*trained);
  const auto again = predict::ReadTrained(text);
  if (!again || predict::Write(*again) != text) __builtin_trap();
  return 0;
}
