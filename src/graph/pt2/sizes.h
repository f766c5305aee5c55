// Values for the sizes that an exported program leaves open: the batch, what the user bound by
// name, and else the example's size that the export was made with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "graph/pt2/expression.h"
#include "json/value.h"

namespace sharewell::graph::pt2 {

class Sizes {
 public:
  // Looks at the sizes of every tensor of the program; `user_inputs` are those whose first
  // dimension is the batch. An error lists what is still open, or says which bound name the file
  // does not have.
  static core::Result<Sizes> Bind(json::Value tensor_values,
                                  const std::vector<json::Value>& user_inputs,
                                  const std::string& name, const Binding& binding);

  // One size: {"as_int": 3} or {"as_expr": {"expr_str": ...}}. Nothing when it has no value.
  std::optional<std::int64_t> Of(json::Value size);
  // All of a list; nothing when one has none.
  std::optional<Dims> All(json::Value list);

  bool has_open_batch() const { return open_batch_; }

 private:
  Symbols symbols_;
  bool open_batch_ = false;
  // Every distinct expression is read once; the text belongs to the JSON.
  std::unordered_map<std::string_view, std::optional<std::int64_t>> read_;
};

}  // namespace sharewell::graph::pt2
