// The names by which DCGM has called its fields. Ids are stable, names are not: 4.6 renamed many,
// 4.7 added the same figures in other units (NVIDIA/DCGM, dcgm_fields.h).
#pragma once

#include <span>
#include <string_view>

namespace sharewell::imports {

struct DcgmField {
  int id;
  std::string_view name;     // one that may be exported
  std::string_view classic;  // the one of before 4.6, which core::Metric::exported has
  double to_classic = 1;     // its value times this is the classic one's
};

std::span<const DcgmField> DcgmFields();

// Null: not in the table (a classic name that was never changed is not).
const DcgmField* FindDcgmField(std::string_view name);

// What DCGM writes for "no value", "not found", "not supported" and "not permitted", in any of its
// three number types.
bool IsDcgmBlank(double value);

}  // namespace sharewell::imports
