#include "cli/args/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/args/command.h"
#include "platform/files/text.h"
#include "policy/registry.h"

namespace sharewell::cli {
namespace {

// What may stand where a flag's type name stands in the help.
struct Values {
  enum Kind {
    kNothing,
    kWords,
    kList,
    kFiles,
    kFolders
  } kind = kNothing;  // kList: with commas between
  std::vector<std::string> words = {};
};

std::vector<std::string> PolicyNames() {
  std::vector<std::string> names;
  for (const auto& entry : policy::Entries()) {
    const std::string name(entry.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// A type name that lists its words ("exact|noisy:S") is completed with them; a word's part in
// capitals is for the user to say, but POLICY stands for every policy. "WORD,...": several.
Values ValuesOf(std::string_view type) {
  if (type == "FILE" || type == "FILE|SPEC" || type == "PATH|URL") return {Values::kFiles};
  if (type == "DIR") return {Values::kFolders};
  Values values{Values::kWords};
  if (constexpr std::string_view kMore = ",...";
      type.substr(0, 6) == "POLICY" && type.substr(type.size() - kMore.size()) == kMore) {
    values = {Values::kList, PolicyNames()};
    type.remove_suffix(kMore.size());
  }
  for (const std::string_view word : platform::SplitList(type, '|')) {
    const auto capital =
        std::find_if(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (capital != word.begin()) values.words.emplace_back(word.begin(), capital);
  }
  return values.words.empty() ? Values{} : values;
}

struct Flag {
  std::string name;  // "--trace"; empty: what stands without a flag
  std::string help;
  bool takes_value = false;
  Values values;
};

struct Described {
  std::string name;
  std::string help;
  std::vector<Flag> flags;
};

std::vector<Described> Describe(const Program& program) {
  std::vector<Described> all;
  for (const CommandEntry& entry : program.commands) {
    CLI::App app;
    app.set_help_flag("--help", "show this help");
    const auto command = entry.make();
    command->AddFlags(app);
    Described described{std::string(entry.name), std::string(entry.help), {}};
    for (const CLI::Option* option : app.get_options()) {
      described.flags.push_back(
          {option->get_positional() ? "" : "--" + option->get_lnames().front(),
           option->get_description(), option->get_items_expected_max() > 0,
           ValuesOf(option->get_type_name())});
    }
    all.push_back(std::move(described));
  }
  return all;
}

std::string Join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// The name of the script's function.
std::string FunctionOf(std::string_view program) {
  return "_" + Replaced(std::string(program), "-", "_");
}

std::string BashReply(const Values& values) {
  switch (values.kind) {
    case Values::kNothing:
      return ":";
    case Values::kWords:
      return fmt::format("_sharewell_words '{}'", Join(values.words));
    case Values::kList:
      return fmt::format("_sharewell_list '{}'", Join(values.words));
    case Values::kFiles:
      return "_sharewell_files -f";
    case Values::kFolders:
      return "_sharewell_files -d";
  }
  return ":";
}

std::string Bash(std::string_view program, const std::vector<Described>& commands) {
  std::string names;
  std::string cases;
  for (const Described& command : commands) {
    names += command.name + " ";
    std::vector<std::string> flags;
    std::string values;
    std::string otherwise;
    for (const Flag& flag : command.flags) {
      if (flag.name.empty()) {
        // Of several the first: it says what the others mean.
        if (otherwise.empty()) {
          otherwise =
              fmt::format("      [[ $cur == -* ]] || {{ {}; return; }}\n", BashReply(flag.values));
        }
        continue;
      }
      flags.push_back(flag.name);
      if (flag.takes_value)
        values += fmt::format("        {}) {}; return ;;\n", flag.name, BashReply(flag.values));
    }
    cases += fmt::format("    {})\n", command.name);
    if (!values.empty()) cases += fmt::format("      case $prev in\n{}      esac\n", values);
    cases += otherwise + fmt::format("      _sharewell_words '{}' ;;\n", Join(flags));
  }
  return fmt::format(R"(# bash completion for {program}
_sharewell_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }}
_sharewell_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}}
_sharewell_list() {{
  local before=
  [[ $cur == *,* ]] && before=${{cur%,*}},
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${{cur##*,}}")
  compopt -o nospace 2>/dev/null
}}
{function}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    _sharewell_words '{names}--help --version'
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}  esac
}}
complete -F {function} {program}
)",
                     fmt::arg("program", program), fmt::arg("function", FunctionOf(program)),
                     fmt::arg("names", names), fmt::arg("cases", cases));
}

// Inside a zsh _arguments specification, itself in single quotes.
std::string ZshText(const std::string& text) {
  std::string out = Replaced(text, "'", "'\\''");
  for (const char* special : {":", "[", "]"})
    out = Replaced(out, special, std::string("\\") + special);
  return out;
}

std::string ZshAction(const Values& values) {
  switch (values.kind) {
    case Values::kNothing:
      return "";
    case Values::kWords:
      return "(" + ZshText(Join(values.words)) + ")";
    case Values::kList:
      return "{_values -s , policy " + Join(values.words) + "}";
    case Values::kFiles:
      return "_files";
    case Values::kFolders:
      return "_files -/";
  }
  return "";
}

std::string Zsh(std::string_view program, const std::vector<Described>& commands) {
  std::string names;
  std::string cases;
  for (const Described& command : commands) {
    names += fmt::format("      '{}:{}'\n", command.name, ZshText(command.help));
    cases += fmt::format("    {})\n      _arguments \\\n", command.name);
    int place = 0;
    for (const Flag& flag : command.flags) {
      if (flag.name.empty()) {
        cases += fmt::format("        '{}:{}:{}' \\\n", ++place, ZshText(flag.help),
                             ZshAction(flag.values));
      } else {
        cases += fmt::format("        '{}[{}]{}' \\\n", flag.name, ZshText(flag.help),
                             flag.takes_value ? ":value:" + ZshAction(flag.values) : "");
      }
    }
    cases += "        && return ;;\n";
  }
  return fmt::format(R"(#compdef {program}
{function}() {{
  if (( CURRENT == 2 )); then
    local -a commands=(
{names}    )
    _describe command commands
    _arguments '--help[show help]' '--version[show the version]'
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{cases}  esac
}}
if [[ $funcstack[1] == {function} ]]; then
  {function} "$@"
else
  compdef {function} {program}
fi
)",
                     fmt::arg("program", program), fmt::arg("function", FunctionOf(program)),
                     fmt::arg("names", names), fmt::arg("cases", cases));
}

std::string FishText(const std::string& text) {
  return "'" + Replaced(Replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string Fish(std::string_view program, const std::vector<Described>& commands) {
  std::string out = fmt::format(
      "# fish completion for {0}\n"
      "complete -c {0} -f\n"
      "complete -c {0} -n __fish_use_subcommand -l help -d 'show help'\n"
      "complete -c {0} -n __fish_use_subcommand -l version -d 'show the version'\n",
      program);
  for (const Described& command : commands) {
    out += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d {}\n", program,
                       command.name, FishText(command.help));
    for (const Flag& flag : command.flags) {
      out +=
          fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", program, command.name);
      if (!flag.name.empty()) out += fmt::format(" -l {}", flag.name.substr(2));
      if (flag.takes_value && !flag.name.empty()) out += " -r";
      switch (flag.values.kind) {
        case Values::kNothing:
          break;
        case Values::kWords:
          out += fmt::format(" -a {}", FishText(Join(flag.values.words)));
          break;
        case Values::kList:
          out += fmt::format(" -a \"(__fish_append , {})\"", Join(flag.values.words));
          break;
        case Values::kFiles:
          out += " -F";
          break;
        case Values::kFolders:
          out += " -a '(__fish_complete_directories)'";
          break;
      }
      out += fmt::format(" -d {}\n", FishText(flag.help));
    }
  }
  return out;
}

struct Shell {
  std::string_view name;
  std::string (*script)(std::string_view program, const std::vector<Described>&);
};
constexpr std::array<Shell, 3> kShells = {{{"bash", Bash}, {"zsh", Zsh}, {"fish", Fish}}};

}  // namespace

std::vector<std::string> Shells() {
  std::vector<std::string> names;
  for (const Shell& shell : kShells) names.emplace_back(shell.name);
  return names;
}

std::optional<std::string> CompletionScript(const Program& program, std::string_view shell) {
  for (const Shell& known : kShells) {
    if (known.name == shell) return known.script(program.name, Describe(program));
  }
  return std::nullopt;
}

}  // namespace sharewell::cli
