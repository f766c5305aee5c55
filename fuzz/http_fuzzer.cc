// Bytes of a connection through the parser, the routes and the API's own readers of bodies, queries
// and tokens. The first byte says into how large pieces the network cut them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/access/access.h"
#include "api/access/tokens.h"
#include "api/bodies.h"
#include "http/http_reader.h"
#include "http/routes.h"

namespace {

using sharewell::http::HttpRequest;
using sharewell::http::RequestReader;

constexpr std::size_t kMostHeader = 8192;
constexpr std::size_t kMostBody = 65536;

void Serve(const HttpRequest& request) {
  static const auto kTable = [] {
    sharewell::http::RouteTable table;
    table.Add("GET", "/api/v1/jobs");
    table.Add("POST", "/api/v1/jobs");
    table.Add("GET", "/api/v1/jobs/{number}/logs");
    table.Add("POST", "/api/v1/gpus/{gpu}/drain");
    table.Add("GET", "/api/v1/openapi.json");
    return table;
  }();
  if (request.path.empty() || request.path.front() != '/') __builtin_trap();
  if (request.body.size() > kMostBody) __builtin_trap();
  const auto match = kTable.Find(request.method, request.path);
  for (const auto& parameter : match.parameters) {
    if (parameter.empty()) __builtin_trap();
  }
  if (sharewell::http::ParseQuery(request.query).size() > 100) __builtin_trap();
  static sharewell::api::Access access({"/nonexistent/tokens", {}, 1});
  const auto who = access.Admit(request);
  // Nobody has a token here, so nobody may write.
  if (who && (*who || (request.method != "GET" && request.method != "HEAD"))) __builtin_trap();
  const auto jobs = sharewell::api::ParseSubmissions(request.body);
  if (jobs ? jobs->empty() : jobs.error().message.empty()) __builtin_trap();
  const auto asked = sharewell::api::ParseWhatIf(request.body);
  if (!asked && asked.error().message.empty()) __builtin_trap();
  const auto tokens = sharewell::api::ParseTokens(request.body);
  if (!tokens && tokens.error().message.empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] == 0 ? size : data[0];
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  RequestReader reader(kMostHeader);
  while (!text.empty()) {
    reader.Add(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
    for (;;) {
      const auto state = reader.Step();
      if (state == RequestReader::State::kMore) {
        if (reader.waiting() > kMostHeader) __builtin_trap();  // a client could fill the memory
        break;
      }
      if (state == RequestReader::State::kBroken) {
        if (reader.status() < 400 || reader.words().empty()) __builtin_trap();
        return 0;
      }
      if (state == RequestReader::State::kWhole) {
        Serve(reader.Take());
        continue;
      }
      if (reader.length().value_or(0) > kMostBody) return 0;
      reader.TakeBody(kMostBody);
    }
  }
  return 0;
}
