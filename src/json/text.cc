#include "json/text.h"

#include <cstdint>

#include "core/text/utf8.h"

namespace sharewell::json {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// What may stand between quotes as it is.
constexpr bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

void AppendEscaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    default: {
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

}  // namespace

bool IsPlainText(std::string_view text) {
  for (const char c : text) {
    if (!IsPlain(c)) return false;
  }
  return true;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length =
        static_cast<unsigned char>(text.front()) < 0x80 ? 1 : core::CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void AppendText(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && IsPlain(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    std::size_t length = 1;
    if (static_cast<unsigned char>(c) <= 0x7f) {
      AppendEscaped(out, c);
    } else if (const std::size_t whole = core::CharacterLength(text); whole > 0) {
      out += text.substr(0, whole);
      length = whole;
    } else {
      out += "\uFFFD";
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void AppendBytes(std::string& out, std::string_view bytes) {
  if (IsUtf8(bytes)) {
    AppendText(out, bytes);
    return;
  }
  out += R"({"bytes":")";
  out += Base64(bytes);
  out += "\"}";
}

std::string Base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
  }
  return out;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    std::size_t letters = 0;
    for (const char c : text.substr(i, 4)) {
      const std::size_t digit = kDigits.find(c);
      if (digit != std::string_view::npos) {
        group = group << 6 | static_cast<std::uint32_t>(digit);
        ++letters;
      } else if (c == '=' && i + 4 == text.size() && letters >= 2) {
        break;
      } else {
        return std::nullopt;
      }
    }
    if (letters < 4 && text.substr(i + letters, 4 - letters) != std::string(4 - letters, '=')) {
      return std::nullopt;
    }
    group <<= 6 * (4 - letters);
    // Bits behind the last byte are 0, or two texts would mean the same.
    if (letters < 4 && (group & ((1U << (8 * (4 - letters))) - 1)) != 0) return std::nullopt;
    for (std::size_t k = 0; k + 1 < letters; ++k) {
      out += static_cast<char>(group >> (16 - 8 * k) & 0xff);
    }
  }
  return out;
}

}  // namespace sharewell::json
