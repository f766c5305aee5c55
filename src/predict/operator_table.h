// OperatorTable: how long operators of known shapes ran on one GPU model, forward and backward
// (docs/formats/operators.md), and by it how long others should. In between it interpolates in
// logarithms: what a kernel takes over a plain roofline, along a plane fitted to its kind,
// corrected by the nearest cells. Other GPU models get the same ratio over their own roofline.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu_model.h"
#include "core/result.h"
#include "graph/cost.h"
#include "graph/flow.h"
#include "graph/graph.h"
#include "graph/run.h"
#include "predict/op_class.h"

namespace sharewell::predict {

inline constexpr std::size_t kForward = 0, kBackward = 1;

// What the time of an operator depends on.
struct OperatorShape {
  OpClass of = OpClass::kNone;
  int kind = 0;        // finer than the class: which norm, maximum or mean, a sum, transposed
  int arithmetic = 0;  // 0: full precision, 1: TF32, 2: mixed precision
  std::array<double, 2> flops{}, bytes{};  // forward, backward
  double contraction = 0;                  // multiply-adds an output element
  double outputs = 0;                      // elements
  double channels = 1;                     // of the output
  double window = 1;
  double dilation = 1;
  std::array<double, 2> walk{};  // walk.h, on the GPU in question
  friend auto operator<=>(const OperatorShape&, const OperatorShape&) = default;
};

OperatorShape ShapeOf(const graph::Graph& graph, const graph::Op& op, const graph::OpCost& cost,
                      const graph::Run& run);
// For those who read it from a table: OperatorShape::kind by the operator's name, ::arithmetic by
// the precision, ::channels by the output's dimensions.
int OperatorKind(OpClass of, std::string_view type);
int ArithmeticOf(OpClass of, graph::Precision precision);
double ChannelsOf(OpClass of, const graph::Dims& output);

// Seconds over this are what the table tells of; it knows no kernels, only limits.
struct Roofline {
  std::array<double, 3> flops{};  // a second, by OperatorShape::arithmetic
  double bandwidth = 0;           // bytes a second
  friend bool operator==(const Roofline&, const Roofline&) = default;
};
Roofline RooflineOf(const core::GpuModel& gpu);

class OperatorTable {
 public:
  struct Cell {
    OperatorShape shape;
    std::array<double, 2> seconds{};    // forward, backward; 0: there is none
    std::vector<std::string> families;  // whose graphs it was taken from
  };

  OperatorTable() = default;
  OperatorTable(std::vector<Cell> cells, Roofline roofline);

  // What Write() wrote; families are not kept. Trusts nothing.
  static core::Result<OperatorTable> Read(std::string_view text);
  std::string Write() const;

  // Without the cells that these families alone brought: what is known before one of them was met.
  OperatorTable Without(const std::set<std::string>& families) const;

  // Seconds of forward (kForward) or backward on a GPU of this roofline; none where it has no cell
  // of that kind, or all are too far away to tell.
  struct Told {
    double seconds = 0;
    double support = 0;  // by the cells near it: 0 none, 1 many or one that is just so
  };
  std::optional<Told> Seconds(const OperatorShape& shape, std::size_t pass,
                              const Roofline& roofline) const;

  const std::vector<Cell>& cells() const { return cells_; }
  const Roofline& roofline() const { return roofline_; }
  bool empty() const { return cells_.empty(); }

  static constexpr std::size_t kFeatures = 7;
  using Place = std::array<double, kFeatures>;

 private:
  // One kind of operator in one arithmetic, one pass.
  struct Group {
    std::vector<Place> places;
    std::vector<double> over;  // logarithm of seconds over the roofline, above the plane
    Place slope{};
    Place middle{};
    double level = 0;
  };
  void Build();
  static std::size_t GroupOf(const OperatorShape& shape, std::size_t pass);

  std::vector<Cell> cells_;
  Roofline roofline_;
  std::vector<Group> groups_;
};

}  // namespace sharewell::predict
