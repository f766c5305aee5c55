#include "cli/args/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "report/text/table.h"

namespace sharewell::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kGap = 2;

// Two columns, the first at least `left` wide, the second one wrapped.
std::string TwoColumns(const std::vector<std::pair<std::string, std::string>>& rows,
                       std::size_t left = 0) {
  for (const auto& row : rows) left = std::max(left, row.first.size());
  const std::size_t at = kGap + left + kGap;
  std::string out;
  for (const auto& [name, text] : rows) {
    out += fmt::format("{:{}}{:{}}{:{}}{}\n", "", kGap, name, left, "", kGap,
                       report::Wrapped(text, kWidth, at, at));
  }
  return out;
}

std::string Indented(std::string_view lines) {
  std::string out = "  ";
  for (const char c : lines) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out + "\n";
}

bool IsPositional(const CLI::Option& option) { return option.get_positional(); }

std::string Names(const CLI::Option& option) {
  if (IsPositional(option)) return option.get_type_name();
  std::string text;
  for (const auto& name : option.get_snames()) text += "-" + name + ", ";
  for (const auto& name : option.get_lnames()) text += "--" + name;
  if (!option.get_type_name().empty()) text += " " + option.get_type_name();
  return text;
}

std::vector<CommandEntry> Listed(const Program& program, bool all) {
  std::vector<CommandEntry> listed;
  const auto& everyday = program.everyday;
  for (const CommandEntry& entry : program.commands) {
    if (all || everyday.empty() ||
        std::find(everyday.begin(), everyday.end(), entry.name) != everyday.end()) {
      listed.push_back(entry);
    }
  }
  return listed;
}

// Each group with its heading, and a blank line after it.
std::string CommandGroups(const std::vector<CommandEntry>& listed) {
  std::size_t left = 0;
  for (const CommandEntry& entry : listed) left = std::max(left, entry.name.size());
  std::string out;
  for (auto first = listed.begin(); first != listed.end();) {
    const auto last =
        std::find_if(first, listed.end(), [&](const auto& e) { return e.group != first->group; });
    std::vector<std::pair<std::string, std::string>> rows;
    for (auto entry = first; entry != last; ++entry) rows.emplace_back(entry->name, entry->help);
    out += fmt::format("{}:\n{}\n", first->group, TwoColumns(rows, left));
    first = last;
  }
  return out;
}

}  // namespace

std::string ProgramHelp(const Program& program, bool all) {
  const std::string_view example = program.commands.front().example;
  const auto listed = Listed(program, all);
  const std::size_t more = program.commands.size() - listed.size();
  const std::string others =
      more == 0 ? "" : fmt::format("`{} help --all` lists {} more commands.\n", program.name, more);
  return fmt::format("{}\n\nusage: {} COMMAND [options]\n\n", program.purpose, program.name) +
         CommandGroups(listed) + "options:\n" +
         TwoColumns({{"-h, --help", "show this help, or the help of a command"},
                     {"--version", "show the version"}}) +
         "\nexample:\n" + Indented(example.substr(0, example.find('\n'))) +
         fmt::format(
             "\n{}`{} help COMMAND` tells more about a command. Pages that are named docs/... are "
             "in "
             "the\nsources, and in /usr/share/doc/sharewell where the package is installed.\n",
             others, program.name);
}

std::string CommandHelp(const Program& program, const CommandEntry& entry, const CLI::App& app) {
  std::string usage = fmt::format("usage: {} {}", program.name, entry.name);
  std::vector<std::pair<std::string, std::string>> rows;
  bool optional = false;
  for (const CLI::Option* option : app.get_options()) {
    const bool required = option->get_required();
    if (IsPositional(*option)) {
      usage += required ? " " + Names(*option) : " [" + Names(*option) + "]";
    } else if (required) {
      usage += " " + Names(*option);
    } else {
      optional = true;
    }
    std::string text = option->get_description();
    if (required && !IsPositional(*option)) text += " (required)";
    if (!option->get_default_str().empty()) {
      text += fmt::format(" (default: {})", option->get_default_str());
    }
    rows.emplace_back(Names(*option), text);
  }
  if (optional) usage += " [options]";
  if (entry.make()->CommandLine() != nullptr) usage += " -- COMMAND...";
  std::string out = fmt::format("{}\n\n", usage);
  out += fmt::format("{}{}.\n", static_cast<char>(entry.help.front() - 'a' + 'A'),
                     entry.help.substr(1));
  if (!entry.details.empty()) out += fmt::format("\n{}\n", entry.details);
  out += "\noptions:\n" + TwoColumns(rows);
  out +=
      fmt::format("\nexample{}:\n", entry.example.find('\n') == std::string_view::npos ? "" : "s");
  return out + Indented(entry.example);
}

}  // namespace sharewell::cli
