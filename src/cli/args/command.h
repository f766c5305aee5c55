// Command: one word of a program (`sharewell simulate`). It adds its flags to a CLI11 app, which
// help and completion read, and runs once they are parsed. One object is used for one run.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::cli {

// What the program tells the shell.
enum ExitCode {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kAbsent = 3,
  kFinishedWithFailures = 4,
  kInterrupted = 130,
};

class Command {
 public:
  virtual ~Command() = default;
  // Adds flags, each with a type name that tells help and completion what may stand there: FILE,
  // DIR, "POLICY,...", or the words themselves: "exact|noisy:S".
  virtual void AddFlags(CLI::App& app) = 0;
  // Where the words behind "--" go, as they were given; null: it takes none.
  virtual std::vector<std::string>* CommandLine() { return nullptr; }
  // Writes its result to stdout (terminal.h) and nothing else there.
  virtual core::Result<ExitCode> Run() = 0;
};

struct CommandEntry {
  std::string_view group;  // a phrase, as --help heads it; the commands of a group stand together
  std::string_view name;
  std::string_view help;     // one line that starts with a verb
  std::string_view details;  // a paragraph or more, below the usage line; may be empty
  std::string_view example;  // one or more lines of shell
  std::unique_ptr<Command> (*make)();
};

// A word that is none of the program's commands, and what to say of it. For words that other
// programs taught our users, too far from ours for a guess by letters.
struct WordHint {
  std::string_view word;
  std::string_view hint;
};

// What runs commands: `sharewell`, and `sharewell-lab` of research/.
struct Program {
  std::string_view name;
  std::string_view purpose;                // a sentence
  std::span<const CommandEntry> commands;  // in the order they are shown in
  std::span<const WordHint> hints;
  // What --help lists; the others come with `help --all`. Empty: it lists all.
  std::span<const std::string_view> everyday = {};
};

}  // namespace sharewell::cli
