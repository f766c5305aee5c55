// For tests and the fuzzers: ONNX files that are short and unfold. Each names one thing that a
// reader does again and again, as large as a file of so many bytes can ask for; a seed chooses
// between them and how the bytes are shared out. The same seed, the same file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "graph/onnx/test_model.h"

namespace sharewell::graph::onnx {

inline constexpr std::string_view kUnfoldings[] = {
    "functions in functions",
    "a function that calls itself first",
    "many operands",
    "many inputs of a function",
    "many attributes",
    "references to attributes",
    "long names",
    "numbers that are passed on",
    "initializers in a branch",
    "declarations in a branch",
    "a branch that is not taken",
    "nodes out of order",
    "sparse shapes",
    "loops in loops",
    "values of the same name",
};
inline constexpr std::size_t kUnfoldingKinds = std::size(kUnfoldings);

class Unfolding {
 public:
  Unfolding(std::uint64_t seed, std::size_t bytes) : state_(seed * 2 + 1), bytes_(bytes) {
    kind_ = seed % kUnfoldingKinds;
  }
  std::string_view name() const { return kUnfoldings[kind_]; }

  std::string Bytes() {
    TestModel model;
    model.graph().Input("x", TestDims(std::int64_t{1}, std::int64_t{8}));
    // How large one is against how often it comes: from all in one to a few letters a time.
    const std::size_t large = bytes_ / (2 + Next(14)), often = (bytes_ - large) / 24;
    Write(model, std::max<std::size_t>(large, 64), std::max<std::size_t>(often, 8));
    model.graph().Output("y");
    return model.Bytes();
  }

 private:
  std::uint64_t Next(std::uint64_t below) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ >> 33) % below;
  }
  static std::string Named(std::size_t i) { return "v" + std::to_string(i); }

  // `often` calls of the function "f" with these nodes in it, in a row.
  static void Call(TestModel& model, const std::vector<std::string>& nodes, std::size_t often,
                   const std::vector<std::string>& inputs = {"a"}) {
    model.Function("own", "f", inputs, {"b"}, nodes);
    std::string last = "x";
    for (std::size_t i = 0; i < often; ++i) {
      const std::string next = i + 1 == often ? "y" : Named(i);
      model.graph().Node("f", {last}, {next}, {}, "own", "n");
      last = next;
    }
  }
  static std::string Line(const std::string& type, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs,
                          const std::vector<TestAttribute>& attributes = {},
                          const std::string& domain = "") {
    return test::NodeBytes(type, inputs, outputs, attributes, domain, "n");
  }
  // An If in a function, whose branches are these.
  static void CallBranch(TestModel& model, const TestGraph& then_branch,
                         const TestGraph& else_branch, std::size_t often, bool known) {
    std::vector<std::string> nodes;
    if (known) {
      nodes.push_back(Line("Constant", {}, {"c"}, {test::Ints("value_ints", {1})}));
    }
    nodes.push_back(Line("If", {known ? "c" : "a"}, {"b"},
                         {test::Graph("then_branch", then_branch.Bytes()),
                          test::Graph("else_branch", else_branch.Bytes())}));
    Call(model, nodes, often);
  }

  void Write(TestModel& model, std::size_t large, std::size_t often) {
    const std::string_view kind = name();
    if (kind == "functions in functions") {
      // Each calls the one before it so often.
      const std::size_t width = 2 + Next(8),
                        deep = std::min<std::size_t>(4 + Next(24), 1 + bytes_ / 2000);
      std::vector<std::string> nodes{Line("Relu", {"a"}, {"b"})};
      for (std::size_t level = 0; level < deep; ++level) {
        model.Function("own", "f" + std::to_string(level), {"a"}, {"b"}, nodes);
        nodes.clear();
        std::string last = "a";
        for (std::size_t i = 0; i < width; ++i) {
          const std::string next = i + 1 == width ? "b" : Named(i);
          nodes.push_back(Line("f" + std::to_string(level), {last}, {next}, {}, "own"));
          last = next;
        }
      }
      model.graph().Node("f" + std::to_string(deep - 1), {"x"}, {"y"}, {}, "own", "n");
    } else if (kind == "a function that calls itself first") {
      std::vector<std::string> nodes{Line("f", {"a"}, {"b"}, {}, "own")};
      for (std::size_t i = 0; i < large / 16; ++i) nodes.push_back(Line("R", {"b"}, {Named(i)}));
      Call(model, nodes, 4);
    } else if (kind == "many operands") {
      const std::vector<std::string> empty(large / 2);
      Call(model, {Line("Sum", empty, {"b"})}, often);
    } else if (kind == "many inputs of a function") {
      std::vector<std::string> inputs{"a"};
      for (std::size_t i = 0; i < large / 10; ++i) inputs.push_back(Named(i));
      Call(model, {Line("Relu", {"a"}, {"b"})}, often, inputs);
    } else if (kind == "many attributes") {
      const std::vector<TestAttribute> many(large / 12, test::Int("q", 1));
      Call(model, {Line("Relu", {"a"}, {"b"}, many)}, often);
    } else if (kind == "references to attributes") {
      const std::vector<TestAttribute> many(large / 16, test::Reference("q", "r"));
      model.Function("own", "f", {"a"}, {"b"}, {Line("Relu", {"a"}, {"b"}, many)});
      model.graph().Node("f", {"x"}, {"y"}, std::vector<TestAttribute>(often, test::Int("s", 1)),
                         "own", "n");
    } else if (kind == "long names") {
      const std::string longest(large / 2, 'n');
      Call(model, {Line("Relu", {"a"}, {longest}), Line("Relu", {longest}, {"b"})}, often);
    } else if (kind == "numbers that are passed on") {
      model.graph().Numbers("many", {4096});
      model.graph().Node("ConstantOfShape", {"many"}, {"n0"}, {}, "", "n");
      for (std::size_t i = 0; i < often; ++i) {
        model.graph().Node("Identity", {"n0"}, {"n" + std::to_string(i + 1)}, {}, "", "n");
      }
      model.graph().Node("Relu", {"x"}, {"y"});
    } else if (kind == "initializers in a branch" || kind == "declarations in a branch") {
      TestGraph branch;
      for (std::size_t i = 0; i < large / 24; ++i) {
        kind == "initializers in a branch" ? branch.Weight(Named(i), {1})
                                           : branch.Declared(Named(i), TestDims(std::int64_t{1}));
      }
      // Its result is not known, so that what is declared is looked up.
      branch.Node("Strange", {"a"}, {"r"}).Output("r");
      CallBranch(model, branch, branch, often, false);
    } else if (kind == "a branch that is not taken") {
      TestGraph taken, other;
      taken.Node("Relu", {"a"}, {"r"}).Output("r");
      for (std::size_t i = 0; i < large / 24; ++i) other.Node("Relu", {"a"}, {Named(i)});
      other.Output("v0");
      CallBranch(model, taken, other, often, true);
    } else if (kind == "nodes out of order") {
      TestGraph inner;
      for (std::size_t i = 0; i < large / 24; ++i) inner.Node("Relu", {"a"}, {Named(i)});
      inner.Output("v0");
      Call(model,
           {Line("Relu", {"late"}, {"b"}), Line("If", {"a"}, {"late"},
                                                {test::Graph("then_branch", inner.Bytes()),
                                                 test::Graph("else_branch", inner.Bytes())})},
           often);
    } else if (kind == "sparse shapes") {
      for (std::size_t i = 0; i < often / 2; ++i) {
        model.graph().Sparse("s" + std::to_string(i), {1 << 20, 1 << 20, 1 << 20});
      }
      model.graph().Node("Relu", {"x"}, {"y"});
    } else if (kind == "loops in loops") {
      TestGraph body;
      body.Input("i", {}, TestGraph::kInt64).Input("go", {}, TestGraph::kBool);
      body.Node("Relu", {"x"}, {"r"}).Node("Identity", {"go"}, {"on"}).Output("on").Output("r");
      for (std::size_t level = 0; level < 12 + Next(30); ++level) {
        TestGraph outer;
        outer.Input("i", {}, TestGraph::kInt64).Input("go", {}, TestGraph::kBool);
        outer.Number("times", 1 << 20);
        for (std::size_t i = 0; i < 1 + Next(2); ++i) {
          outer.Node("Loop", {"times", ""}, {"r" + std::to_string(i)},
                     {test::Graph("body", body.Bytes())});
        }
        outer.Node("Identity", {"go"}, {"on"}).Output("on").Output("r0");
        if (outer.Bytes().size() > large) break;
        body = outer;
      }
      model.graph().Number("times", 1 << 20);
      model.graph().Node("Loop", {"times", ""}, {"y"}, {test::Graph("body", body.Bytes())});
    } else {  // values of the same name, each in a scope of its own
      std::vector<std::string> nodes;
      std::string last = "a";
      for (std::size_t i = 0; i < large / 32; ++i) {
        nodes.push_back(Line("Relu", {last}, {Named(i)}));
        last = Named(i);
      }
      nodes.push_back(Line("Relu", {last}, {"b"}));
      Call(model, nodes, often);
    }
  }

  std::uint64_t state_;
  const std::size_t bytes_;
  std::size_t kind_ = 0;
};

}  // namespace sharewell::graph::onnx
