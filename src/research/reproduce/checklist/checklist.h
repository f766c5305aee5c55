// Every table and figure of the five papers, in their order, and what became of each. A file for
// each paper. What stands here is prose: the figures are in the experiments' rows and grids, and an
// answer quotes a row by its name in braces.
#pragma once

#include <vector>

#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

std::vector<PaperItem> TakayamaItems();
std::vector<PaperItem> YeungItems();
std::vector<PaperItem> DubeItems();
std::vector<PaperItem> CodaItems();
std::vector<PaperItem> RyuItems();

// Puts figures in the place of the rows that the answers name. A row that is not there is an error:
// the answer is older than the experiment.
core::Result<void> FillAnswers(Experiment& experiment);

}  // namespace sharewell::research::reproduce
