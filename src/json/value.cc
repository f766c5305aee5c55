#include "json/value.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/text/quoted.h"
#include "json/first_error.h"
#include "json/writer.h"

namespace sharewell::json {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::internal::tape_ref;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

tape_ref TapeAt(const void* document, std::size_t at) {
  return {static_cast<const simdjson::dom::document*>(document), at};
}

// An element is a place on the tape, and nothing more: json/value.h keeps the same two words
// without naming simdjson, whose header takes a second to compile.
element ElementAt(const void* document, std::size_t at) {
  const tape_ref tape = TapeAt(document, at);
  element out;
  static_assert(sizeof(out) == sizeof(tape) && std::is_trivially_copyable_v<element>);
  std::memcpy(static_cast<void*>(&out), &tape, sizeof(out));
  return out;
}

// Python writes whole numbers of any length, which the parser refuses: here those that do not fit
// end in "e0", and so are no whole ones any more. REQUIRES: it is JSON.
std::string WithoutLargeWholes(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (text[at] == '"') {
      while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      ++end;
    } else if (text[at] == '-' || (text[at] >= '0' && text[at] <= '9')) {
      end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
    }
    out += text.substr(at, end - at);
    std::int64_t small = 0;
    std::uint64_t large = 0;
    const char* const last = text.data() + end;
    const bool fits = std::from_chars(text.data() + at, last, small).ec == std::errc() ||
                      std::from_chars(text.data() + at, last, large).ec == std::errc();
    const bool goes_on = end < text.size() && (text[end] == '.' || (text[end] | 0x20) == 'e');
    if (end - at > 18 && text[at] != '"' && !fits && !goes_on) out += "e0";
    at = end;
  }
  return out;
}

template <class T>
std::optional<T> Held(const void* document, std::size_t at) {
  T value{};
  if (document == nullptr || ElementAt(document, at).get(value) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return value;
}

bool IsOf(const void* document, std::size_t at, element_type type) {
  return document != nullptr && ElementAt(document, at).type() == type;
}

}  // namespace

bool Value::is_null() const {
  return document_ == nullptr || IsOf(document_, at_, element_type::NULL_VALUE);
}
bool Value::is_bool() const { return IsOf(document_, at_, element_type::BOOL); }
bool Value::is_number() const {
  return document_ != nullptr && ElementAt(document_, at_).is_number();
}
bool Value::is_text() const { return IsOf(document_, at_, element_type::STRING); }
bool Value::is_list() const { return IsOf(document_, at_, element_type::ARRAY); }
bool Value::is_object() const { return IsOf(document_, at_, element_type::OBJECT); }

std::optional<bool> Value::Bool() const { return Held<bool>(document_, at_); }
std::optional<double> Value::Number() const { return Held<double>(document_, at_); }
std::optional<std::int64_t> Value::Whole() const { return Held<std::int64_t>(document_, at_); }
std::optional<std::uint64_t> Value::Unsigned() const { return Held<std::uint64_t>(document_, at_); }
std::optional<std::string_view> Value::Text() const {
  return Held<std::string_view>(document_, at_);
}

std::optional<std::vector<double>> Value::Numbers() const {
  const auto list = Held<simdjson::dom::array>(document_, at_);
  if (!list) return std::nullopt;
  std::vector<double> out;
  out.reserve(list->size());
  for (const element item : *list) {
    double number = 0;
    const bool is_one = item.get(number) == simdjson::SUCCESS;
    out.push_back(is_one ? number : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

Value Value::operator[](std::string_view key) const {
  for (const auto& [name, value] : members()) {
    if (name == key) return value;
  }
  return {};
}

bool Value::Has(std::string_view key) const {
  const Members all = members();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& member) { return member.first == key; });
}

Value Value::At(std::size_t index) const {
  for (const Value item : items()) {
    if (index-- == 0) return item;
  }
  return {};
}

std::size_t Value::size() const {
  if (!is_list() && !is_object()) return 0;
  const std::size_t counted = TapeAt(document_, at_).scope_count();
  if (counted < 0xffffff) return counted;  // simdjson counts no further
  const Items list = items();
  const Members all = members();
  return static_cast<std::size_t>(std::distance(list.begin(), list.end()) +
                                  std::distance(all.begin(), all.end()));
}

Items Value::items() const { return is_list() ? Items(*this) : Items(); }
Members Value::members() const { return is_object() ? Members(*this) : Members(); }

std::size_t Value::After() const { return TapeAt(document_, at_).after_element(); }

std::string Value::Quoted() const {
  if (is_list()) return "a list";
  if (is_object()) return "an object";
  if (const auto text = Text()) return core::Quoted(*text);
  return Line();
}

std::string Value::Line() const {
  std::string out;
  Writer(out, Style::kFile).Value(*this);
  return out;
}

// On the tape a list begins with its own word, and so does its end.
Items::Items(Value list)
    : begin_(Value(list.document_, list.at_ + 1)), end_(Value(list.document_, list.After() - 1)) {}

Members::Members(Value object)
    : begin_(Value(object.document_, object.at_ + 1)),
      end_(Value(object.document_, object.After() - 1)) {}

Members::iterator::value_type Members::iterator::operator*() const {
  return {TapeAt(key_.document_, key_.at_).get_string_view(), Value(key_.document_, key_.at_ + 1)};
}

Members::iterator& Members::iterator::operator++() {
  key_.at_ = Value(key_.document_, key_.at_ + 1).After();
  return *this;
}

struct Document::Impl {
  simdjson::dom::parser parser;
};

Document::Document(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

core::Result<Document> Document::Parse(std::string_view text, std::size_t deepest) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  auto impl = std::make_unique<Impl>();
  auto error = impl->parser.allocate(text.size(), deepest + 1);
  element root;
  if (error == simdjson::SUCCESS) {
    // simdjson copies from the pointer that it is given, which for no bytes may be null.
    error = impl->parser.parse(text.empty() ? "" : text.data(), text.size()).get(root);
  }
  switch (error) {
    case simdjson::SUCCESS:
      return Document(std::move(impl));
    case simdjson::MEMALLOC:
    case simdjson::CAPACITY:
      return core::UsageError("it is too large to be read as JSON");
    case simdjson::DEPTH_ERROR:
      return core::UsageError("it is nested deeper than {} levels", deepest);
    default:
      break;
  }
  const auto wrong = FirstError(text);
  if (!wrong) {
    const std::string shorter = WithoutLargeWholes(text);
    if (shorter.size() > text.size()) return Parse(shorter, deepest);
    return core::UsageError("cannot be read as JSON: a number in it is out of range");
  }
  const auto line =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*wrong), '\n') + 1;
  return core::UsageError("line {}: is no valid JSON here (byte {})", line, *wrong + 1);
}

Value Document::root() const { return {&impl_->parser.doc, 1}; }

Value RootOf(const core::Result<Document>& parsed) { return parsed ? parsed->root() : Value(); }

}  // namespace sharewell::json
