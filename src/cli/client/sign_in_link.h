// A link that opens the dashboard and signs its user in.
#pragma once

#include <string>

#include "cli/client/server_client.h"
#include "core/result.h"

namespace sharewell::cli {

struct SignInLink {
  std::string user, link;
  std::string answer;  // the server's, as it is

  std::string Note() const;  // "signs ann in once, within 10 minutes"
};

// A fresh one for whoever the kernel says is asking. Fails where the server is asked by a URL.
core::Result<SignInLink> AskSignInLink(const ServerClient& client);

}  // namespace sharewell::cli
