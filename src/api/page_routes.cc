// The dashboard: a few files that are built into the program, at / and /dashboard/. They tell
// nothing of this server; what they show they ask the API for, with the rights of whoever looks.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "api/api_impl.h"
#include "core/text/quoted.h"

namespace sharewell::api {
namespace {

// No script, style or connection but our own; no frame, no form that leaves, nothing inline.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// FNV-1a: it tells builds apart, and nobody gains by making two alike.
std::string TagOf(std::string_view body) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : body) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return fmt::format("W/\"{:016x}\"", hash);
}

// gzip, with no `q=0` behind it.
bool TakesGzip(std::string_view accepts) {
  const auto at = accepts.find("gzip");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = accepts.substr(at, accepts.find(',', at) - at);
  return rest.find("q=0") == std::string_view::npos || rest.find("q=0.") != std::string_view::npos;
}

http::HttpResponse FileAnswer(const http::HttpRequest& request, const PageFile& file,
                              const std::string& tag) {
  http::HttpResponse answer;
  answer.type = std::string(file.type);
  answer.headers = {{"ETag", tag},
                    {"Cache-Control", "no-cache"},
                    {"Vary", "Accept-Encoding"},
                    {"Content-Security-Policy", kContentPolicy},
                    {"Referrer-Policy", "no-referrer"},
                    {"Cross-Origin-Opener-Policy", "same-origin"},
                    {"Cross-Origin-Resource-Policy", "same-origin"}};
  if (request.if_none_match.find(tag) != std::string::npos) {
    answer.status = 304;
    return answer;
  }
  if (TakesGzip(request.accept_encoding)) {
    answer.headers.emplace_back("Content-Encoding", "gzip");
    answer.body = std::string(file.gzip);
  } else {
    answer.body = std::string(file.body);
  }
  return answer;
}

}  // namespace

void ApiImpl::AddPageRoutes() {
  std::vector<std::string> tags;
  for (const PageFile& file : options.page) tags.push_back(TagOf(file.body));
  const auto serve = [this, tags = std::move(tags)](const http::HttpRequest& request,
                                                    const std::string& name) {
    const auto found = std::find_if(options.page.begin(), options.page.end(),
                                    [&](const PageFile& file) { return file.name == name; });
    if (options.page.empty()) {
      return Problem(501, "this program was built without its dashboard (SHAREWELL_WEB=OFF)");
    }
    if (found == options.page.end()) {
      return Problem(404, fmt::format("the dashboard has no file {}", core::Quoted(name)));
    }
    const auto index = static_cast<std::size_t>(found - options.page.begin());
    return FileAnswer(request, *found, tags[index]);
  };
  Route("GET", "/",
        [serve](const http::HttpRequest& request, const Who&, const http::Responder& responder) {
          responder.Answer(serve(request, "index.html"));
        });
  Route("GET", "/dashboard/{file}",
        [serve](const http::HttpRequest& request, const Who&, const http::Responder& responder) {
          responder.Answer(serve(request, request.parameters.front()));
        });
}

}  // namespace sharewell::api
