#include "report/measure/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "core/text/plain_text.h"
#include "core/text/words.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using measure::HealthRow;
using measure::SecurityRow;
using measure::Soundness;
using measure::Standing;

constexpr std::size_t kStateWidth = 6;     // "absent", the longest
constexpr std::size_t kStandingWidth = 5;  // "wrong"

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

std::string_view StandingWord(Standing standing) {
  switch (standing) {
    case Standing::kGood:
      return "good";
    case Standing::kNote:
      return "note";
    case Standing::kWrong:
      break;
  }
  return "wrong";
}

// A table by section: `word` is the state of a row.
template <typename Row, typename Word>
std::string RowsText(const std::vector<Row>& rows, std::size_t width, std::size_t state_width,
                     const Word& word) {
  std::size_t longest = 0;
  for (const Row& row : rows) longest = std::max(longest, DisplayWidth(row.name));
  const std::size_t indent = 2 + longest + 2 + state_width + 2;
  std::string out;
  const std::string* section = nullptr;
  for (const Row& row : rows) {
    if (section == nullptr || *section != row.section) {
      out += fmt::format("{}{}\n", section == nullptr ? "" : "\n", row.section);
      section = &row.section;
    }
    const std::string pad(longest - DisplayWidth(row.name), ' ');
    out += fmt::format("  {}{}  {:{}}  {}\n", core::PlainText(row.name, " "), pad, word(row),
                       state_width, Wrapped(core::PlainText(row.what, " "), width, indent, indent));
    // On a line of its own and never broken, so that it can be copied.
    if (!row.mend.empty()) out += fmt::format("      mend: {}\n", core::PlainText(row.mend, " "));
  }
  return out;
}

// Where several rows say the same (no driver: no GPU, no counters), the later ones name the first;
// so does what mends them.
std::vector<HealthRow> EachFactOnce(std::vector<HealthRow> rows) {
  constexpr std::size_t kShort = 40;        // shorter than a hint to it
  std::map<std::string, std::string> said;  // by whom
  std::set<std::string> mended;
  for (HealthRow& row : rows) {
    const auto [first, fresh] = said.try_emplace(row.what, row.name);
    if (!fresh && row.what.size() > kShort) row.what = fmt::format("as with {}", first->second);
    if (!mended.insert(row.mend).second) row.mend.clear();
  }
  return rows;
}

template <typename Row, typename Word, typename More>
std::string RowsJson(const std::vector<Row>& rows, const Word& word, const More& more) {
  return JsonReport([&](json::Writer& out) {
    more(out);
    out.List("checks", rows, [&](const Row& row) {
      out.Object([&] {
        out.Field("section", row.section);
        out.Field("name", row.name);
        out.Field("state", word(row));
        out.Field("what", row.what);
        out.TextOrNull("mend", row.mend);
      });
    });
  });
}

std::string_view HealthWord(const HealthRow& row) { return SoundnessWord(row.soundness); }
std::string_view SecurityWord(const SecurityRow& row) { return StandingWord(row.standing); }

}  // namespace

std::string Verdict(const std::vector<HealthRow>& rows) {
  std::uint64_t gpus = 0;
  bool container = false, by_turns = false;
  std::vector<std::string> stops, improve;
  for (const HealthRow& row : rows) {
    const bool absent = row.soundness == Soundness::kAbsent;
    if (row.section == "GPUs" && row.name.starts_with("gpu ") && row.name != "gpu islands") {
      gpus += absent ? 0 : 1;
    }
    by_turns = by_turns || (row.name == "MPS" && absent);
    container = container || (row.section == "container runtimes" && !absent);
    if (absent && (row.name == "supervisor" || row.section == "store")) stops.push_back(row.name);
  }
  std::set<std::string> mended;  // two rows may lack the same
  for (const HealthRow& row : rows) {
    const bool needless = row.section == "container runtimes" && container;
    if (row.mend.empty() || needless || !mended.insert(row.mend).second) continue;
    improve.push_back(row.name);
  }
  std::string verdict =
      !stops.empty()
          ? fmt::format("not ready to run jobs: {} missing, see above", fmt::join(stops, " and "))
      : gpus == 0 ? "no GPU was found: ready to run jobs on CPUs, or to try everything on "
                    "simulated GPUs (`sharewell demo`)"
                  : fmt::format("ready to share {}{}", core::Count(gpus, "GPU"),
                                by_turns ? " by turns" : "");
  if (improve.empty()) return verdict + "; nothing to improve";
  return verdict + fmt::format("; {} to improve: {}", core::Count(improve.size(), "thing"),
                               fmt::join(improve, ", "));
}

std::string HealthText(const std::vector<HealthRow>& rows, std::size_t width) {
  return RowsText(EachFactOnce(rows), width, kStateWidth, HealthWord) + "\n" +
         Wrapped(core::PlainText(Verdict(rows), " "), width, 0) + "\n";
}

std::string HealthJson(const std::vector<HealthRow>& rows) {
  return RowsJson(rows, HealthWord,
                  [&](json::Writer& out) { out.Field("verdict", Verdict(rows)); });
}

std::string SecurityText(const std::vector<SecurityRow>& rows, std::size_t width) {
  const auto wrong = std::count_if(rows.begin(), rows.end(), [](const SecurityRow& row) {
    return row.standing == Standing::kWrong;
  });
  return RowsText(rows, width, kStandingWidth, SecurityWord) +
         (wrong == 0 ? std::string("\nnothing is wrong.\n")
                     : fmt::format("\n{} of {} {} wrong.\n", wrong, rows.size(),
                                   wrong == 1 ? "is" : "are"));
}

std::string SecurityJson(const std::vector<SecurityRow>& rows) {
  return RowsJson(rows, SecurityWord, [](json::Writer&) {});
}

}  // namespace sharewell::report
