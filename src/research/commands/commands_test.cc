#include "research/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/args/completion.h"
#include "cli/args/help.h"

namespace sharewell::research {
namespace {

using ::testing::HasSubstr;

// What every command owes its user, as in `sharewell`.
TEST(LabCommandTable, EveryCommandHasHelpAnExampleAndTypedFlags) {
  const std::string help = cli::ProgramHelp(LabProgram(), true);
  for (const cli::CommandEntry& entry : LabProgram().commands) {
    CLI::App app;
    entry.make()->AddFlags(app);
    for (const CLI::Option* option : app.get_options()) {
      EXPECT_FALSE(option->get_description().empty()) << entry.name << " " << option->get_name();
      EXPECT_NE(option->get_type_name(), "TEXT") << entry.name << " " << option->get_name();
    }
    const std::string words = "sharewell-lab " + std::string(entry.name);
    EXPECT_THAT(cli::CommandHelp(LabProgram(), entry, app), HasSubstr("usage: " + words));
    EXPECT_THAT(std::string(entry.example), HasSubstr(words));
    EXPECT_THAT(help, HasSubstr(std::string(entry.help)));
    EXPECT_THAT(help, HasSubstr("\n" + std::string(entry.group) + ":\n"));
  }
}

TEST(LabCompletionScript, KnowsTheOptimaBesideThePolicies) {
  for (const std::string& shell : cli::Shells()) {
    const auto script = cli::CompletionScript(LabProgram(), shell);
    ASSERT_TRUE(script) << shell;
    EXPECT_THAT(*script, HasSubstr("sharewell-lab"));
    EXPECT_THAT(*script, HasSubstr("complement"));  // a policy
    EXPECT_THAT(*script, HasSubstr("optimal optimal-shared")) << shell;
  }
}

}  // namespace
}  // namespace sharewell::research
