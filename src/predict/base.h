// Base: how long a step should take and what it should need, by arithmetic alone: a roofline an
// operator from the GPU's catalogue facts, what the host needs to launch it, what the loader needs
// to fill a batch. A learned residual (predictor.h) corrects it; the base is what extrapolates.
//
// Rates (rates.h) are data: fitted with the rest of a trained model, or else those built in. Where
// an operator table (operator_table.h) knows an operator, its time comes from there instead.
#pragma once

#include <array>
#include <vector>

#include "core/gpu_model.h"
#include "graph/cost.h"
#include "graph/flow.h"
#include "graph/graph.h"
#include "graph/memory.h"
#include "graph/run.h"
#include "predict/op_class.h"
#include "predict/rates.h"

namespace sharewell::predict {

class OperatorTable;

// What is asked: a graph at its batch, run so, on this GPU model, fed by so many loader processes.
struct Query {
  const graph::Graph* graph = nullptr;
  graph::Run run;
  int workers = 4;
  const core::GpuModel* gpu = nullptr;
  double host_time = 1;  // how long the host takes over one thing, against our reference host
  const Rates* rates = nullptr;              // null: BuiltInRates()
  const OperatorTable* operators = nullptr;  // null: none
};

// What does not depend on the GPU model, and sums over the operators that do.
struct Base {
  double gpu = 0;          // seconds a step that some kernel runs
  double host = 0;         // seconds a step that the host needs to launch it all
  double worker = 0;       // seconds a batch keeps one loader process of several; 0 without
  double pin = 0;          // seconds a batch takes on its way through the main process
  double inline_load = 0;  // seconds a batch takes when there are no loader processes
  // Parts of `gpu`: bound by arithmetic, by bandwidth, by starting kernels.
  double compute = 0, bandwidth = 0, launch = 0;

  graph::Cost cost;
  graph::Memory memory;
  std::array<double, kOpClasses> flops{}, bytes{}, kernels{};  // forward and backward, by class
  double calls = 0,
         views = 0;  // operators that the host dispatches forward; those without a kernel
  double float_inputs = 0, other_inputs = 0;  // elements a batch
  double recurrent_steps = 0;
  double overlap = 0;    // Rates::overlap
  double tabulated = 0;  // share of `gpu` that the operator table tells of

  // A step's seconds when its kernels take `gpu_seconds`: the longest of what overlaps, softened.
  double Step(double gpu_seconds) const;
  double Load() const;  // the loader's own pace, however it runs
};

// What one step is made of, before any rate: counts. Rates are fitted over many of these.
struct StepWork {
  struct Op {
    OpClass of = OpClass::kNone;
    bool tensor = false;                     // matrix units can do it
    std::array<double, 2> flops{}, bytes{};  // forward, backward
    double kernels = 0, steps = 1;
    double sum = 0, channels = 1;  // lengths of sums; outputs a sum's weights serve
    double seconds = 0;            // forward and backward by the operator table; 0: it has none
    double trust = 0;              // in that, beside what the rates say
    std::array<double, 2> walk{};  // Walk() of forward and backward
    double kernels_take = 1;       // over what the rates are of, as the loop is written
  };
  std::vector<Op> ops;  // those with kernels
  bool half = false, tensor_units = false;
  bool told = false;                             // what the host does is told, call by call
  bool compiled = false, checkpointing = false;  // as the told loop is
  double peak = 0, plain = 0, bandwidth = 0;     // FLOP/s on matrix units, on plain cores; bytes/s
  // Gradients that several readers send back are added up, operator by operator of their own.
  double sum_bytes = 0, sum_kernels = 0;
  double update_bytes = 0, update_kernels = 0;
  double update_ones = 0;  // kernels of an optimizer that goes from weight to weight
  // What the host does: calls by kind.
  double forward = 0, pointwise = 0, backward = 0, view_calls = 0, casts = 0, convs = 0, norms = 0,
         recurrent_steps = 0, weights = 0;
  double batch = 1, float_inputs = 0, other_inputs = 0;  // elements
  double inputs = 0;                                     // tensors
  int workers = 0;
  double host_time = 1;
  double copy_bytes = 0;  // that a step brings to the GPU
  double loss_bytes = 0;  // what the loss reads and writes, forward and back

  // Adds up operators that are alike, which no rate tells apart: the same seconds, sooner.
  void Merge();

  // Seconds a step.
  double Gpu(const Rates& rates) const;
  // Parts of it: the operators of one class, and all that is no operator of the graph.
  double GpuOf(OpClass of, const Rates& rates) const;
  double GpuRest(const Rates& rates) const;
  double Host(const Rates& rates) const;
  double Load(const Rates& rates) const;  // by one process
  double Pin(const Rates& rates) const;
  double Step(const Rates& rates, double gpu_seconds) const;
};
StepWork StepWorkOf(const Query& query, const graph::Cost& cost);

Base BaseOf(const Query& query);
// The same, by one who has the costs and the memory already.
Base BaseOf(const Query& query, graph::Cost cost, const graph::Memory& memory);

// How long two things take that overlap: the longer, softened as Step() softens it.
double Overlapping(double a, double b);

// Whether the GPU computes in this precision at all. Where not, frameworks take fp32 instead.
bool Computes(const core::GpuModel& gpu, graph::Precision precision);

// Whether matrix units do there. Full precision goes through them as TF32.
bool HasMatrixUnits(const core::GpuModel& gpu, graph::Precision precision);

// Multiply-adds a second on matrix units in this precision, or on plain cores where it has none.
double PeakFlops(const core::GpuModel& gpu, graph::Precision precision);

}  // namespace sharewell::predict
