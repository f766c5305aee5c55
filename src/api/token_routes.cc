// Tokens of one's own: made, listed and revoked through the Unix socket, where the kernel says who
// asks. A token makes no token: one that leaked would otherwise live on in others.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/access/tokens.h"
#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/json_answer.h"
#include "core/text/quoted.h"
#include "platform/clock/wall_clock.h"

namespace sharewell::api {
namespace {

constexpr std::ptrdiff_t kMostTokens = 100;     // of one user
constexpr std::size_t kMostOfAllUsers = 9'000;  // the rest of what a file holds is for admins

http::HttpResponse Create(const std::string& file, const core::Account& who,
                          const std::string& body) {
  const auto label = ParseTokenLabel(body);
  if (!label) return Problem(400, label.error().message);
  const auto tokens = ReadTokens(file);
  if (!tokens) return Problem(500, tokens.error().message);
  const auto own = std::count_if(tokens->begin(), tokens->end(),
                                 [&](const Token& token) { return token.account.uid == who.uid; });
  if (own >= kMostTokens) {
    return Problem(429, fmt::format("you have {} tokens, and {} are the most; revoke one first "
                                    "(`sharewell token list`)",
                                    own, kMostTokens));
  }
  if (tokens->size() >= kMostOfAllUsers && !who.admin) {
    return Problem(503,
                   fmt::format("there are {} tokens on this server, as many as users may have "
                               "together; ask an admin to revoke some (`sharewell token list`)",
                               tokens->size()));
  }
  core::Account account = who;
  account.admin = false;  // a token with more rights is root's to give
  const auto secret = CreateToken(file, account, *label, platform::UnixNow());
  if (!secret) return Problem(500, secret.error().message);
  auto answer = SchemaAnswer([&](json::Writer& writer) {
    writer.Field("id", secret->substr(0, secret->find('.')));
    writer.Field("user", who.name);
    writer.Field("secret", *secret);
  });
  answer.status = 201;
  return answer;
}

http::HttpResponse List(const std::string& file, const core::Account& who) {
  auto tokens = ReadTokens(file);
  if (!tokens) return Problem(500, tokens.error().message);
  if (!who.admin) {
    std::erase_if(*tokens, [&](const Token& token) { return token.account.uid != who.uid; });
  }
  return SchemaAnswer([&](json::Writer& writer) {
    writer.List("tokens", *tokens,
                [&](const Token& token) { writer.Object([&] { WriteToken(writer, token); }); });
  });
}

http::HttpResponse Revoke(const std::string& file, const core::Account& who,
                          const std::string& id) {
  const auto tokens = ReadTokens(file);
  if (!tokens) return Problem(500, tokens.error().message);
  const auto found = std::find_if(tokens->begin(), tokens->end(),
                                  [&](const Token& token) { return token.id == id; });
  if (found == tokens->end() || (!who.admin && found->account.uid != who.uid)) {
    return Problem(404, fmt::format("you have no token {}; `sharewell token list` shows yours",
                                    core::Quoted(id)));
  }
  const auto gone = RevokeToken(file, id);
  if (!gone) return Problem(500, gone.error().message);
  return SchemaAnswer([&](json::Writer& writer) { WriteToken(writer, *gone); });
}

}  // namespace

void ApiImpl::AddTokenRoutes() {
  using Answer = std::function<http::HttpResponse(const std::string& file, const core::Account& who,
                                                  const http::HttpRequest& request)>;
  const auto add = [this](const char* method, const std::string& path, Answer answer) {
    Route(method, path,
          [this, answer = std::move(answer)](http::HttpRequest request, const Who& who,
                                             const http::Responder& responder) {
            if (!who || !request.peer.uid) {
              return responder.Answer(Problem(
                  403, "tokens are made and listed through the server's Unix socket alone"));
            }
            Later(responder, [this, answer, request = std::move(request), who = *who, responder] {
              responder.Answer(answer(options.access.token_file, who, request));
            });
          });
  };
  add("GET", "/api/v1/tokens",
      [](const auto& file, const auto& who, const http::HttpRequest&) { return List(file, who); });
  add("POST", "/api/v1/tokens",
      [](const auto& file, const auto& who, const http::HttpRequest& request) {
        return Create(file, who, request.body);
      });
  add("POST", "/api/v1/tokens/{id}/revoke",
      [](const auto& file, const auto& who, const http::HttpRequest& request) {
        return Revoke(file, who, request.parameters.front());
      });
}

}  // namespace sharewell::api
