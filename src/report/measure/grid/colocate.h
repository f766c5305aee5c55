// The result of a co-location: the packing matrix as a table, CSV (docs/formats/pairs.md, so that
// simulate and train read it), heat map and scatter, and JSON.
#pragma once

#include <string>
#include <vector>

#include "measure/grid/colocate_result.h"
#include "report/measure/grid/sweep.h"

namespace sharewell::report {

std::string ColocateTable(const measure::ColocateResult& result);
std::string ColocateJson(const measure::ColocateResult& result);

struct NamedCsv {
  std::string name, csv;
};
// pairs.csv, triples.csv, co-locations-4.csv ...: one for each size that there is.
std::vector<NamedCsv> GroupsCsv(const measure::ColocateResult& result);

// packing.svg, where there are pairs, and slowdown.svg: slowdown against summed utilisation, as in
// Yeung et al.'s figure 5a.
std::vector<NamedSvg> ColocateCharts(const measure::ColocateResult& result);

}  // namespace sharewell::report
