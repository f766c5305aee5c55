#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "policy/registry.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

std::string AsTable(const std::vector<policy::Entry>& entries) {
  using report::Align;
  report::Table table({{"kind", Align::kLeft},
                       {"name", Align::kLeft},
                       {"what it does", Align::kLeft},
                       {"from", Align::kLeft}});
  std::string_view kind;
  for (const auto& entry : entries) {
    if (entry.kind != kind) table.Gap();
    table.Row({std::string(entry.kind), std::string(entry.name), std::string(entry.help),
               std::string(entry.paper)});
    kind = entry.kind;
  }
  return table.Text();
}

std::string AsJson(const std::vector<policy::Entry>& entries) {
  return report::JsonReport([&](json::Writer& out) {
    out.List("policies", entries, [&](const policy::Entry& entry) {
      out.Object([&] {
        out.Field("kind", entry.kind);
        out.Field("name", entry.name);
        out.Field("help", entry.help);
        out.TextOrNull("paper", entry.paper);
      });
    });
  });
}

class PoliciesCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  core::Result<ExitCode> Run() override {
    const auto entries = policy::Entries();
    RETURN_IF_ERROR(json_ ? WriteOut(AsJson(entries)) : WriteText(AsTable(entries)));
    return kOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewPoliciesCommand() { return std::make_unique<PoliciesCommand>(); }

}  // namespace sharewell::cli
