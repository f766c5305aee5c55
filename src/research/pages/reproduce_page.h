// docs/reproduce.md: a text with places in it that the experiments' figures go into.
//
//   {{checklist NAME}}    every table and figure of the paper and what became of it, as a table
//   {{counts}}            how many of all papers' are shown, and how many not: one sentence
//   {{grid NAME ID}}      the grid of that table or figure
//   {{figures NAME A,B}}  the rows that the paper gives a figure for; where words are given, those
//                         whose names begin with one of them
//   {{NAME.ROW}}          our figure of one row, short
//
// The first four stand on a line of their own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research {

// A place that names what is not there, and a grid that no place names, are errors.
core::Result<std::string> ExperimentsPage(const std::vector<Experiment>& experiments,
                                          std::string_view text);

// What became of the tables and figures of some papers.
struct PaperCounts {
  int shown = 0, partly = 0, not_shown = 0, no_result = 0;
  std::size_t rows = 0;  // figures of ours

  int items() const { return shown + partly + not_shown + no_result; }
};
PaperCounts CountsOf(const Experiment& experiment);
PaperCounts CountsOf(const std::vector<Experiment>& experiments);

// "shown", "partly", "not reproduced", "no result".
std::string_view PaperItemWord(PaperItemState state);

// A row's figure by its unit: "8.24 %", "1.140x", "29m 49s"; "-" where it is not known.
std::string ExperimentFigure(const std::optional<double>& value, const std::string& unit);

}  // namespace sharewell::research
