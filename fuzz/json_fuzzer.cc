// Any bytes as JSON: parsed, or refused with a reason, which is a place exactly where the slow
// reader finds one. What is parsed is walked, asked for everything, written in every style and
// parsed again as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "json/first_error.h"
#include "json/reader.h"
#include "json/text.h"
#include "json/writer.h"
#include "must_hold.h"

namespace json = sharewell::json;

namespace {

using sharewell::fuzz::MustHold;

std::size_t Walk(json::Value value) {
  const int kinds = value.is_null() + value.is_bool() + value.is_number() + value.is_text() +
                    value.is_list() + value.is_object();
  MustHold(kinds == 1 && !value.Quoted().empty());
  MustHold(value.is_number() == value.Number().has_value());
  MustHold(value.is_list() == value.Numbers().has_value());
  std::size_t entries = 0, values = 1;
  for (const json::Value item : value.items()) {
    ++entries;
    values += Walk(item);
  }
  for (const auto& [key, member] : value.members()) {
    ++entries;
    values += Walk(member);
    MustHold(value.Has(key) && json::IsUtf8(key));
  }
  MustHold(entries == value.size());
  return values;
}

// Whatever is asked, the first error stays.
void Ask(json::Value root) {
  std::string error;
  json::Reader reader(root, "root.", json::Trust::kSent, error);
  std::string first = error;
  const auto sticks = [&] {
    MustHold(first.empty() || first == error);
    first = error;
  };
  int whole = 0;
  double number = 0;
  std::string text;
  bool flag = false;
  std::vector<std::string> texts;
  reader.Whole("a", whole, {-5, 5});
  sticks();
  reader.Number("b", number, {0, 1});
  sticks();
  reader.Text("c", text, 8);
  sticks();
  reader.Flag("d", flag);
  sticks();
  reader.Texts("e", texts, 3, 8);
  sticks();
  if (const json::Value bytes = reader.Member("f"); !bytes.is_null()) reader.BytesOf("f", bytes);
  sticks();
  if (reader.Has("g")) reader.Part("g").NeedNumbers("h", 2, {0, 1});
  sticks();
  reader.RefuseOthers();
  sticks();
  MustHold(whole >= -5 && whole <= 5 && number >= 0 && number <= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = json::Document::Parse(text, 64);
  const bool marked = text.starts_with("\xef\xbb\xbf");
  const bool sound = !json::FirstError(marked ? text.substr(3) : text);
  if (!parsed) {
    const std::string& why = parsed.error().message;
    MustHold(!why.empty());
    MustHold(sound == (why.find("line ") == std::string::npos) ||
             why.find("nested") != std::string::npos);
    return 0;
  }
  MustHold(sound);
  Walk(parsed->root());
  Ask(parsed->root());
  for (const auto style : {json::Style::kLine, json::Style::kFile, json::Style::kReport}) {
    std::string out;
    json::Writer(out, style).Value(parsed->root());
    const auto again = json::Document::Parse(out, 64);
    MustHold(again.has_value());
    std::string twice;
    json::Writer(twice, style).Value(again->root());
    MustHold(out == twice);
  }
  return 0;
}
