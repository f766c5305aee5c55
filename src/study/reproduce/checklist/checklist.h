// Every table and figure of the five papers, in their order, and what became of each. A file for
// each paper. What stands here is prose: the figures themselves are in the experiments' rows and
// grids.
#pragma once

#include <vector>

#include "study/reproduce/reproduce.h"

namespace sharewell::study::reproduce {

std::vector<PaperItem> TakayamaItems();
std::vector<PaperItem> YeungItems();
std::vector<PaperItem> DubeItems();
std::vector<PaperItem> CodaItems();
std::vector<PaperItem> RyuItems();

}  // namespace sharewell::study::reproduce
