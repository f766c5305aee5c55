// Takayama et al.'s nine job types, and those of its tables that stand beside ours cell by cell.
#pragma once

#include <array>
#include <vector>

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

constexpr double Clock(double hours, double minutes, double seconds) {
  return hours * 3600 + minutes * 60 + seconds;
}

struct TakayamaType {
  const char* name;
  double cpu, busy;   // Table VI, on the V100
  double p100, v100;  // Table IX, seconds
  const char* ratio;  // as the paper prints it: cut off, not rounded, here and there
};

inline constexpr std::array<TakayamaType, 9> kTakayamaTypes{{
    {"IC", 0.051, 0.954, Clock(4, 33, 4), Clock(3, 1, 13), "0.66"},
    {"SSD", 0.099, 0.598, Clock(3, 12, 18), Clock(3, 9, 12), "0.98"},
    {"OD", 0.049, 0.745, Clock(2, 57, 51), Clock(2, 23, 26), "0.81"},
    {"RM", 0.067, 0.443, Clock(1, 9, 7), Clock(1, 9, 34), "1.01"},
    {"SA", 0.014, 0.820, Clock(1, 48, 14), Clock(1, 22, 50), "0.76"},
    {"RT", 0.015, 0.955, Clock(4, 5, 28), Clock(2, 48, 18), "0.68"},
    {"TL", 0.015, 0.839, Clock(4, 29, 21), Clock(2, 59, 55), "0.67"},
    {"SR", 0.032, 0.651, Clock(15, 7, 34), Clock(10, 53, 32), "0.72"},
    {"RI", 0.114, 0.627, Clock(6, 8, 37), Clock(5, 46, 0), "0.93"},
}};

// Tables VI (with figures 16 and 17), VIII and IX; a row for each type of Table IX, and their mean
// error.
core::Result<void> TakayamaTables(Experiment& experiment);

}  // namespace sharewell::research::reproduce
