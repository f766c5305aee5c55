// The protobuf side of ONNX: messages become plain structs of views into the file's bytes.
//
// Nothing is copied and weights are not touched: a field of data is its place and its length. The
// numbers below are those of onnx.proto; unknown fields are passed over. Every function here may
// throw protozero::exception on bytes that are no protobuf; ReadOnnx is where that ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sharewell::graph::onnx::wire {

// A dimension of a declared shape: a number, a name, or nothing at all.
struct Dim {
  std::optional<std::int64_t> value;
  std::string_view name;
};

struct ValueInfo {
  std::string_view name;
  int element_type = 0;  // TensorProto.DataType; 0: not said, or no tensor
  std::optional<std::vector<Dim>> dims;
};

// A tensor with data. The data's fields are where the numbers would lie, not the numbers.
struct TensorData {
  std::string_view name;
  std::vector<std::int64_t> dims;
  int element_type = 0;
  bool elsewhere = false;  // external data: in another file
  std::string_view raw, floats, doubles, int32s, int64s;
  std::vector<std::int64_t> loose;  // the same for writers that do not pack (integers only)
};

// An attribute by name; its value is parsed when asked for (Node::Int and the like).
struct Attribute {
  std::string_view name;
  std::string_view bytes;
};

struct Node {
  std::string_view type, domain, name, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<Attribute> attributes;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<TensorData> initializers;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<std::string_view> value_infos;  // unparsed: few are ever asked for
};

struct Opset {
  std::string_view domain;
  std::int64_t version = 0;
};

struct Function {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<Node> nodes;
  std::vector<Attribute> defaults;
  std::vector<Opset> opsets;
};

struct Model {
  std::int64_t ir_version = 0;
  std::string_view producer, producer_version;
  std::vector<Opset> opsets;
  std::optional<std::string_view> graph;
  std::vector<Function> functions;
  std::string_view frozen;  // weights that are not trained: names between spaces
};

Model ReadModel(std::string_view bytes);
// Stops taking nodes above kMostNodes: the caller sees more than allowed and refuses.
Graph ReadGraph(std::string_view bytes);
ValueInfo ReadValueInfo(std::string_view bytes);
TensorData ReadTensor(std::string_view bytes);

// The parts of an attribute. Lists longer than kMostNumbers are cut off there.
inline constexpr std::size_t kMostNumbers = 4096;
struct AttributeValue {
  std::optional<std::int64_t> integer;
  std::optional<float> real;
  std::string_view text;
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  std::string_view tensor, graph, sparse_tensor;  // unparsed
  std::string_view refers_to;  // in a function: the caller's attribute of this name
};
AttributeValue ReadAttribute(std::string_view bytes);

// Numbers of a data field: packed varints, little-endian floats. At most `most` are taken.
std::vector<std::int64_t> PackedVarints(std::string_view bytes, std::size_t most);

}  // namespace sharewell::graph::onnx::wire
