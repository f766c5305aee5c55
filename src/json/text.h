// Text as it stands in our JSON. JSON carries UTF-8 alone, while command lines, folders and
// environments are any bytes: such text is written as {"bytes":"BASE64"} where it is no UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sharewell::json {

bool IsUtf8(std::string_view text);
bool IsPlainText(std::string_view text);  // it may stand between quotes as it is

// In quotes; broken UTF-8 becomes U+FFFD. For what people read.
void AppendText(std::string& out, std::string_view text);

// In quotes, or as {"bytes":...}: comes back as it was.
void AppendBytes(std::string& out, std::string_view bytes);

std::string Base64(std::string_view bytes);
// Absent: no base64, or one with anything behind it.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace sharewell::json
