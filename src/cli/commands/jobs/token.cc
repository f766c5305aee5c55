#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "api/access/access.h"
#include "api/access/tokens.h"
#include "cli/args/store_flag.h"
#include "cli/args/when.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "json/value.h"
#include "json/writer.h"
#include "platform/clock/wall_clock.h"
#include "platform/process/user_account.h"
#include "report/measure/series.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr std::array<const char*, 3> kTokenActions = {"create", "list", "revoke"};

// Whose token it is to be; an empty name is the caller's.
Result<core::Account> AccountFor(const std::string& name) {
  const std::string whose = name.empty() ? platform::UserName(::getuid()) : name;
  const auto account = api::AccountNamed(whose);
  if (!account && name.empty()) return core::Account{whose, ::getuid(), ::getgid()};
  if (!account) {
    return UsageError("--user: there is no user {} on this machine", core::Quoted(name));
  }
  if (account->uid != ::geteuid() && ::geteuid() != 0) {
    return UsageError(
        "--user: only root can create a token for {}; leave --user out to create your own",
        core::Quoted(name));
  }
  return *account;
}

std::string TokenTable(const std::vector<api::Token>& tokens) {
  using report::Align;
  report::Table table({{"id", Align::kLeft},
                       {"user", Align::kLeft},
                       {"admin", Align::kLeft},
                       {"created (UTC)", Align::kLeft},
                       {"label", Align::kLeft}});
  for (const api::Token& token : tokens) {
    table.Row({token.id, token.account.name, token.account.admin ? "yes" : "no",
               report::UtcTime(token.created), token.label});
  }
  return tokens.empty() ? "no tokens\n" : table.Text();
}

class TokenCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("action", action_, "what to do")
        ->type_name(fmt::format("{}", fmt::join(kTokenActions, "|")))
        ->required();
    app.add_option("id", id_, "revoke: the token to revoke")->type_name("ID");
    app.add_option("--user", user_,
                   "create: the user that it acts for (default: you); with --state")
        ->type_name("USER");
    app.add_flag("--admin", admin_, "create: let it act on all jobs and GPUs; with --state")
        ->disable_flag_override();
    app.add_option("--label", label_, "create: a note on what it is for")->type_name("WORDS");
    app.add_option("--store", store_, "work on the file beside this store, without a server")
        ->type_name("FILE");
    app.add_option("--state", state_, "work on the file in this state folder, without a server")
        ->type_name("DIR");
    flags_.Add(app);
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
    if (auto asked = AskServer()) return PrintOut(*asked);
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
  // Absent: there is no server to ask, or what is asked is for whoever may write its folder.
  std::optional<Result<std::string>> AskServer() {
    if (!store_.empty() || !state_.empty() || !user_.empty() || admin_) return std::nullopt;
    const auto client = flags_.Find();
    if (!client || !client->Get("")) return std::nullopt;
    if (action_ == "list") return ListFrom(*client);
    if (action_ == "revoke") return RevokeAt(*client);
    return CreateAt(*client);
  }

  Result<std::string> CreateAt(const ServerClient& client) const {
    const auto body = client.Post(
        "/tokens", json::ObjectLine([&](json::Writer& out) { out.Field("label", label_); }));
    RETURN_IF_ERROR(body);
    const auto told = json::Document::Parse(*body);
    const std::string secret = TextAt(json::RootOf(told), "secret");
    if (secret.empty()) return core::FailedError("the server answered without a token");
    SayShownOnce(TextAt(told->root(), "id"), TextAt(told->root(), "user"));
    if (flags_.json) return JsonText(*body);
    return secret + "\n";
  }

  Result<std::string> ListFrom(const ServerClient& client) const {
    const auto body = client.Get("/tokens");
    RETURN_IF_ERROR(body);
    if (flags_.json) return JsonText(*body);
    const auto told = json::Document::Parse(*body);
    std::vector<api::Token> tokens;
    for (const json::Value entry : json::RootOf(told)["tokens"].items()) {
      api::Token token;
      token.id = TextAt(entry, "id");
      token.account.name = TextAt(entry, "user");
      token.account.admin = entry["admin"].Bool().value_or(false);
      token.created = entry["created_ms"].Whole().value_or(0);
      token.label = TextAt(entry, "label");
      tokens.push_back(std::move(token));
    }
    return TokenTable(tokens);
  }

  Result<std::string> RevokeAt(const ServerClient& client) const {
    const auto body = client.Post("/tokens/" + QueryText(id_) + "/revoke", "");
    RETURN_IF_ERROR(body);
    if (flags_.json) return JsonText(*body);
    const auto told = json::Document::Parse(*body);
    const json::Value root = json::RootOf(told);
    return fmt::format("token {} of {} is revoked\n", root["id"].Text().value_or(id_),
                       TextAt(root, "user"));
  }

  static std::string TextAt(json::Value from, const char* key) {
    return std::string(from[key].Text().value_or(""));
  }

  static void SayShownOnce(const std::string& id, const std::string& whose) {
    WriteErr(fmt::format(
        "sharewell: token {} for {}; it is shown this once: keep it in a file that you alone may "
        "read,\nand name that in SHAREWELL_TOKEN_FILE\n",
        id, whose));
  }

  Result<std::string> Create() {
    auto account = AccountFor(user_);
    RETURN_IF_ERROR(account);
    account->admin = admin_;
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    const auto secret = api::CreateToken(path_, *account, label_, platform::UnixNow());
    RETURN_IF_ERROR(secret);
    const std::string id = secret->substr(0, secret->find('.'));
    SayShownOnce(id, account->name + (admin_ ? ", an admin" : ""));
    if (flags_.json) {
      return report::JsonReport([&](json::Writer& out) {
        out.Field("id", id);
        out.Field("user", account->name);
        out.Field("secret", *secret);
      });
    }
    return *secret + "\n";
  }

  Result<std::string> List() {
    const auto tokens = api::ReadTokens(path_);
    RETURN_IF_ERROR(tokens);
    if (flags_.json) {
      return report::JsonReport([&](json::Writer& out) {
        out.List("tokens", *tokens, [&](const api::Token& token) {
          out.Object([&] { api::WriteToken(out, token); });
        });
      });
    }
    return TokenTable(*tokens);
  }

  Result<std::string> Revoke() {
    const auto gone = api::RevokeToken(path_, id_);
    RETURN_IF_ERROR(gone);
    if (flags_.json) {
      return report::JsonReport([&](json::Writer& out) { api::WriteToken(out, *gone); });
    }
    return fmt::format("token {} of {} is revoked\n", gone->id, gone->account.name);
  }

  std::string action_, id_, user_, label_, store_, state_, path_;
  bool admin_ = false;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewTokenCommand() { return std::make_unique<TokenCommand>(); }

}  // namespace sharewell::cli
