#include "json/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/detail/conversions/to_chars.hpp>

#include "json/text.h"

namespace sharewell::json {
namespace {

constexpr std::size_t kIndent = 2;

// "3.0", as the library wrote it that reports were made with first: what was printed by an older
// program can be compared byte by byte.
void AppendDecimal(std::string& out, double number) {
  char digits[64];
  char* const end = nlohmann::detail::to_chars(std::begin(digits), std::end(digits), number);
  out.append(std::begin(digits), end);
}

}  // namespace

void Writer::Separate() {
  if (!first_) out_ += ',';
  first_ = false;
  if (style_ != Style::kReport) return;
  out_ += '\n';
  out_.append(kIndent * depth_, ' ');
}

void Writer::Begin() {
  if (!has_key_ && depth_ > 0) Separate();
  has_key_ = false;
}

void Writer::Key(std::string_view key) {
  has_key_ = true;
  char whole[64];
  if (style_ != Style::kReport && key.size() + 4 <= sizeof(whole) && IsPlainText(key)) {
    // Nearly all keys: put together first, as each addition to a string costs as much as the key.
    char* end = whole;
    if (!first_) *end++ = ',';
    *end++ = '"';
    end = std::copy(key.begin(), key.end(), end);
    *end++ = '"';
    *end++ = ':';
    first_ = false;
    out_.append(whole, static_cast<std::size_t>(end - whole));
    return;
  }
  Separate();
  AppendText(out_, key);
  out_ += style_ == Style::kReport ? ": " : ":";
}

void Writer::Open(char bracket) {
  Begin();
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void Writer::Close(char bracket) {
  --depth_;
  if (!first_ && style_ == Style::kReport) {
    out_ += '\n';
    out_.append(kIndent * depth_, ' ');
  }
  out_ += bracket;
  first_ = false;
}

void Writer::Null() { Raw("null"); }

void Writer::Raw(std::string_view json) {
  Begin();
  out_ += json;
}

void Writer::Number(double number) {
  if (!std::isfinite(number)) return Null();  // JSON has no infinity
  Begin();
  if (style_ == Style::kFile || style_ == Style::kReport) {
    AppendDecimal(out_, number);
  } else if (number == 0 && std::signbit(number)) {
    out_ += "-0.0";  // "-0" would be read back as the whole number 0
  } else {
    fmt::format_to(std::back_inserter(out_), "{}", number);
  }
}

void Writer::Whole(std::int64_t number) {
  Begin();
  fmt::format_to(std::back_inserter(out_), "{}", number);
}

void Writer::Unsigned(std::uint64_t number) {
  Begin();
  fmt::format_to(std::back_inserter(out_), "{}", number);
}

void Writer::Text(std::string_view text) {
  Begin();
  AppendText(out_, text);
}

void Writer::Bytes(std::string_view bytes) {
  Begin();
  AppendBytes(out_, bytes);
}

void Writer::Parsed(json::Value parsed) {
  if (parsed.is_object()) {
    Object([&] {
      for (const auto& [key, value] : parsed.members()) Field(key, value);
    });
  } else if (parsed.is_list()) {
    List([&] {
      for (const json::Value item : parsed.items()) Value(item);
    });
  } else if (const auto whole = parsed.Whole()) {
    Whole(*whole);
  } else if (const auto large = parsed.Unsigned()) {
    Unsigned(*large);
  } else if (const auto number = parsed.Number()) {
    Value(*number);
  } else if (const auto text = parsed.Text()) {
    Value(*text);
  } else if (const auto flag = parsed.Bool()) {
    Value(*flag);
  } else {
    Null();
  }
}

}  // namespace sharewell::json
