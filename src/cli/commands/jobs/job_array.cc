#include "cli/commands/jobs/job_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/files/text.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr const char* kIndex = "index";

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 0) return std::nullopt;
  return value;
}

// "5-8": both ends.
std::optional<std::pair<std::int64_t, std::int64_t>> RangeOf(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = WholeNumber(text.substr(0, dash));
  const auto last = WholeNumber(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

Result<Axis> ParseAxis(const std::string& spec) {
  Axis axis{kIndex, {}};
  std::string_view values = spec;
  const auto equals = values.find('=');
  if (equals != std::string_view::npos) {
    axis.name = values.substr(0, equals);
    values.remove_prefix(equals + 1);
  }
  const auto wrong = [&](const std::string& why) {
    return UsageError(
        "--array: {} is not allowed: {}; give a range (0-9) or a name and its values "
        "(lr=0.1,0.01)",
        core::Quoted(spec), why);
  };
  if (!IsName(axis.name)) return wrong("a name has letters, digits, _ and -");
  if (const auto percent = values.rfind('%'); percent != std::string_view::npos) {
    const auto at_once = WholeNumber(values.substr(percent + 1));
    const bool fits = at_once && *at_once >= 1 && *at_once <= static_cast<int>(kMostOfArray);
    // "dropout=5%,10%" has percentages for values.
    if (!fits && equals == std::string_view::npos) {
      return wrong("behind % stands how many jobs may run at once, at least 1");
    }
    if (fits) {
      axis.at_once = static_cast<int>(*at_once);
      values = values.substr(0, percent);
    }
  }
  for (const std::string_view value : platform::SplitList(values, ',')) {
    const auto range = RangeOf(value);
    if (!range) {
      if (equals == std::string_view::npos && !WholeNumber(value)) {
        return wrong("without a name the values are whole numbers");
      }
      axis.values.emplace_back(value);
      continue;
    }
    if (range->second < range->first) return wrong("a range rises");
    if (range->second - range->first >= static_cast<std::int64_t>(kMostOfArray)) {
      return wrong(fmt::format("more than {} jobs", kMostOfArray));
    }
    for (auto i = range->first; i <= range->second; ++i) axis.values.push_back(std::to_string(i));
  }
  if (axis.values.empty()) return wrong("it has no value");
  return axis;
}

// Whether anything was replaced.
bool Replace(std::string& text, const std::string& name, const std::string& value) {
  const std::string mark = "{" + name + "}";
  bool any = false;
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += value.size()) {
    text.replace(at, mark.size(), value);
    any = true;
  }
  return any;
}

bool ReplaceIn(core::Submission& job, const std::vector<std::string>& given,
               const std::string& name, const std::string& value) {
  bool any = Replace(job.name, name, value);
  for (std::string& word : job.command) any = Replace(word, name, value) || any;
  for (auto& [variable, text] : job.environment) {
    if (std::find(given.begin(), given.end(), variable) == given.end()) continue;
    any = Replace(text, name, value) || any;
  }
  return any;
}

}  // namespace

Result<std::vector<Axis>> ParseAxes(const std::vector<std::string>& specs) {
  std::vector<Axis> axes;
  std::size_t all = 1;
  for (const std::string& spec : specs) {
    auto axis = ParseAxis(spec);
    RETURN_IF_ERROR(axis);
    const bool twice = std::any_of(axes.begin(), axes.end(),
                                   [&](const Axis& other) { return other.name == axis->name; });
    if (twice) return UsageError("--array: {} is given twice", core::Quoted(axis->name));
    const bool bounded = std::any_of(axes.begin(), axes.end(),
                                     [](const Axis& other) { return other.at_once.has_value(); });
    if (bounded && axis->at_once) {
      return UsageError("--array: how many run at once (%{}) is given twice; give it once",
                        *axis->at_once);
    }
    if (axis->values.size() > kMostOfArray / all) {
      return UsageError("--array: more than {} jobs; submit the sweep in parts", kMostOfArray);
    }
    all *= axis->values.size();
    axes.push_back(std::move(*axis));
  }
  return axes;
}

Result<std::vector<core::Submission>> Expand(const core::Submission& one,
                                             const std::vector<Axis>& axes,
                                             const std::vector<std::string>& given,
                                             const std::string& id) {
  std::vector<core::Submission> jobs;
  const bool own_index =
      std::none_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.name == kIndex; });
  std::size_t all = 1;
  std::optional<int> at_once;
  for (const Axis& axis : axes) {
    all *= axis.values.size();
    if (axis.at_once) at_once = axis.at_once;
  }
  for (std::size_t index = 0; index < all; ++index) {
    core::Submission job = one;
    std::string label;
    std::size_t rest = index;
    std::size_t block = all;
    for (const Axis& axis : axes) {
      block /= axis.values.size();
      const std::string& value = axis.values[rest / block];
      rest %= block;
      if (!ReplaceIn(job, given, axis.name, value) && axis.name != kIndex) {
        return UsageError(
            "--array: nothing uses {{{}}}: all would be the same; put it into the "
            "command or a value of --env",
            axis.name);
      }
      if (!label.empty()) label += ' ';
      label += axis.name == kIndex ? value : axis.name + "=" + value;
    }
    if (own_index) ReplaceIn(job, given, kIndex, std::to_string(index));
    if (job.name == one.name) job.name = core::DisplayName(job) + " " + label;
    job.environment.emplace_back("SHAREWELL_ARRAY_INDEX", std::to_string(index));
    job.array = fmt::format("{}_{}", id, index);
    job.array_at_once = at_once;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace sharewell::cli
