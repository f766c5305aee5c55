// Our shapes against those that ONNX's own library infers. It knows opset 17 and not all that came
// later, and follows no shape arithmetic: what it leaves open is not compared.

// How Debian's library was built; its headers do not compile without.
#define ONNX_ML 1
#define ONNX_NAMESPACE onnx

#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "graph/onnx/onnx.h"
#include "graph/onnx/test_model.h"

namespace sharewell::graph {
namespace {

namespace fs = std::filesystem;

// The model with its batch fixed, and only the shapes that the library infers.
::onnx::ModelProto Inferred(const fs::path& path, std::int64_t batch) {
  ::onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  if (!model.ParseFromIstream(&file)) ADD_FAILURE() << path;
  model.mutable_graph()->clear_value_info();
  for (auto& input : *model.mutable_graph()->mutable_input()) {
    auto* dim = input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0);
    if (dim->has_dim_param()) dim->set_dim_value(batch);
  }
  ::onnx::shape_inference::InferShapes(model);
  return model;
}

TEST(Oracle, AgreesOnEveryShapeItKnows) {
  std::size_t compared = 0;
  for (const auto& entry : fs::directory_iterator("data/h200/onnx")) {
    const fs::path& path = entry.path();
    const std::string name = path.filename();
    constexpr std::int64_t kBatch = 3;
    const ::onnx::ModelProto oracle = Inferred(path, kBatch);
    // The library knows DFT of opset 17, whose axis is an attribute, and overlooks the newer input.
    const auto& nodes = oracle.graph().node();
    if (std::any_of(nodes.begin(), nodes.end(),
                    [](const auto& n) { return n.op_type() == "DFT"; })) {
      continue;
    }
    const auto ours = ReadOnnx(oracle.SerializeAsString(), name, onnx::Batch(kBatch));
    ASSERT_TRUE(ours) << ours.error().message;
    std::map<std::string, Dims> shapes;
    for (const Tensor& tensor : ours->tensors) {
      if (tensor.dims) shapes[tensor.name] = *tensor.dims;
    }
    for (const auto& value : oracle.graph().value_info()) {
      if (!value.type().tensor_type().has_shape()) continue;
      Dims dims;
      bool known = true;
      for (const auto& dim : value.type().tensor_type().shape().dim()) {
        known = known && dim.has_dim_value();
        dims.push_back(dim.dim_value());
      }
      if (!known) continue;
      ++compared;
      EXPECT_EQ(shapes[value.name()], dims) << name << ": " << value.name();
    }
  }
  EXPECT_GT(compared, 10'000U);
}

}  // namespace
}  // namespace sharewell::graph
