#include "report/simulation/best_for_whom.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/text/words.h"
#include "report/simulation/group_times.h"
#include "simulation/summary.h"

namespace sharewell::report {
namespace {

using simulation::GroupTimes;
using simulation::Spread;
using simulation::Summary;

constexpr double kNoDifference = 0.01;

// A figure of each policy over the seeds; less is better.
using Figures = std::vector<std::optional<Spread>>;

// How much less `a` is than `b`, by seed: the same seed draws the same jobs for both.
std::optional<double> Below(const Spread& a, const Spread& b) {
  std::vector<std::optional<double>> less;
  for (std::size_t s = 0; s < a.values.size(); ++s) {
    if (b.values[s] <= 0) return std::nullopt;
    less.emplace_back(1 - a.values[s] / b.values[s]);
  }
  const auto spread = simulation::SpreadOf(less);
  if (!spread || spread->mean <= std::max(kNoDifference, spread->deviation)) return std::nullopt;
  return spread->mean;
}

struct Verdict {
  std::vector<std::size_t> best;      // alike; empty: nobody differs
  std::optional<std::size_t> beaten;  // who the difference is told of
  double below = 0;                   // how much less than that one's
};

// Absent where a policy does not have the figure.
std::optional<Verdict> JudgeFigures(const Figures& figures) {
  for (const auto& figure : figures) {
    if (!figure) return std::nullopt;
  }
  const auto least =
      std::min_element(figures.begin(), figures.end(),
                       [](const auto& a, const auto& b) { return a->mean < b->mean; });
  Verdict verdict;
  for (std::size_t p = 0; p < figures.size(); ++p) {
    const auto below = Below(**least, *figures[p]);
    if (!below) {
      verdict.best.push_back(p);
    } else if (!verdict.beaten || (*verdict.beaten != 0 && *below < verdict.below)) {
      // The first policy where it is beaten, else the next best.
      verdict.beaten = p;
      verdict.below = *below;
    }
  }
  if (!verdict.beaten) verdict.best.clear();
  return verdict;
}

std::string PercentText(double share) { return fmt::format("{:.0f} %", 100 * share); }

class Words {
 public:
  explicit Words(std::vector<std::string> names) : names_(std::move(names)) {}

  std::string Of(const Verdict& verdict) const {
    if (!verdict.beaten) return "no difference";
    return fmt::format("{}, {} below {}", Best(verdict), PercentText(verdict.below),
                       names_[*verdict.beaten]);
  }
  // Against the first policy: "share -15 %"; where that is the best, "slot (share +6 %)".
  std::string Brief(const Verdict& verdict) const {
    if (!verdict.beaten) return "no difference";
    if (*verdict.beaten == 0)
      return fmt::format("{} −{}", Best(verdict), PercentText(verdict.below));
    return fmt::format("{} ({} +{})", Best(verdict), names_[*verdict.beaten],
                       PercentText(1 / (1 - verdict.below) - 1));
  }
  const std::string& Name(std::size_t policy) const { return names_[policy]; }

 private:
  std::string Best(const Verdict& verdict) const {
    std::vector<std::string> best;
    for (const std::size_t p : verdict.best) best.push_back(names_[p]);
    return fmt::format("{}", fmt::join(best, " or "));
  }

  std::vector<std::string> names_;
};

template <class Value>
Figures FiguresBy(const std::vector<PolicyRuns>& policies, const Value& value) {
  Figures figures;
  for (const PolicyRuns& runs : policies) {
    std::vector<std::optional<double>> values;
    for (const Summary* summary : runs) values.push_back(value(*summary));
    figures.push_back(simulation::SpreadOf(values));
  }
  return figures;
}

std::string SizesLine(const std::vector<PolicyRuns>& policies, const Words& words) {
  std::vector<std::string> parts;
  for (const simulation::JobSize& size : simulation::kSizes) {
    const auto verdict = JudgeFigures(FiguresBy(policies, [&](const Summary& s) {
      const GroupTimes* group = FindGroup(s.by_size, size.name);
      return group != nullptr ? group->jct_mean : std::nullopt;
    }));
    if (verdict) parts.push_back(fmt::format("{}: {}", size.in_words, words.Brief(*verdict)));
  }
  if (parts.size() < 2) return {};
  return fmt::format("by size, against {}: {}", words.Name(0), fmt::join(parts, "; "));
}

std::string UsersLine(const std::vector<PolicyRuns>& policies, const Words& words) {
  // By user: a mean completion of each policy and seed.
  std::map<std::string_view, std::vector<std::vector<std::optional<double>>>> users;
  for (std::size_t p = 0; p < policies.size(); ++p) {
    for (const Summary* summary : policies[p]) {
      for (const GroupTimes& user : summary->by_user) {
        auto& columns = users[user.name];
        columns.resize(policies.size());
        columns[p].push_back(user.jct_mean);
      }
    }
  }
  if (users.size() < 2) return {};
  std::vector<std::size_t> best(policies.size(), 0);
  std::size_t alike = 0;
  for (const auto& [name, columns] : users) {
    Figures figures;
    for (const auto& values : columns) figures.push_back(simulation::SpreadOf(values));
    const auto verdict = JudgeFigures(figures);
    if (verdict && verdict->best.size() == 1) {
      ++best[verdict->best.front()];
    } else {
      ++alike;
    }
  }
  std::vector<std::size_t> order(policies.size());
  for (std::size_t p = 0; p < order.size(); ++p) order[p] = p;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return best[a] > best[b]; });
  std::vector<std::string> parts;
  for (const std::size_t p : order) {
    if (best[p] > 0) parts.push_back(fmt::format("{} for {}", words.Name(p), best[p]));
  }
  if (alike > 0) parts.push_back(fmt::format("none alone for {}", alike));
  return fmt::format("of {}: {}", core::Count(users.size(), "user"), fmt::join(parts, ", "));
}

}  // namespace

bool IsChoice(const Summary& summary) {
  return !summary.history &&
         std::find(std::begin(simulation::kOptima), std::end(simulation::kOptima),
                   summary.policy) == std::end(simulation::kOptima);
}

std::vector<std::string> BestForWhom(const std::vector<PolicyRuns>& policies) {
  std::vector<PolicyRuns> choices;
  std::vector<std::string> names;
  for (const PolicyRuns& runs : policies) {
    const Summary& first = *runs.front();
    if (!IsChoice(first)) continue;
    choices.push_back(runs);
    names.push_back(first.policy);
  }
  if (choices.size() < 2) return {};
  const auto mean = JudgeFigures(FiguresBy(choices, [](const Summary& s) { return s.jct.mean; }));
  if (!mean) return {};
  const Words words(std::move(names));
  std::string first = "best mean completion: " + words.Of(*mean);
  if (const auto late =
          JudgeFigures(FiguresBy(choices, [](const Summary& s) { return s.jct.p99; }))) {
    first += "; 99th percentile: " + words.Of(*late);
  }
  std::vector<std::string> lines = {std::move(first)};
  for (std::string line : {SizesLine(choices, words), UsersLine(choices, words)}) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  const std::size_t seeds = choices.front().size();
  lines.push_back(
      seeds > 1 ? fmt::format("(means over {} seeds; what is within their standard deviation, "
                              "or 1 %, counts as no difference)",
                              seeds)
                : "(one seed, 1 % counts as no difference; `simulate --seeds 5` shows what is "
                  "chance)");
  return lines;
}

}  // namespace sharewell::report
