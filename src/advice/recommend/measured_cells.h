// Cells that were measured: a sweep's cells.csv, profiles (docs/formats/profiles.md), and the
// tables of data/h200. What is inside the program is read too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "advice/recommend/cell.h"
#include "catalogue/gpu_catalogue.h"
#include "core/result.h"

namespace sharewell::advice::recommend {

struct MeasuredCell {
  std::string workload;
  std::string sitting;  // of one machine and day; empty: not given
  std::string graph;    // the file's column `model` or `onnx`; may be empty
  std::string family;
  Cell cell;
};

// Columns workload, gpu, batch, steps_per_s; precision, workers, cpus (or axis_cpus), power_w,
// mem_used_bytes, cpu_cores, uncertainty_percent, cpu_curve, sitting, family and model or onnx may
// be there. A row without GPU, batch or rate (a cell that failed) is passed over; a file without
// any other is an error. A cpu_curve becomes a cell for each of its points.
core::Result<std::vector<MeasuredCell>> ReadMeasuredCells(std::string_view text,
                                                          const std::string& name,
                                                          const catalogue::GpuCatalogue& catalogue);
core::Result<std::vector<MeasuredCell>> ReadMeasuredCellsFile(
    const std::string& path, const catalogue::GpuCatalogue& catalogue);

// data/h200: cores.csv, profiles.csv, and what only profiles-2.csv has.
std::vector<MeasuredCell> BuiltinMeasuredCells();

// Whether a model's file is named after the workload: "tv_resnet50_224.onnx", tv:resnet50@224.
bool NamedAfter(std::string_view model, std::string_view workload);

}  // namespace sharewell::advice::recommend
