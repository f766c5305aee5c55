// HttpSend: one exchange over HTTP or HTTPS, or over HTTP through a Unix socket, with limits on
// everything that a server could draw out.
//
// Any thread; no state is kept between calls. Nothing else of a URL is followed than http and
// https: not file:, not by a redirect either; and only a GET without a token follows any.
#pragma once

#include <cstddef>
#include <functional>
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
  core::Seconds timeout{10};  // of the whole exchange; 0: none
  std::size_t most_bytes = std::size_t{64} << 20;
  std::string method = "GET";
  std::string body = {};         // of a POST; its type is for `headers` to say
  std::string unix_socket = {};  // file to connect to; the URL then only says the path
  std::string token = {};        // sent as "Authorization: Bearer TOKEN", to this host alone
  std::string ca_file = {};      // certificates to trust instead of the system's
  std::vector<std::string> wanted = {};  // headers of the answer that are asked for
  // The body of a 200 as it comes, instead of HttpAnswer::body and its limit; false ends the
  // exchange without an error.
  std::function<bool(std::string_view)> on_body = {};
  // Now and then, once a second at least, while nothing comes; false likewise.
  std::function<bool()> on_wait = {};
};

struct HttpAnswer {
  int status = 0;
  std::string content_type;  // may be empty
  std::string body;
  std::vector<std::string> wanted = {};  // as asked for; empty where it was not there
};

// Any status is an answer; Fetch() below wants 200. Errors: what is no http(s) URL is a usage
// error; a host or socket that cannot be found, reached or heard within the time is absent; a body
// over the limit, or a broken answer, is a failure.
core::Result<HttpAnswer> HttpSend(const HttpRequest& request);

// The body of a 200; any other status is an error that says which it was.
core::Result<std::string> Fetch(const HttpRequest& request);

bool LooksLikeUrl(std::string_view text);     // has a scheme: "http://..."
std::string HostOfUrl(std::string_view url);  // without user, port and path; empty when it has none

}  // namespace sharewell::platform
