// Signing in to the dashboard: a link with a code that works once, for whoever asks through the
// Unix socket, and what the page gets for the code. A link stands in a terminal, never in a log:
// browsers do not send what is behind '#'.
#include <fmt/format.h>

#include <chrono>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/json_answer.h"
#include "platform/clock/wall_clock.h"

namespace sharewell::api {
namespace {

// Whose wrong codes are counted together.
std::string AskingFrom(const http::Peer& peer) {
  return peer.counted_uid ? fmt::format("uid {}", *peer.counted_uid) : peer.address;
}

}  // namespace

void ApiImpl::AddSignInRoutes() {
  const std::string path(kSignInPath);
  Route("POST", path + "/link",
        [this](const http::HttpRequest& request, const Who& who, const http::Responder& responder) {
          if (!who || !request.peer.uid) {
            return responder.Answer(
                Problem(403, "links that sign in are made through the server's Unix socket alone"));
          }
          const std::string address = options.dashboard ? options.dashboard() : std::string();
          if (address.empty()) {
            return responder.Answer(Problem(
                501,
                "this server has no dashboard: it listens at no address for browsers "
                "(`sharewell serve --listen`), or was built without it (SHAREWELL_WEB=OFF)"));
          }
          const auto code = access.sign_ins().NewCode(*who, std::chrono::steady_clock::now());
          if (!code) return responder.Answer(Problem(500, code.error().message));
          auto answer = SchemaAnswer([&](json::Writer& writer) {
            writer.Field("user", who->name);
            writer.Field("link", address + "#code=" + *code);
            const std::chrono::milliseconds lasts = SignIns::kCodeLasts;
            writer.Field("expires_ms", platform::UnixNow() + lasts.count());
          });
          answer.status = 201;
          responder.Answer(answer);
        });
  Route("POST", path,
        [this](const http::HttpRequest& request, const Who&, const http::Responder& responder) {
          const auto code = ParseSignInCode(request.body);
          if (!code) return responder.Answer(Problem(400, code.error().message));
          const auto session = access.sign_ins().Exchange(*code, AskingFrom(request.peer),
                                                          std::chrono::steady_clock::now());
          if (!session) return responder.Answer(RefusalAnswer(session.error()));
          auto answer = SchemaAnswer([&](json::Writer& writer) {
            writer.Field("user", session->account.name);
            writer.Field("secret", session->secret);
          });
          answer.status = 201;
          answer.headers.emplace_back("Cache-Control", "no-store");
          responder.Answer(answer);
        });
}

}  // namespace sharewell::api
