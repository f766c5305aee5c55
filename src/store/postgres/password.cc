#include "store/postgres/password.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sharewell::store {
namespace {

constexpr std::string_view kHidden = "***";

struct Part {
  std::size_t begin = 0, size = 0;
};

// Where passwords stand in the address, in their order. A password may hold '@' or '/' that should
// have been escaped: rather too much is hidden than too little.
std::vector<Part> Passwords(std::string_view url) {
  std::vector<Part> parts;
  const std::size_t scheme = url.find("://");
  const std::size_t start = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t at = url.rfind('@');
  const std::size_t colon = url.find(':', start);
  if (at != std::string_view::npos && colon != std::string_view::npos && colon < at) {
    parts.push_back({colon + 1, at - colon - 1});
  }
  for (const std::string_view name : {"password=", "passfile=", "sslpassword="}) {
    for (std::size_t found = url.find(name, start); found != std::string_view::npos;
         found = url.find(name, found + 1)) {
      const std::size_t begin = found + name.size();
      const std::size_t end = std::min(url.find('&', begin), url.size());
      parts.push_back({begin, end - begin});
    }
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.begin < b.begin; });
  return parts;
}

std::string Decoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

void ReplaceAll(std::string& text, std::string_view what, std::string_view by) {
  if (what.empty()) return;
  for (std::size_t found = text.find(what); found != std::string::npos;
       found = text.find(what, found + by.size())) {
    text.replace(found, what.size(), by);
  }
}

}  // namespace

bool HoldsPassword(std::string_view url) {
  if (url.find("://") == std::string_view::npos) return false;
  const auto parts = Passwords(url);
  return std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
    // The name of a file with passwords is none.
    return part.size > 0 && !url.substr(0, part.begin).ends_with("passfile=");
  });
}

std::string WithoutPassword(std::string_view url) {
  std::string shown;
  std::size_t done = 0;
  for (const Part& part : Passwords(url)) {
    if (part.begin + part.size <= done) continue;
    if (part.begin > done) shown += url.substr(done, part.begin - done);
    if (part.size > 0 && part.begin >= done) shown += kHidden;
    done = std::max(done, part.begin + part.size);
  }
  shown += url.substr(done);
  return shown;
}

std::string WithoutPassword(std::string_view message, std::string_view url) {
  std::string shown(message);
  ReplaceAll(shown, url, WithoutPassword(url));
  for (const Part& part : Passwords(url)) {
    const std::string_view written = url.substr(part.begin, part.size);
    ReplaceAll(shown, written, kHidden);
    ReplaceAll(shown, Decoded(written), kHidden);
  }
  return shown;
}

}  // namespace sharewell::store
