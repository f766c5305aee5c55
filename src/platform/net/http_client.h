// HttpGet: one GET over HTTP or HTTPS, with limits on everything that a server could draw out.
//
// Any thread; no state is kept between calls. Nothing else of a URL is followed than http and
// https: not file:, not by a redirect either.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::platform {

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers = {};  // "Accept: text/plain"
  core::Seconds connect_timeout{3};
  core::Seconds timeout{10};  // of the whole exchange
  std::size_t most_bytes = std::size_t{64} << 20;
};

struct HttpAnswer {
  int status = 0;
  std::string content_type;  // may be empty
  std::string body;
};

// Any status is an answer; Fetch() below wants 200. Errors: what is no http(s) URL is a usage
// error; a host that cannot be found, reached or heard within the time is absent; a body over the
// limit, or a broken answer, is a failure.
core::Result<HttpAnswer> HttpGet(const HttpRequest& request);

// The body of a 200; any other status is an error that says which it was.
core::Result<std::string> Fetch(const HttpRequest& request);

bool LooksLikeUrl(std::string_view text);     // has a scheme: "http://..."
std::string HostOfUrl(std::string_view url);  // without user, port and path; empty when it has none

}  // namespace sharewell::platform
