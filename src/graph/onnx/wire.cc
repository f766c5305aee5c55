#include "graph/onnx/wire.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>
#include <utility>

namespace sharewell::graph::onnx::wire {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kVarint = pbf_wire_type::varint;
constexpr auto kBytes = pbf_wire_type::length_delimited;
constexpr auto kFixed32 = pbf_wire_type::fixed32;

std::string_view View(pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

pbf_reader Open(std::string_view bytes) { return pbf_reader{bytes.data(), bytes.size()}; }

// Only the name: it is the first field in every file we have seen, so the value stays untouched.
Attribute NamedAttribute(std::string_view bytes) {
  pbf_reader reader = Open(bytes);
  while (reader.next()) {
    if (reader.tag_and_type() == tag_and_type(1, kBytes)) return {View(reader), bytes};
    reader.skip();
  }
  return {{}, bytes};
}

Node ReadNode(std::string_view bytes) {
  Node node;
  pbf_reader reader = Open(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        node.inputs.push_back(View(reader));
        break;
      case tag_and_type(2, kBytes):
        node.outputs.push_back(View(reader));
        break;
      case tag_and_type(3, kBytes):
        node.name = View(reader);
        break;
      case tag_and_type(4, kBytes):
        node.type = View(reader);
        break;
      case tag_and_type(5, kBytes):
        node.attributes.push_back(NamedAttribute(View(reader)));
        break;
      case tag_and_type(7, kBytes):
        node.domain = View(reader);
        break;
      case tag_and_type(8, kBytes):
        node.overload = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return node;
}

Opset ReadOpset(std::string_view bytes) {
  Opset opset;
  pbf_reader reader = Open(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        opset.domain = View(reader);
        break;
      case tag_and_type(2, kVarint):
        opset.version = reader.get_int64();
        break;
      default:
        reader.skip();
    }
  }
  return opset;
}

// A key and its value, of the file's metadata.
std::pair<std::string_view, std::string_view> ReadNote(std::string_view bytes) {
  std::pair<std::string_view, std::string_view> note;
  pbf_reader reader = Open(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        note.first = View(reader);
        break;
      case tag_and_type(2, kBytes):
        note.second = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return note;
}

Function ReadFunction(std::string_view bytes) {
  Function function;
  pbf_reader reader = Open(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        function.name = View(reader);
        break;
      case tag_and_type(4, kBytes):
        function.inputs.push_back(View(reader));
        break;
      case tag_and_type(5, kBytes):
        function.outputs.push_back(View(reader));
        break;
      case tag_and_type(7, kBytes):
        function.nodes.push_back(ReadNode(View(reader)));
        break;
      case tag_and_type(9, kBytes):
        function.opsets.push_back(ReadOpset(View(reader)));
        break;
      case tag_and_type(10, kBytes):
        function.domain = View(reader);
        break;
      case tag_and_type(11, kBytes):
        function.defaults.push_back(NamedAttribute(View(reader)));
        break;
      case tag_and_type(13, kBytes):
        function.overload = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return function;
}

Dim ReadDim(std::string_view bytes) {
  Dim dim;
  pbf_reader reader = Open(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kVarint):
        dim.value = reader.get_int64();
        break;
      case tag_and_type(2, kBytes):
        dim.name = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return dim;
}

// TypeProto.Tensor: its type, and its shape where one is declared.
void ReadTensorType(std::string_view bytes, ValueInfo& value) {
  pbf_reader reader = Open(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kVarint):
        value.element_type = reader.get_int32();
        break;
      case tag_and_type(2, kBytes): {
        value.dims.emplace();
        pbf_reader shape = Open(View(reader));
        while (shape.next(1, kBytes)) {
          // One more than allowed is enough for the caller to refuse.
          if (value.dims->size() > kMostDims) break;
          value.dims->push_back(ReadDim(View(shape)));
        }
        break;
      }
      default:
        reader.skip();
    }
  }
}

}  // namespace

ValueInfo ReadValueInfo(std::string_view bytes) {
  ValueInfo value;
  pbf_reader reader = Open(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        value.name = View(reader);
        break;
      case tag_and_type(2, kBytes): {
        pbf_reader type = Open(View(reader));
        while (type.next(1, kBytes)) ReadTensorType(View(type), value);
        break;
      }
      default:
        reader.skip();
    }
  }
  return value;
}

TensorData ReadTensor(std::string_view bytes) {
  TensorData tensor;
  pbf_reader reader = Open(bytes);
  const auto take_dim = [&](std::int64_t dim) {
    if (tensor.dims.size() <= kMostDims) tensor.dims.push_back(dim);
  };
  const auto take_loose = [&](std::int64_t number) {
    if (tensor.loose.size() <= kMostNumbers) tensor.loose.push_back(number);
  };
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kVarint):
        take_dim(reader.get_int64());
        break;
      case tag_and_type(1, kBytes):
        for (const std::int64_t dim : PackedVarints(View(reader), kMostDims + 1)) take_dim(dim);
        break;
      case tag_and_type(2, kVarint):
        tensor.element_type = reader.get_int32();
        break;
      case tag_and_type(4, kBytes):
        tensor.floats = View(reader);
        break;
      case tag_and_type(5, kBytes):
        tensor.int32s = View(reader);
        break;
      case tag_and_type(5, kVarint):
        take_loose(reader.get_int32());
        break;
      case tag_and_type(7, kBytes):
      case tag_and_type(11, kBytes):
        tensor.int64s = View(reader);
        break;
      case tag_and_type(7, kVarint):
        take_loose(reader.get_int64());
        break;
      case tag_and_type(8, kBytes):
        tensor.name = View(reader);
        break;
      case tag_and_type(9, kBytes):
        tensor.raw = View(reader);
        break;
      case tag_and_type(10, kBytes):
        tensor.doubles = View(reader);
        break;
      case tag_and_type(14, kVarint):
        tensor.elsewhere = reader.get_int32() == 1;
        break;
      default:
        reader.skip();
    }
  }
  return tensor;
}

Graph ReadGraph(std::string_view bytes) {
  Graph graph;
  pbf_reader reader = Open(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        if (graph.nodes.size() > kMostNodes) return graph;
        graph.nodes.push_back(ReadNode(View(reader)));
        break;
      case tag_and_type(5, kBytes):
        graph.initializers.push_back(ReadTensor(View(reader)));
        break;
      case tag_and_type(11, kBytes):
        graph.inputs.push_back(ReadValueInfo(View(reader)));
        break;
      case tag_and_type(12, kBytes):
        graph.outputs.push_back(ReadValueInfo(View(reader)));
        break;
      case tag_and_type(13, kBytes):
        graph.value_infos.push_back(View(reader));
        break;
      case tag_and_type(15, kBytes): {
        // A sparse initializer: the name lies in its values, the dense shape beside them.
        pbf_reader sparse = Open(View(reader));
        TensorData tensor;
        std::vector<std::int64_t> dims;
        while (sparse.next()) {
          if (sparse.tag_and_type() == tag_and_type(1, kBytes)) {
            tensor = ReadTensor(View(sparse));
          } else if (sparse.tag_and_type() == tag_and_type(3, kBytes)) {
            dims = PackedVarints(View(sparse), kMostDims + 1);
          } else {
            sparse.skip();
          }
        }
        tensor.dims = dims;
        tensor.elsewhere = true;  // its values are not laid out densely: never read as numbers
        graph.initializers.push_back(tensor);
        break;
      }
      default:
        reader.skip();
    }
  }
  return graph;
}

Model ReadModel(std::string_view bytes) {
  Model model;
  pbf_reader reader = Open(bytes);
  std::size_t function_nodes = 0;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kVarint):
        model.ir_version = reader.get_int64();
        break;
      case tag_and_type(2, kBytes):
        model.producer = View(reader);
        break;
      case tag_and_type(3, kBytes):
        model.producer_version = View(reader);
        break;
      case tag_and_type(7, kBytes):
        model.graph = View(reader);
        break;
      case tag_and_type(8, kBytes):
        model.opsets.push_back(ReadOpset(View(reader)));
        break;
      case tag_and_type(14, kBytes):
        if (const auto [key, value] = ReadNote(View(reader)); key == "sharewell.frozen") {
          model.frozen = value;
        }
        break;
      case tag_and_type(25, kBytes):
        if (function_nodes > kMostNodes) {
          reader.skip();
          break;
        }
        model.functions.push_back(ReadFunction(View(reader)));
        function_nodes += model.functions.back().nodes.size();
        break;
      default:
        reader.skip();
    }
  }
  return model;
}

AttributeValue ReadAttribute(std::string_view bytes) {
  AttributeValue value;
  pbf_reader reader = Open(bytes);
  const auto take = [](auto& list, auto number) {
    if (list.size() < kMostNumbers) list.push_back(number);
  };
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(2, kFixed32):
        value.real = reader.get_float();
        break;
      case tag_and_type(3, kVarint):
        value.integer = reader.get_int64();
        break;
      case tag_and_type(4, kBytes):
        value.text = View(reader);
        break;
      case tag_and_type(5, kBytes):
        value.tensor = View(reader);
        break;
      case tag_and_type(6, kBytes):
        value.graph = View(reader);
        break;
      case tag_and_type(7, kFixed32):
        take(value.reals, reader.get_float());
        break;
      case tag_and_type(7, kBytes):
        for (const float number : reader.get_packed_float()) take(value.reals, number);
        break;
      case tag_and_type(8, kVarint):
        take(value.integers, reader.get_int64());
        break;
      case tag_and_type(8, kBytes):
        value.integers = PackedVarints(View(reader), kMostNumbers);
        break;
      case tag_and_type(21, kBytes):
        value.refers_to = View(reader);
        break;
      case tag_and_type(22, kBytes):
        value.sparse_tensor = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return value;
}

std::vector<std::int64_t> PackedVarints(std::string_view bytes, std::size_t most) {
  std::vector<std::int64_t> numbers;
  const char* data = bytes.data();
  const char* const end = data + bytes.size();
  while (data != end && numbers.size() < most) {
    numbers.push_back(static_cast<std::int64_t>(protozero::decode_varint(&data, end)));
  }
  return numbers;
}

}  // namespace sharewell::graph::onnx::wire
