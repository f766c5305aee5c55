// `sharewell-lab reproduce` as a page: for each paper what became of every table and figure, the
// paper's tables with ours in them, and every row with theirs beside ours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "research/reproduce/reproduce.h"

namespace sharewell::research {

std::string PapersPage(const std::vector<Experiment>& experiments, std::string_view made);

}  // namespace sharewell::research
