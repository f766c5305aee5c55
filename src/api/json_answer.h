// The API's answers: JSON on one line, with the schema it is of.
#pragma once

#include <string>
#include <utility>

#include "http/http_message.h"
#include "json/writer.h"

namespace sharewell::api {

// {"schema":1,...} and no line break; `members` writes the rest.
template <class F>
std::string SchemaText(F&& members) {
  std::string out;
  json::Writer writer(out);
  writer.Object([&] {
    writer.Field("schema", 1);
    members(writer);
  });
  return out;
}

inline http::HttpResponse JsonAnswer(std::string body, int status = 200) {
  return {status, "application/json", std::move(body) + "\n", {}};
}

template <class F>
http::HttpResponse SchemaAnswer(F&& members) {
  return JsonAnswer(SchemaText(std::forward<F>(members)));
}

}  // namespace sharewell::api
