#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "api/access/access.h"
#include "api/access/tokens.h"
#include "cli/args/store_flag.h"
#include "cli/args/when.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "platform/clock/wall_clock.h"
#include "report/measure/series.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr std::array<const char*, 3> kTokenActions = {"create", "list", "revoke"};

Result<core::Account> AccountNamed(const std::string& name) {
  std::vector<char> room(65536);
  passwd entry{};
  passwd* found = nullptr;
  if (name.empty()) {
    ::getpwuid_r(::getuid(), &entry, room.data(), room.size(), &found);
    if (found == nullptr) return core::Account{api::UserName(::getuid()), ::getuid(), ::getgid()};
  } else {
    ::getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
  }
  if (found == nullptr) {
    return UsageError("--user: there is no user {} on this machine", core::Quoted(name));
  }
  if (entry.pw_uid != ::geteuid() && ::geteuid() != 0) {
    return UsageError(
        "--user: only root can create a token for {}; leave --user out to create your own",
        core::Quoted(name));
  }
  return core::Account{entry.pw_name, entry.pw_uid, entry.pw_gid};
}

class TokenCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("action", action_, "what to do")
        ->type_name(fmt::format("{}", fmt::join(kTokenActions, "|")))
        ->required();
    app.add_option("id", id_, "revoke: the token to revoke")->type_name("ID");
    app.add_option("--user", user_, "create: the user that it acts for (default: you)")
        ->type_name("USER");
    app.add_flag("--admin", admin_, "create: let it act on all jobs and GPUs")
        ->disable_flag_override();
    app.add_option("--label", label_, "create: a note on what it is for")->type_name("WORDS");
    app.add_option("--store", store_, "the server's store")->type_name("FILE");
    app.add_option("--state", state_, "the server's state folder (default: as `serve` chooses it)")
        ->type_name("DIR");
    app.add_flag("--json", json_, "list: print JSON")->disable_flag_override();
  }

  Result<ExitCode> Run() override {
    const std::vector<std::string> known(kTokenActions.begin(), kTokenActions.end());
    if (std::find(known.begin(), known.end(), action_) == known.end()) {
      return UsageError("token: {} is not allowed; give create, list or revoke{}",
                        core::Quoted(action_), core::DidYouMean(action_, known));
    }
    if ((action_ == "revoke") != !id_.empty()) {
      return UsageError(
          "token: give an ID to revoke, and none to the other actions; `sharewell token list` "
          "shows the IDs");
    }
    if (action_ == "create" && state_.empty()) {
      RETURN_IF_ERROR(CheckStoreIsMeant(store_));
    }
    path_ = StatePlace(state_, StorePlace(store_)) + "/" + std::string(api::kTokenFile);
    const auto text = action_ == "create" ? Create() : action_ == "list" ? List() : Revoke();
    RETURN_IF_ERROR(text);
    RETURN_IF_ERROR(WriteOut(*text));
    return kOk;
  }

 private:
  Result<std::string> Create() {
    auto account = AccountNamed(user_);
    RETURN_IF_ERROR(account);
    account->admin = admin_;
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    const auto secret = api::CreateToken(path_, *account, label_, platform::UnixNow());
    RETURN_IF_ERROR(secret);
    WriteErr(fmt::format(
        "sharewell: token {} for {}{}; it is shown this once: keep it in a file that you alone may "
        "read,\nand name that in SHAREWELL_TOKEN_FILE\n",
        secret->substr(0, secret->find('.')), account->name, admin_ ? ", an admin" : ""));
    return *secret + "\n";
  }

  Result<std::string> List() {
    const auto tokens = api::ReadTokens(path_);
    RETURN_IF_ERROR(tokens);
    if (json_) {
      report::Json list = report::Json::array();
      for (const api::Token& token : *tokens) {
        list.push_back({{"id", token.id},
                        {"user", token.account.name},
                        {"uid", token.account.uid},
                        {"admin", token.account.admin},
                        {"created_ms", token.created},
                        {"label", token.label}});
      }
      return report::Document({{"schema", report::kSchema}, {"tokens", list}});
    }
    using report::Align;
    report::Table table({{"id", Align::kLeft},
                         {"user", Align::kLeft},
                         {"admin", Align::kLeft},
                         {"created (UTC)", Align::kLeft},
                         {"label", Align::kLeft}});
    for (const api::Token& token : *tokens) {
      table.Row({token.id, token.account.name, token.account.admin ? "yes" : "no",
                 report::UtcTime(token.created), token.label});
    }
    return tokens->empty() ? "no tokens\n" : table.Text();
  }

  Result<std::string> Revoke() {
    const auto gone = api::RevokeToken(path_, id_);
    RETURN_IF_ERROR(gone);
    return fmt::format("token {} of {} is revoked\n", gone->id, gone->account.name);
  }

  std::string action_, id_, user_, label_, store_, state_, path_;
  bool admin_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewTokenCommand() { return std::make_unique<TokenCommand>(); }

}  // namespace sharewell::cli
