// For tests: writes the JSON of an exported program.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace sharewell::graph::pt2 {

// A program written by hand: tensors by name with their sizes, nodes in order.
class TestProgram {
 public:
  // Sizes as JSON: a number, or text for an expression.
  TestProgram& Tensor(const std::string& name, const std::vector<std::string>& sizes, int dtype = 7,
                      const std::vector<int>& strides = {}) {
    std::vector<std::string> list, steps;
    for (const auto& size : sizes) list.push_back(Size(size));
    for (const int step : strides) steps.push_back(Size(std::to_string(step)));
    values_.push_back(
        fmt::format(R"("{}":{{"dtype":{},"sizes":[{}]{}}})", name, dtype, fmt::join(list, ","),
                    steps.empty() ? "" : fmt::format(R"(,"strides":[{}])", fmt::join(steps, ","))));
    return *this;
  }
  TestProgram& Input(const std::string& name, const std::vector<std::string>& sizes) {
    specs_.push_back(
        fmt::format(R"({{"user_input":{{"arg":{{"as_tensor":{{"name":"{}"}}}}}}}})", name));
    return Tensor(name, sizes);
  }
  TestProgram& Weight(const std::string& name, const std::vector<std::string>& sizes) {
    specs_.push_back(fmt::format(
        R"({{"parameter":{{"arg":{{"name":"{}"}},"parameter_name":"m.{}"}}}})", name, name));
    return Tensor(name, sizes);
  }
  // Inputs as JSON arguments without their names' quotes: {"input", T("x")}.
  TestProgram& Node(const std::string& target,
                    const std::vector<std::pair<std::string, std::string>>& inputs,
                    const std::string& outputs) {
    std::vector<std::string> list;
    for (const auto& [name, argument] : inputs) {
      list.push_back(fmt::format(R"({{"name":"{}","arg":{},"kind":1}})", name, argument));
    }
    nodes_.push_back(
        fmt::format(R"({{"target":"{}","inputs":[{}],"outputs":[{}],"metadata":{{}}}})", target,
                    fmt::join(list, ","), outputs));
    return *this;
  }
  std::string Body(const std::string& inputs = "", const std::string& outputs = "") const {
    return fmt::format(R"({{"inputs":[{}],"outputs":[{}],"nodes":[{}],"tensor_values":{{{}}}}})",
                       inputs, outputs, fmt::join(nodes_, ","), fmt::join(values_, ","));
  }
  std::string Json() const {
    return fmt::format(
        R"({{"torch_version":"2.11.0","graph_module":{{"graph":{},"signature":{{"input_specs":[{}],"output_specs":[]}}}}}})",
        Body(), fmt::join(specs_, ","));
  }

 private:
  static std::string Size(const std::string& size) {
    if (size.find_first_not_of("0123456789-") == std::string::npos) {
      return fmt::format(R"({{"as_int":{}}})", size);
    }
    const auto hint = size.find('~');  // "s1~128": the example's size
    if (hint == std::string::npos)
      return fmt::format(R"({{"as_expr":{{"expr_str":"{}","hint":null}}}})", size);
    return fmt::format(R"({{"as_expr":{{"expr_str":"{}","hint":{{"as_int":{}}}}}}})",
                       size.substr(0, hint), size.substr(hint + 1));
  }
  std::vector<std::string> values_, specs_, nodes_;
};

}  // namespace sharewell::graph::pt2
