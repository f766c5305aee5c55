#include "research/pages/reproduce_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/text/quoted.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::research {
namespace {

using core::FailedError;
using core::Result;

constexpr std::size_t kPageWidth = 120;

std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += fmt::format(" {} |", Cell(cell));
  return line + '\n';
}

std::string MarkdownTable(const std::vector<std::string>& columns,
                          const std::vector<std::vector<std::string>>& rows) {
  std::string out = MarkdownRow(columns) + '|';
  for (std::size_t i = 0; i < columns.size(); ++i) out += "---|";
  out += '\n';
  for (const auto& row : rows) out += MarkdownRow(row);
  return out;
}

// "Figure 8" and "Figure 9" become "Figure 8 to 9", and that "Figure 8 to 10".
std::string JoinedIds(const std::string& first, const std::string& next) {
  const std::string joined = first.substr(0, first.find(" to "));
  return fmt::format("{} to {}", joined, next.substr(next.find(' ') + 1));
}

// Items with nothing to reproduce are counted, and left out. Neighbours with the same answer and
// command share a line.
std::string Checklist(const Experiment& experiment) {
  std::vector<std::vector<std::string>> rows;
  const PaperItem* before = nullptr;
  for (const PaperItem& item : experiment.items) {
    if (item.state == PaperItemState::kNoFigures) {
      before = nullptr;
      continue;
    }
    if (before != nullptr && before->state == item.state && before->answer == item.answer &&
        before->command == item.command) {
      rows.back()[0] = JoinedIds(rows.back()[0], item.id);
      rows.back()[1] += "; " + item.shows;
    } else {
      rows.push_back({item.id, item.shows, fmt::format("**{}**", PaperItemWord(item.state)),
                      item.answer, item.command.empty() ? "" : fmt::format("`{}`", item.command)});
    }
    before = &item;
  }
  return MarkdownTable({"in the paper", "what it shows", "here", "ours, or why not", "command"},
                       rows);
}

// `beginnings`: separated by commas; empty: all rows.
std::string PaperFigures(const Experiment& experiment, const std::string& beginnings) {
  const auto wanted = [&](const std::string& what) {
    std::string_view left = beginnings;
    while (true) {
      const auto comma = left.find(',');
      if (what.starts_with(left.substr(0, comma))) return true;
      if (comma == std::string_view::npos) return false;
      left.remove_prefix(comma + 1);
    }
  };
  std::vector<std::vector<std::string>> rows;
  for (const ReproduceRow& row : experiment.rows) {
    if (!row.paper || !wanted(row.what)) continue;
    rows.push_back({fmt::format("`{}`", row.what), ExperimentFigure(row.paper, row.unit),
                    ExperimentFigure(row.ours, row.unit), row.note});
  }
  return MarkdownTable({"row", "the paper", "ours", "note"}, rows);
}

std::string Counts(const std::vector<Experiment>& experiments) {
  const PaperCounts counts = CountsOf(experiments);
  return report::Wrapped(
             fmt::format("Of the {} tables and figures of the five papers, {} are shown beside "
                         "ours, {} partly, {} are not reproduced, and {} have no result to "
                         "reproduce (drawings, lists of machines).",
                         counts.items(), counts.shown, counts.partly, counts.not_shown,
                         counts.no_result),
             kPageWidth, 0) +
         '\n';
}

class PageFiller {
 public:
  explicit PageFiller(const std::vector<Experiment>& experiments) : experiments_(experiments) {}

  Result<std::string> Fill(std::string_view text) {
    std::string out;
    while (true) {
      const auto open = text.find("{{");
      out += text.substr(0, open);
      if (open == std::string_view::npos) break;
      const auto close = text.find("}}", open);
      if (close == std::string_view::npos) {
        return FailedError("the page has a place that does not end: {}",
                           core::Quoted(std::string(text.substr(open, 40))));
      }
      const auto place = Place(std::string(text.substr(open + 2, close - open - 2)));
      RETURN_IF_ERROR(place);
      out += *place;
      text.remove_prefix(close + 2);
      // A table ends its own last line.
      if (place->ends_with('\n') && text.starts_with('\n')) text.remove_prefix(1);
    }
    for (const Experiment& experiment : experiments_) {
      for (const PaperGrid& grid : experiment.grids) {
        if (!placed_.contains({experiment.name, grid.id})) {
          return FailedError("the page has no place for {} of {}: add {{{{grid {} {}}}}}", grid.id,
                             experiment.name, experiment.name, grid.id);
        }
      }
    }
    return out;
  }

 private:
  Result<const Experiment*> Find(const std::string& name, const std::string& place) const {
    for (const Experiment& experiment : experiments_) {
      if (experiment.name == name) return &experiment;
    }
    return FailedError("the page names an experiment that was not run: {}", core::Quoted(place));
  }

  Result<std::string> Place(const std::string& place) {
    if (place == "counts") return Counts(experiments_);
    const auto space = place.find(' ');
    if (space == std::string::npos) return OneFigure(place);
    const std::string kind = place.substr(0, space);
    std::string name = place.substr(space + 1), id;
    if (const auto next = name.find(' '); next != std::string::npos) {
      id = name.substr(next + 1);
      name.resize(next);
    }
    const auto experiment = Find(name, place);
    RETURN_IF_ERROR(experiment);
    if (kind == "checklist" && id.empty()) return Checklist(**experiment);
    if (kind == "figures") return PaperFigures(**experiment, id);
    if (kind != "grid")
      return FailedError("the page has an unknown place: {}", core::Quoted(place));
    for (const PaperGrid& grid : (*experiment)->grids) {
      if (grid.id != id) continue;
      placed_.insert({name, id});
      return report::Wrapped(fmt::format("**{}**: {}.", grid.id, grid.title), kPageWidth, 0) +
             "\n\n" + MarkdownTable(grid.columns, grid.rows);
    }
    return FailedError("the page names a grid that the experiment has not: {}",
                       core::Quoted(place));
  }

  Result<std::string> OneFigure(const std::string& place) const {
    const auto dot = place.find('.');
    const auto experiment = Find(place.substr(0, dot), place);
    RETURN_IF_ERROR(experiment);
    for (const ReproduceRow& row : (*experiment)->rows) {
      if (dot != std::string::npos && row.what == place.substr(dot + 1)) return ShortFigure(row);
    }
    return FailedError("the page names a row that the experiment has not: {}", core::Quoted(place));
  }

  const std::vector<Experiment>& experiments_;
  std::set<std::pair<std::string, std::string>> placed_;
};

}  // namespace

PaperCounts CountsOf(const Experiment& experiment) {
  PaperCounts counts;
  counts.rows = experiment.rows.size();
  for (const PaperItem& item : experiment.items) {
    // What a paper tells without a table or figure has a line too, but is none.
    if (!item.id.starts_with("Table ") && !item.id.starts_with("Figure ")) continue;
    switch (item.state) {
      case PaperItemState::kShown:
        ++counts.shown;
        break;
      case PaperItemState::kPartly:
        ++counts.partly;
        break;
      case PaperItemState::kNot:
        ++counts.not_shown;
        break;
      case PaperItemState::kNoFigures:
        ++counts.no_result;
        break;
    }
  }
  return counts;
}

PaperCounts CountsOf(const std::vector<Experiment>& experiments) {
  PaperCounts all;
  for (const Experiment& experiment : experiments) {
    const PaperCounts one = CountsOf(experiment);
    all.shown += one.shown;
    all.partly += one.partly;
    all.not_shown += one.not_shown;
    all.no_result += one.no_result;
    all.rows += one.rows;
  }
  return all;
}

std::string_view PaperItemWord(PaperItemState state) {
  constexpr std::string_view kWords[] = {"shown", "partly", "not reproduced", "no result"};
  return kWords[static_cast<std::size_t>(state)];
}

std::string ExperimentFigure(const std::optional<double>& value, const std::string& unit) {
  return report::Or(value, [&unit](double v) {
    if (unit == "ratio") return fmt::format("{:.2f} %", v * 100);
    if (unit == "times") return fmt::format("{:.3f}x", v);
    if (unit == "s") return report::Duration(core::Seconds(v));
    if (unit == "count") return fmt::format("{:.4g}", v);
    if (unit == "correlation") return fmt::format("r {:.2f}", v);
    if (unit == "rmsle") return fmt::format("{:.3f}", v);
    return fmt::format("{:.4g}{}{}", v, unit.empty() ? "" : " ", unit);
  });
}

Result<std::string> ExperimentsPage(const std::vector<Experiment>& experiments,
                                    std::string_view text) {
  return PageFiller(experiments).Fill(text);
}

}  // namespace sharewell::research
