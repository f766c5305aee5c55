#include "cli/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "cli/args/command.h"
#include "cli/args/help.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/suggest.h"
#include "core/version.h"
#include "platform/files/text.h"
#include "store/postgres/password.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;
using platform::Quoted;

ExitCode CodeOf(core::ErrorKind kind) {
  switch (kind) {
    case core::ErrorKind::kUsage:
      return kUsage;
    case core::ErrorKind::kFailed:
      return kFailed;
    case core::ErrorKind::kAbsent:
      return kAbsent;
  }
  return kFailed;
}

Result<ExitCode> Print(std::string_view text) {
  RETURN_IF_ERROR(WriteText(text));
  return kOk;
}

const CommandEntry* Find(const Program& program, std::string_view name) {
  const auto all = program.commands;
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::string_view HintFor(const Program& program, std::string_view word) {
  for (const auto& [known, hint] : program.hints) {
    if (word == known) return hint;
  }
  return {};
}

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// CLI11 knows what is wrong, we know the words. What it did not recognise comes first: a mistyped
// flag is the reason why another one is missing.
std::string InWords(const CLI::ParseError& error, const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (word.size() < 2 || word.front() != '-') continue;
    const std::string flag = word.substr(0, word.find('='));
    return fmt::format("unknown flag {}{}", Quoted(flag), core::DidYouMean(flag, FlagNames(app)));
  }
  if (const auto rest = app.remaining(); !rest.empty()) {
    return fmt::format("unexpected argument {}", Quoted(rest.front()));
  }
  const std::string_view what = error.what();
  for (const CLI::Option* option : app.get_options()) {
    const std::string name =
        option->get_positional() ? option->get_type_name() : option->get_name();
    const bool named = what.substr(0, name.size() + 1) == name + ":";
    if (named && option->count() <= 1 && error.get_name() == "ArgumentMismatch") {
      return fmt::format("{} needs a value", name);
    }
    if (option->get_disable_flag_override() && what.find("flag override") != what.npos &&
        option->check_lname(std::string(what.substr(0, what.find(' '))))) {
      return fmt::format("{} takes no value", name);
    }
    if (option->get_required() && option->count() == 0) return fmt::format("{} is required", name);
    if (option->get_items_expected_max() == 1 && option->count() > 1) {
      return fmt::format("{} is given more than once", name);
    }
  }
  return error.what();
}

// CLI11 takes the next word as a value, whatever it is: "--trace --json" and "--trace= --json" must
// not lose a flag.
std::vector<std::string> WithEmptyValues(const std::vector<std::string>& args) {
  std::vector<std::string> out;
  for (const std::string& arg : args) {
    if (arg.size() > 3 && arg.substr(0, 2) == "--" && arg.find('=') == arg.size() - 1) {
      out.push_back(arg.substr(0, arg.size() - 1));
      out.emplace_back();
    } else {
      out.push_back(arg);
    }
  }
  return out;
}

Result<void> CheckNoFlagIsAValue(const CLI::App& app) {
  const auto flags = FlagNames(app);
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (std::find(flags.begin(), flags.end(), value) != flags.end()) {
        return UsageError("{} needs a value, and {} is a flag", option->get_name(), Quoted(value));
      }
    }
  }
  return {};
}

// Whoever lists processes reads command lines.
Result<void> CheckNoPasswordIsGiven(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->check_lname("store")) continue;
    for (const std::string& value : option->results()) {
      if (!store::HoldsPassword(value)) continue;
      return UsageError(
          "--store: {} has a password in it, which every user of this machine can read in the list "
          "of processes: change it, leave it out of the address, and keep it in ~/.pgpass or in "
          "the file that $PGPASSFILE names (mode 600)",
          store::WithoutPassword(value));
    }
  }
  return {};
}

Result<ExitCode> RunCommand(const Program& program, const CommandEntry& entry,
                            const std::vector<std::string>& given) {
  const auto command = entry.make();
  CLI::App app;
  app.set_help_flag("-h,--help", "show this help");
  command->AddFlags(app);
  std::vector<std::string>* line = command->CommandLine();
  const auto flags_end =
      line == nullptr ? given.end() : std::find(given.begin(), given.end(), "--");
  if (flags_end != given.end()) line->assign(flags_end + 1, given.end());
  std::vector<std::string> args = WithEmptyValues({given.begin(), flags_end});
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  std::string problem;
  try {
    app.parse(args);
  } catch (const CLI::CallForHelp&) {
    return Print(CommandHelp(program, entry, app));
  } catch (const CLI::ParseError& error) {
    problem = InWords(error, app);
    if (line != nullptr && flags_end == given.end() && !app.remaining().empty()) {
      problem += "; write the command to run after --";
    }
  }
  if (auto ok = CheckNoFlagIsAValue(app); !ok) problem = ok.error().message;
  if (auto ok = CheckNoPasswordIsGiven(app); !ok) problem = ok.error().message;
  if (!problem.empty()) {
    return UsageError("{}: {}\nTry '{} {} --help'.", entry.name, problem, program.name, entry.name);
  }
  return command->Run();
}

Result<ExitCode> Dispatch(const Program& program, const std::vector<std::string>& args) {
  if (args.empty()) {
    WriteErr(ProgramHelp(program, false));
    return kUsage;
  }
  const std::string& first = args.front();
  if (first == "-h" || first == "--help") return Print(ProgramHelp(program, false));
  if (first == "help") {
    if (args.size() == 1) return Print(ProgramHelp(program, false));
    if (args[1] == "--all") return Print(ProgramHelp(program, true));
    return Dispatch(program, {args[1], "--help"});
  }
  if (first == "--version") return Print(fmt::format("{} {}\n", program.name, core::kVersion));
  if (const CommandEntry* entry = Find(program, first)) {
    return RunCommand(program, *entry, {args.begin() + 1, args.end()});
  }
  std::vector<std::string> known;
  const bool flag = !first.empty() && first.front() == '-';
  if (flag) {
    known = {"--help", "--version"};
  } else {
    for (const auto& entry : program.commands) known.emplace_back(entry.name);
  }
  const std::string_view hint = HintFor(program, first);
  return UsageError("unknown {} {}{}\nTry '{} --help'.", flag ? "flag" : "command", Quoted(first),
                    hint.empty() ? core::DidYouMean(first, known) : hint, program.name);
}

}  // namespace

int RunProgram(const Program& program, const std::vector<std::string>& args) {
  NameProgram(program.name);
  ExitOnInterrupt();
  store::HideSecrets();
  try {
    const auto code = Dispatch(program, args);
    if (code) return *code;
    WriteError(code.error().message);
    return CodeOf(code.error().kind);
  } catch (const std::bad_alloc&) {
    WriteError("out of memory");
  } catch (const std::exception& error) {
    WriteError(fmt::format("internal error: {}", error.what()));
  }
  return kFailed;
}

}  // namespace sharewell::cli
