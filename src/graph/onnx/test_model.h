// For tests: tiny ONNX files, written field by field.
//
//   TestModel().Input("x", {"batch", 3}).Weight("w", {3, 5}).Node("MatMul", {"x", "w"}, {"y"})
//       .Output("y").Bytes()
#pragma once

#include <cstdint>
#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/graph.h"

namespace sharewell::graph::onnx {

inline Binding Batch(std::int64_t batch) { return {.batch = batch, .named = {}}; }

// A declared dimension: a number, or a name ("": not said).
using TestDim = std::variant<std::int64_t, std::string>;
inline TestDim Dim(std::int64_t size) { return size; }
inline TestDim Dim(std::string name) { return name; }

struct TestDims : std::vector<TestDim> {
  TestDims() = default;
  template <class... Sizes>
  explicit TestDims(Sizes... sizes) {
    (push_back(Dim(sizes)), ...);
  }
};

// An attribute, ready to be written into a node.
struct TestAttribute {
  std::string bytes;
};

namespace test {

inline TestAttribute Attribute(const std::string& name, int type, const auto& write) {
  TestAttribute attribute;
  protozero::pbf_writer writer(attribute.bytes);
  writer.add_string(1, name);
  write(writer);
  writer.add_int32(20, type);
  return attribute;
}

inline TestAttribute Int(const std::string& name, std::int64_t value) {
  return Attribute(name, 2, [&](auto& writer) { writer.add_int64(3, value); });
}
inline TestAttribute Real(const std::string& name, float value) {
  return Attribute(name, 1, [&](auto& writer) { writer.add_float(2, value); });
}
inline TestAttribute Text(const std::string& name, const std::string& value) {
  return Attribute(name, 3, [&](auto& writer) { writer.add_bytes(4, value); });
}
inline TestAttribute Ints(const std::string& name, const std::vector<std::int64_t>& values) {
  return Attribute(name, 7, [&](auto& writer) {
    for (const std::int64_t value : values) writer.add_int64(8, value);
  });
}
inline TestAttribute Graph(const std::string& name, const std::string& graph) {
  return Attribute(name, 5, [&](auto& writer) { writer.add_message(6, graph); });
}
// In a function's body: whatever the caller gives under this name.
inline TestAttribute Reference(const std::string& name, const std::string& to) {
  return Attribute(name, 2, [&](auto& writer) { writer.add_string(21, to); });
}

inline std::string NodeBytes(const std::string& type, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs,
                             const std::vector<TestAttribute>& attributes,
                             const std::string& domain, const std::string& name) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const auto& input : inputs) writer.add_string(1, input);
  for (const auto& output : outputs) writer.add_string(2, output);
  writer.add_string(3, name);
  writer.add_string(4, type);
  for (const auto& attribute : attributes) writer.add_message(5, attribute.bytes);
  if (!domain.empty()) writer.add_string(7, domain);
  return bytes;
}

}  // namespace test

// A graph: a model's, or the body of an If, Loop or Scan.
class TestGraph {
 public:
  static constexpr int kFloat = 1;
  static constexpr int kInt64 = 7;
  static constexpr int kBool = 9;

  TestGraph& Input(const std::string& name, const TestDims& dims, int type = kFloat) {
    return Declare(11, name, &dims, type);
  }
  TestGraph& Output(const std::string& name) { return Declare(12, name, nullptr, kFloat); }
  TestGraph& Declared(const std::string& name, const TestDims& dims) {
    return Declare(13, name, &dims, kFloat);
  }
  // A float initializer whose data lies in another file.
  TestGraph& Weight(const std::string& name, const std::vector<std::int64_t>& dims) {
    std::string tensor;
    protozero::pbf_writer writer(tensor);
    writer.add_packed_int64(1, dims.begin(), dims.end());
    writer.add_int32(2, kFloat);
    writer.add_string(8, name);
    writer.add_int32(14, 1);
    return Add(5, tensor);
  }
  TestGraph& Numbers(const std::string& name, const std::vector<std::int64_t>& values) {
    return Integers(name, values, {static_cast<std::int64_t>(values.size())});
  }
  TestGraph& Number(const std::string& name, std::int64_t value) {
    return Integers(name, {value}, {});
  }
  TestGraph& Integers(const std::string& name, const std::vector<std::int64_t>& values,
                      const std::vector<std::int64_t>& dims) {
    std::string raw(values.size() * sizeof(std::int64_t), '\0');
    if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
    return Raw(name, kInt64, dims, raw);
  }
  TestGraph& Reals(const std::string& name, const std::vector<float>& values,
                   const std::vector<std::int64_t>& dims) {
    std::string raw(values.size() * sizeof(float), '\0');
    if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
    return Raw(name, kFloat, dims, raw);
  }
  TestGraph& Raw(const std::string& name, int type, const std::vector<std::int64_t>& dims,
                 const std::string& raw) {
    std::string tensor;
    protozero::pbf_writer writer(tensor);
    for (const std::int64_t dim : dims) writer.add_int64(1, dim);
    writer.add_int32(2, type);
    writer.add_string(8, name);
    writer.add_bytes(9, raw);
    return Add(5, tensor);
  }
  TestGraph& Node(const std::string& type, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs,
                  const std::vector<TestAttribute>& attributes = {}, const std::string& domain = "",
                  const std::string& name = "") {
    return Add(1, test::NodeBytes(type, inputs, outputs, attributes, domain,
                                  name.empty() ? "node_" + outputs.front() : name));
  }
  // A sparse initializer of one value and this dense shape.
  TestGraph& Sparse(const std::string& name, const std::vector<std::int64_t>& dims) {
    std::string values, sparse;
    protozero::pbf_writer writer(values);
    writer.add_int64(1, 1);
    writer.add_int32(2, kFloat);
    writer.add_string(8, name);
    protozero::pbf_writer sparse_writer(sparse);
    sparse_writer.add_message(1, values);
    sparse_writer.add_packed_int64(3, dims.begin(), dims.end());
    return Add(15, sparse);
  }
  const std::string& Bytes() const { return bytes_; }

 private:
  TestGraph& Add(std::uint32_t field, const std::string& message) {
    protozero::pbf_writer(bytes_).add_message(field, message);
    return *this;
  }
  TestGraph& Declare(std::uint32_t field, const std::string& name, const TestDims* dims, int type) {
    std::string value;
    protozero::pbf_writer writer(value);
    writer.add_string(1, name);
    std::string tensor;
    protozero::pbf_writer tensor_writer(tensor);
    tensor_writer.add_int32(1, type);
    if (dims != nullptr) {
      std::string shape;
      for (const TestDim& dim : *dims) {
        std::string one;
        protozero::pbf_writer dim_writer(one);
        if (const auto* size = std::get_if<std::int64_t>(&dim)) dim_writer.add_int64(1, *size);
        if (const auto* symbol = std::get_if<std::string>(&dim); symbol && !symbol->empty()) {
          dim_writer.add_string(2, *symbol);
        }
        protozero::pbf_writer(shape).add_message(1, one);
      }
      tensor_writer.add_message(2, shape);
    }
    std::string tensor_type;
    protozero::pbf_writer(tensor_type).add_message(1, tensor);
    writer.add_message(2, tensor_type);
    return Add(field, value);
  }

  std::string bytes_;
};

class TestModel {
 public:
  explicit TestModel(std::string producer = "test", std::int64_t opset = 18)
      : producer_(std::move(producer)), opset_(opset) {}

  TestGraph& graph() { return graph_; }
  TestModel& Function(const std::string& domain, const std::string& name,
                      const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs,
                      const std::vector<std::string>& nodes) {
    std::string function;
    protozero::pbf_writer writer(function);
    writer.add_string(1, name);
    for (const auto& input : inputs) writer.add_string(4, input);
    for (const auto& output : outputs) writer.add_string(5, output);
    for (const auto& node : nodes) writer.add_message(7, node);
    writer.add_string(10, domain);
    functions_.push_back(function);
    return *this;
  }
  TestModel& Note(const std::string& key, const std::string& value) {
    std::string note;
    protozero::pbf_writer writer(note);
    writer.add_string(1, key);
    writer.add_string(2, value);
    notes_.push_back(note);
    return *this;
  }
  std::string Bytes() const {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_int64(1, 8);
    writer.add_string(2, producer_);
    writer.add_string(3, "1.0");
    writer.add_message(7, graph_.Bytes());
    std::string opset;
    protozero::pbf_writer(opset).add_int64(2, opset_);
    writer.add_message(8, opset);
    for (const auto& note : notes_) writer.add_message(14, note);
    for (const auto& function : functions_) writer.add_message(25, function);
    return bytes;
  }

 private:
  std::string producer_;
  std::int64_t opset_;
  TestGraph graph_;
  std::vector<std::string> functions_, notes_;
};

}  // namespace sharewell::graph::onnx
