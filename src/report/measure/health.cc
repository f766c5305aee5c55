#include "report/measure/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using study::HealthRow;
using study::Soundness;

constexpr std::size_t kHealthWidth = 100;
constexpr std::size_t kStateWidth = 6;  // "absent", the longest

std::string_view SoundnessWord(Soundness soundness) {
  switch (soundness) {
    case Soundness::kWorks:
      return "works";
    case Soundness::kPartly:
      return "partly";
    case Soundness::kAbsent:
      break;
  }
  return "absent";
}

std::string Printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

}  // namespace

std::string HealthText(const std::vector<HealthRow>& rows) {
  std::size_t longest = 0;
  for (const HealthRow& row : rows) longest = std::max(longest, DisplayWidth(row.name));
  const std::size_t indent = 2 + longest + 2 + kStateWidth + 2;
  std::string out;
  const std::string* section = nullptr;
  int working = 0;
  for (const HealthRow& row : rows) {
    if (section == nullptr || *section != row.section) {
      out += fmt::format("{}{}\n", section == nullptr ? "" : "\n", row.section);
      section = &row.section;
    }
    const std::string pad(longest - DisplayWidth(row.name), ' ');
    out +=
        fmt::format("  {}{}  {:{}}  {}\n", Printable(row.name), pad, SoundnessWord(row.soundness),
                    kStateWidth, Wrapped(Printable(row.what), kHealthWidth, indent, indent));
    // On a line of its own and never broken, so that it can be copied.
    if (!row.mend.empty()) out += fmt::format("      mend: {}\n", Printable(row.mend));
    if (row.soundness != Soundness::kAbsent) ++working;
  }
  return out + fmt::format("\n{} of {} work, at least in part.\n", working, rows.size());
}

std::string HealthJson(const std::vector<HealthRow>& rows) {
  return JsonReport([&](json::Writer& out) {
    out.List("checks", rows, [&](const HealthRow& row) {
      out.Object([&] {
        out.Field("section", row.section);
        out.Field("name", row.name);
        out.Field("state", SoundnessWord(row.soundness));
        out.Field("what", row.what);
        out.TextOrNull("mend", row.mend);
      });
    });
  });
}

}  // namespace sharewell::report
