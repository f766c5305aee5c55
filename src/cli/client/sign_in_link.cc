#include "cli/client/sign_in_link.h"

#include <fmt/format.h>

#include "core/text/quoted.h"
#include "json/value.h"

namespace sharewell::cli {

std::string SignInLink::Note() const {
  return fmt::format("signs {} in once, within 10 minutes", user);
}

core::Result<SignInLink> AskSignInLink(const ServerClient& client) {
  const auto body = client.Post("/sign-in/link", "");
  RETURN_IF_ERROR(body);
  const auto told = json::Document::Parse(*body);
  const json::Value root = json::RootOf(told);
  SignInLink made{std::string(root["user"].Text().value_or("")),
                  std::string(root["link"].Text().value_or("")), *body};
  if (made.link.empty()) return core::FailedError("the server answered without a link");
  return made;
}

}  // namespace sharewell::cli
