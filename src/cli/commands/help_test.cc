#include "cli/args/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/args/completion.h"
#include "cli/commands/commands.h"

namespace sharewell::cli {
namespace {

using ::testing::HasSubstr;

// What every command owes its user.
TEST(CommandTable, EveryCommandHasHelpAnExampleAndTypedFlags) {
  for (const CommandEntry& entry : SharewellProgram().commands) {
    CLI::App app;
    entry.make()->AddFlags(app);
    for (const CLI::Option* option : app.get_options()) {
      EXPECT_FALSE(option->get_description().empty()) << entry.name << " " << option->get_name();
      EXPECT_NE(option->get_type_name(), "TEXT") << entry.name << " " << option->get_name();
    }
    const std::string help = CommandHelp(SharewellProgram(), entry, app);
    EXPECT_THAT(help, HasSubstr("usage: sharewell " + std::string(entry.name)));
    EXPECT_THAT(std::string(entry.example), HasSubstr("sharewell " + std::string(entry.name)));
    EXPECT_THAT(ProgramHelp(SharewellProgram(), true), HasSubstr(std::string(entry.help)));
  }
}

TEST(CommandTable, TheCommandsOfAGroupStandTogether) {
  const std::string help = ProgramHelp(SharewellProgram(), true);
  for (const CommandEntry& entry : SharewellProgram().commands) {
    const std::string heading = "\n" + std::string(entry.group) + ":\n";
    const auto at = help.find(heading);
    ASSERT_NE(at, std::string::npos) << entry.name;
    EXPECT_EQ(help.find(heading, at + 1), std::string::npos) << entry.group << " is torn apart";
  }
}

TEST(CompletionScript, NamesEveryCommandInEveryShell) {
  for (const std::string& shell : Shells()) {
    const auto script = CompletionScript(SharewellProgram(), shell);
    ASSERT_TRUE(script) << shell;
    for (const CommandEntry& entry : SharewellProgram().commands) {
      EXPECT_THAT(*script, HasSubstr(std::string(entry.name))) << shell;
    }
    EXPECT_THAT(*script, HasSubstr("sharewell"));
    EXPECT_THAT(*script, HasSubstr("max-slowdown"));
    EXPECT_THAT(*script, HasSubstr("complement"));  // a policy
    EXPECT_THAT(*script, HasSubstr("philly"));      // a trace format
  }
  EXPECT_FALSE(CompletionScript(SharewellProgram(), "tcsh"));
}

}  // namespace
}  // namespace sharewell::cli
