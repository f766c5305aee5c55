// Real models, as PyTorch exported them: data/h200/onnx.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <sstream>

#include "graph/onnx/onnx.h"
#include "graph/onnx/test_model.h"
#include "graph/restore.h"

namespace sharewell::graph {
namespace {

namespace fs = std::filesystem;
using onnx::Batch;

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> Models() {
  std::vector<fs::path> models;
  for (const auto& entry : fs::directory_iterator("data/h200/onnx")) {
    if (entry.path().extension() == ".onnx") models.push_back(entry.path());
  }
  std::sort(models.begin(), models.end());
  return models;
}

Graph Read(const fs::path& path, std::int64_t batch) {
  auto graph = ReadOnnx(Contents(path), path.filename(), Batch(batch));
  if (!graph) ADD_FAILURE() << graph.error().message;
  return graph.value_or(Graph{});
}

double MacsOf(const Graph& graph) {
  double macs = 0;
  for (const Op& op : graph.ops) macs += op.macs;
  return macs;
}

double ParamsOf(const Graph& graph) {
  double params = graph.hidden_params;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role == Role::kWeight) params += Elements(tensor);
  }
  return params;
}

// The same file without the shapes that it declares for inner values.
std::string WithoutDeclaredShapes(const std::string& bytes) {
  std::string model;
  protozero::pbf_writer writer(model);
  protozero::pbf_reader reader(bytes);
  while (reader.next()) {
    if (reader.tag() == 1) {
      writer.add_int64(1, reader.get_int64());
    } else if (reader.tag() == 7) {
      std::string graph;
      protozero::pbf_writer graph_writer(graph);
      protozero::pbf_reader fields = reader.get_message();
      while (fields.next()) {
        const auto tag = fields.tag();
        const auto view = fields.get_view();
        if (tag != 13) graph_writer.add_message(tag, view);
      }
      writer.add_message(7, graph);
    } else if (reader.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
      const auto tag = reader.tag();
      writer.add_message(tag, reader.get_view());
    } else {
      reader.skip();
    }
  }
  return model;
}

TEST(RealModels, DoThePublishedNumberOfMultiplications) {
  const std::map<std::string, double> published = {{"tv_resnet18_224", 1.81},
                                                   {"tv_resnet50_224", 4.09},
                                                   {"tv_mobilenet_v2_224", 0.301},
                                                   {"tv_vgg16_224", 15.47},
                                                   {"tv_vit_b_16_224", 17.56}};
  for (const auto& [model, macs] : published) {
    const Graph graph = Read("data/h200/onnx/" + model + ".onnx", 4);
    EXPECT_NEAR(MacsOf(graph) / 4 / 1e9, macs, 0.01 * macs) << model;
  }
}

TEST(RealModels, AreUnderstoodToTheLastOperator) {
  const auto models = Models();
  EXPECT_GE(models.size(), 43U);
  for (const fs::path& path : models) {
    Graph graph = Read(path, 2);
    for (const int pass : {1, 2}) {
      for (const Op& op : graph.ops) {
        EXPECT_NE(op.kind, Kind::kUnknown) << path << ": " << op.name << ": " << op.why_unknown;
        for (const TensorId id : op.outputs) {
          if (id == kAbsent) continue;
          EXPECT_TRUE(graph.tensors[static_cast<std::size_t>(id)].dims) << path << ": " << op.name;
        }
      }
      if (pass == 1) Restore(graph);
    }
  }
}

TEST(RealModels, NeedNoDeclaredShapes) {
  for (const fs::path& path : Models()) {
    const std::string bytes = Contents(path);
    const auto with = ReadOnnx(bytes, path.filename(), Batch(3));
    const auto without = ReadOnnx(WithoutDeclaredShapes(bytes), path.filename(), Batch(3));
    ASSERT_TRUE(with && without) << path;
    ASSERT_EQ(with->tensors.size(), without->tensors.size());
    for (std::size_t i = 0; i < with->tensors.size(); ++i) {
      EXPECT_EQ(with->tensors[i].dims, without->tensors[i].dims) << path << with->tensors[i].name;
    }
  }
}

TEST(RealModels, RestoringKeepsTheWork) {
  for (const fs::path& path : Models()) {
    Graph graph = Read(path, 2);
    const double before = MacsOf(graph);
    Restore(graph);
    EXPECT_NEAR(MacsOf(graph), before, 1e-9 * before) << path;
    // Every operand is made before it is read.
    std::vector<bool> made(graph.tensors.size(), false);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = graph.tensors[i].role != Role::kActivation;
    }
    for (const Op& op : graph.ops) {
      for (const TensorId id : op.inputs) {
        EXPECT_TRUE(id == kAbsent || made[static_cast<std::size_t>(id)]) << path << ": " << op.name;
      }
      for (const TensorId id : op.outputs) {
        if (id != kAbsent) made[static_cast<std::size_t>(id)] = true;
      }
    }
    for (const TensorId id : graph.outputs) EXPECT_TRUE(made[static_cast<std::size_t>(id)]) << path;
  }
}

// PyTorch's own count of parameters stands in the profiles. The exporter drops biases that are all
// zero and merges equal vectors; what cannot be told from the file is below one in a hundred.
TEST(RealModels, RestoringFindsTheParametersThatTrainingHas) {
  std::ifstream profiles("data/h200/profiles.csv");
  std::string line;
  std::getline(profiles, line);
  std::map<std::string, double> expected;
  const auto cells = [](const std::string& row) {
    std::vector<std::string> list;
    std::stringstream stream(row);
    for (std::string cell; std::getline(stream, cell, ',');) list.push_back(cell);
    return list;
  };
  const auto header = cells(line);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  const std::size_t params = column("params");
  const std::size_t onnx = column("onnx");
  ASSERT_LT(std::max(params, onnx), header.size());
  while (std::getline(profiles, line)) {
    const auto row = cells(line);
    if (row.size() > std::max(params, onnx) && !row[onnx].empty()) {
      expected[row[onnx]] = std::stod(row[params]);
    }
  }
  EXPECT_GE(expected.size(), 30U);
  for (const auto& [file, count] : expected) {
    Graph graph = Read("data/h200/onnx/" + file, 1);
    Restore(graph);
    EXPECT_NEAR(ParamsOf(graph), count, 0.01 * count) << file;
  }
}

TEST(RealModels, RunTheirFusedKernels) {
  const auto count = [](const std::string& model, Kind kind) {
    Graph graph = Read("data/h200/onnx/" + model + ".onnx", 1);
    Restore(graph);
    return std::count_if(graph.ops.begin(), graph.ops.end(),
                         [&](const Op& op) { return op.kind == kind; });
  };
  EXPECT_EQ(count("hf_bert_128", Kind::kAttention), 12);
  EXPECT_EQ(count("hf_bert_128", Kind::kSoftmax), 0);
  EXPECT_EQ(count("hf_gpt2_128", Kind::kAttention), 12);
  // GPT-2's GELU is written in Python: eight operators that PyTorch runs one by one.
  EXPECT_EQ(count("hf_gpt2_128", Kind::kActivation), 12);
  EXPECT_GE(count("hf_gpt2_128", Kind::kElementwise), 12 * 7);
  EXPECT_EQ(count("tv_vit_b_16_224", Kind::kAttention), 12);
  EXPECT_EQ(count("tv_resnet50_224", Kind::kNorm), 53);
  EXPECT_EQ(count("lstm_512x2", Kind::kRecurrent), 2);
}

}  // namespace
}  // namespace sharewell::graph
