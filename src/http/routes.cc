#include "http/routes.h"

#include <algorithm>

namespace sharewell::http {
namespace {

constexpr std::size_t kMostQueryParts = 100;

std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  for (;;) {
    const auto slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

bool Matches(const std::vector<std::string>& route, const std::vector<std::string>& asked) {
  if (route.size() != asked.size()) return false;
  for (std::size_t i = 0; i < route.size(); ++i) {
    const bool any = route[i].starts_with('{');
    if (any ? asked[i].empty() : route[i] != asked[i]) return false;
  }
  return true;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::size_t RouteTable::Add(const std::string& method, const std::string& path) {
  const auto same = std::find_if(routes_.begin(), routes_.end(), [&](const Route& r) {
    return r.method == method && r.path == path;
  });
  if (same != routes_.end()) return static_cast<std::size_t>(same - routes_.begin());
  routes_.push_back({method, path, PartsOf(path)});
  return routes_.size() - 1;
}

RouteTable::Match RouteTable::Find(std::string_view method, std::string_view path) const {
  Match match;
  const auto asked = PartsOf(path);
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const Route& route = routes_[i];
    if (!Matches(route.parts, asked)) continue;
    match.allowed += (match.allowed.empty() ? "" : ", ") + route.method;
    if (route.method == "GET") match.allowed += ", HEAD";
    if (route.method != wanted) continue;
    match.route = i;
    for (std::size_t part = 0; part < asked.size(); ++part) {
      if (route.parts[part].starts_with('{')) match.parameters.push_back(Decoded(asked[part]));
    }
    break;
  }
  return match;
}

std::vector<std::pair<std::string, std::string>> RouteTable::All() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Route& route : routes_) all.emplace_back(route.method, route.path);
  return all;
}

std::string Decoded(std::string_view text, bool query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && text.size() - i > 2 ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += query && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parts;
  for (std::size_t at = 0; at < query.size() && parts.size() < kMostQueryParts;) {
    const std::size_t end = std::min(query.find('&', at), query.size());
    const std::string_view part = query.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = part.find('=');
    const bool alone = equals == std::string_view::npos;
    if (part.empty()) continue;
    parts.emplace_back(Decoded(part.substr(0, equals), true),
                       alone ? std::string() : Decoded(part.substr(equals + 1), true));
  }
  return parts;
}

}  // namespace sharewell::http
