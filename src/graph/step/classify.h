// Classify: what a told operator is, by its name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/pt2/aten.h"
#include "graph/step/told_step.h"

namespace sharewell::graph {

struct ToldClass {
  enum class What : std::uint8_t {
    kForward,   // an operator as any graph has it
    kBackward,  // the backward pass of one
    kUpdate,    // works on lists of weights: an optimizer's, or on gradients between the passes
    kLoss,      // told by what it reads: StepWork's loss
    kHost,      // no kernel
    kUnknown,
  };
  What what = What::kUnknown;
  pt2::Aten aten;  // of the forward operator
};

ToldClass ClassOf(const ToldOperator& op);

// "aten.add_.Tensor" is "add", overload "Tensor"; "torchvision.nms.default" keeps its namespace.
struct ToldName {
  std::string op, overload;
  bool in_place = false;
};
ToldName NameOf(const ToldOperator& op);

}  // namespace sharewell::graph
