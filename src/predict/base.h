// Base: how long a step should take and what it should need, by arithmetic alone: a roofline an
// operator from the GPU's catalogue facts, what the host needs to launch it, what the loader needs
// to fill a batch. A learned residual (predictor.h) corrects it; the base is what extrapolates.
//
// The rates were fitted once, by least squares on the logarithm of busy seconds a step and of step
// time, to the rows of data/h200 (tools/lab/calibrate.py), pulled towards plausible values.
#pragma once

#include <array>

#include "core/gpu_model.h"
#include "graph/cost.h"
#include "graph/flow.h"
#include "graph/graph.h"
#include "graph/memory.h"
#include "graph/run.h"
#include "predict/op_class.h"

namespace sharewell::predict {

// What is asked: a graph at its batch, run so, on this GPU model, fed by so many loader processes.
struct Query {
  const graph::Graph* graph = nullptr;
  graph::Run run;
  int workers = 4;
  const core::GpuModel* gpu = nullptr;
  double host_time = 1;  // how long the host takes over one thing, against our reference host
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

  // A step's seconds when its kernels take `gpu_seconds`: the longest of what overlaps, softened.
  double Step(double gpu_seconds) const;
  double Load() const;  // the loader's own pace, however it runs
};

Base BaseOf(const Query& query);

// How long two things take that overlap: the longer, softened as Step() softens it.
double Overlapping(double a, double b);

// Whether the GPU computes in this precision at all. Where not, frameworks take fp32 instead.
bool Computes(const core::GpuModel& gpu, graph::Precision precision);

// Whether matrix units do there. Full precision goes through them as TF32.
bool HasMatrixUnits(const core::GpuModel& gpu, graph::Precision precision);

// Multiply-adds a second on matrix units in this precision, or on plain cores where it has none.
double PeakFlops(const core::GpuModel& gpu, graph::Precision precision);

}  // namespace sharewell::predict
