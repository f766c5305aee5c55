#include "graph/onnx/order.h"

#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "graph/onnx/node.h"

namespace sharewell::graph::onnx {
namespace {

constexpr int kDeepest = 64;

// Names that the node reads: its operands, and whatever nodes of its subgraphs read.
void CollectReads(const wire::Node& node, int depth, std::vector<std::string_view>& reads) {
  reads.insert(reads.end(), node.inputs.begin(), node.inputs.end());
  if (depth >= kDeepest || (node.type != "If" && node.type != "Loop" && node.type != "Scan"))
    return;
  for (const wire::Attribute& attribute : node.attributes) {
    const auto value = wire::ReadAttribute(attribute.bytes);
    if (value.graph.empty()) continue;
    const wire::Graph body = wire::ReadGraph(value.graph);
    for (const wire::Node& inner : body.nodes) CollectReads(inner, depth + 1, reads);
    for (const wire::ValueInfo& output : body.outputs) reads.push_back(output.name);
  }
}

}  // namespace

core::Result<Running> RunningOrder(std::span<const wire::Node> nodes) {
  std::unordered_map<std::string_view, std::size_t> maker;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      if (!output.empty()) maker.emplace(output, i);
    }
  }
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  std::vector<std::size_t> waiting(nodes.size(), 0);
  std::vector<std::string_view> reads;
  Running running;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    reads.clear();
    CollectReads(nodes[i], 0, reads);
    running.reads += reads.size();
    for (const std::string_view name : reads) {
      const auto found = maker.find(name);
      if (found == maker.end()) continue;
      readers[found->second].push_back(i);
      ++waiting[i];
    }
  }
  // Of those that could run, the earliest in the file.
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<std::size_t>& order = running.order;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t reader : readers[next]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() == nodes.size()) return running;

  // Walking back from any node that still waits must come round: what is met twice is on the cycle.
  std::size_t at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<bool> met(nodes.size(), false);
  while (!met[at]) {
    met[at] = true;
    reads.clear();
    CollectReads(nodes[at], 0, reads);
    for (const std::string_view name : reads) {
      const auto found = maker.find(name);
      if (found != maker.end() && waiting[found->second] > 0) {
        at = found->second;
        break;
      }
    }
  }
  return core::UsageError(
      "the node {} ({}) needs its own result: the graph has a cycle, so nothing can run it; export "
      "the model again",
      Quoted(nodes[at].name.empty() ? nodes[at].outputs.front() : nodes[at].name),
      Quoted(nodes[at].type));
}

}  // namespace sharewell::graph::onnx
