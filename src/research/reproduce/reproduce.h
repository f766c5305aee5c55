// Reproduce: the seeds' own experiments, theirs and ours side by side. Each builds a trace in
// memory and runs it through BuildScenario and Simulate with the policies that users run; only
// fluid bounds are computed by formula. One thread; reads no file but the data named in the
// options. What each one assumes, and how to read its rows: docs/reproduce.md.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::research {

struct ReproduceRow {
  std::string what;
  std::optional<double> paper;  // absent: the paper does not give it
  std::optional<double> ours;   // absent: not measured; the note says why
  std::string unit;             // "ratio", "h", "s", "cores", "count"; changes are ratios: -0.08
  std::string note;             // against what, or why it differs; may be empty
  bool partial = false;         // ours is of a part alone: of a step's first kernels
};

// One table or figure of a paper, and what became of it.
enum class PaperItemState {
  kShown,      // ours stands beside theirs
  kPartly,     // a part of it does, and the answer says which
  kNot,        // not reproduced, and the answer says why
  kNoFigures,  // theirs has no result to set ours beside: a drawing, a list of machines
};

struct PaperItem {
  std::string id;     // "Table IX"
  std::string shows;  // what it is in the paper, a phrase
  PaperItemState state = PaperItemState::kNot;
  // What ours is, or why there is none: whole sentences. A row's name in braces, as "{busy_slot}",
  // is our figure of that row in the experiment's table.
  std::string answer;
  std::string command;  // that shows ours; may be empty
};

// A table of the paper with ours in it, as text.
struct PaperGrid {
  std::string id;     // "Table IX": one of the items
  std::string title;  // what the cells are
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as wide as `columns`
};

struct Experiment {
  std::string name;
  std::string title;
  std::vector<std::string> assumptions;  // one sentence each
  std::vector<ReproduceRow> rows;
  std::vector<PaperItem> items = {};  // every table and figure of the paper, in its order
  std::vector<PaperGrid> grids = {};
};

struct ReproduceOptions {
  int seeds = 20;  // of the experiments that draw; the first so many of 1, 2, 3, ...
  // Told now and then how far an experiment is.
  std::function<void(std::string_view what, std::size_t done, std::size_t of)> progress;
  // Folder with the data sets of others; empty: SHAREWELL_TEST_DATA, else ../shared/data. What is
  // not there is left out, and an assumption says so.
  std::string data;
  // Of yeung alone: records of a mix that was run on a real machine, one a policy
  // (docs/formats/run.md). They are set beside the paper instead of the simulated cluster.
  std::vector<std::string> real;
  // Of yeung alone: instead of the paper's figures, the makespan over the slowdown bound, with
  // shares of the SMs and without.
  bool frontier = false;
  // Nothing from the data sets of others: the same figures on a machine that has none.
  bool own_data_only = false;
  // Of yeung alone: another part of the paper instead of its Table 4: "predictor" (Table 3) or
  // "optimum" (its future work); empty: Table 4 and the figures.
  std::string part;
};

std::vector<std::string_view> ExperimentNames();  // in the seeds' order

// Our figure of a row as a sentence quotes it: "1.14" times, "8.3 %", "16" cores, "40.08 h"; "-"
// where it is not known.
std::string ShortFigure(const ReproduceRow& row);

// An unknown name, or seeds below 1, is a usage error. The answers of the items are filled in.
core::Result<Experiment> Reproduce(const std::string& name, const ReproduceOptions& options);

}  // namespace sharewell::research
