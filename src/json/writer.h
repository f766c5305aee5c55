// Writer: writes one JSON value at the end of a string, without building it first: lists are long
// (ten thousand jobs at a time), and a document of each took ten times as long.
//
//   std::string out;
//   json::Writer writer(out, json::Style::kReport);
//   writer.Object([&] {
//     writer.Field("schema", 1);
//     writer.List("gpus", gpus, [&](const Gpu& gpu) { WriteGpu(writer, gpu); });
//   });
//
// What is unknown (absent, or no finite number) is null. Text that is no UTF-8 is written with
// U+FFFD in the place of what is broken. REQUIRES: in an object, a key before each value.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/units.h"
#include "json/value.h"

namespace sharewell::json {

enum class Style : std::uint8_t {
  kLine,    // on one line; 3 is written as 3, whatever its type
  kBrief,   // so too, without members that are null or an empty list
  kFile,    // on one line; a number that is no whole one by its type is 3.0
  kReport,  // so too, but indented by two: for people
};

namespace internal {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsPair : std::false_type {};
template <class A, class B>
struct IsPair<std::pair<A, B>> : std::true_type {};
template <class T>
struct IsQuantity : std::false_type {};
template <class Tag>
struct IsQuantity<core::Quantity<Tag>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

}  // namespace internal

class Writer {
 public:
  // `out` must outlive it.
  explicit Writer(std::string& out, Style style = Style::kLine) : out_(out), style_(style) {}

  Style style() const { return style_; }
  std::size_t size() const { return out_.size(); }  // of all that stands in `out`

  // ---- a value: the root, an entry of a list, or what belongs to a key
  void Null();
  // A flag, a number, a quantity, a text, a parsed value; an optional, a pair or a vector of them.
  template <class T>
  void Value(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      Raw(value ? "true" : "false");
    } else if constexpr (std::signed_integral<T>) {
      Whole(std::int64_t{value});
    } else if constexpr (std::unsigned_integral<T>) {
      Unsigned(std::uint64_t{value});
    } else if constexpr (std::same_as<T, double>) {
      Number(value);
    } else if constexpr (std::same_as<T, json::Value>) {
      Parsed(value);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      Text(value);
    } else if constexpr (internal::IsOptional<T>::value) {
      value ? Value(*value) : Null();
    } else if constexpr (internal::IsPair<T>::value) {
      List([&] {
        Value(value.first);
        Value(value.second);
      });
    } else if constexpr (internal::IsQuantity<T>::value) {
      Number(value.value);
    } else {
      static_assert(internal::IsVector<T>::value, "write it member by member");
      List([&] {
        for (const auto& entry : value) Value(entry);
      });
    }
  }
  // Any bytes: text, or {"bytes":"BASE64"} where they are no UTF-8. They come back as they were.
  void Bytes(std::string_view bytes);
  // What is JSON already.
  void Raw(std::string_view json);

  // `members` writes them, `entries` likewise.
  template <class F>
  void Object(F&& members) {
    Open('{');
    members();
    Close('}');
  }
  template <class F>
  void List(F&& entries) {
    Open('[');
    entries();
    Close(']');
  }

  // ---- a member of an object
  void Key(std::string_view key);
  template <class T>
  void Field(std::string_view key, const T& value) {
    if constexpr (internal::IsOptional<T>::value) {
      if (style_ == Style::kBrief && !value) return;
    } else if constexpr (internal::IsVector<T>::value) {
      if (style_ == Style::kBrief && value.empty()) return;
    }
    Key(key);
    Value(value);
  }
  void Null(std::string_view key) { Field(key, std::optional<bool>()); }
  // Null where it is empty.
  void TextOrNull(std::string_view key, std::string_view text) {
    text.empty() ? Null(key) : Field(key, text);
  }
  template <class F>
  void Object(std::string_view key, F&& members) {
    Key(key);
    Object(std::forward<F>(members));
  }
  // `each` writes one entry.
  template <class Range, class F>
  void List(std::string_view key, const Range& range, F&& each) {
    if (style_ == Style::kBrief && std::begin(range) == std::end(range)) return;
    Key(key);
    List([&] {
      for (const auto& entry : range) each(entry);
    });
  }

 private:
  void Begin();  // of any value: what stands between it and the one before
  void Separate();
  void Open(char bracket);
  void Close(char bracket);
  void Whole(std::int64_t number);
  void Unsigned(std::uint64_t number);
  void Number(double number);
  void Text(std::string_view text);
  void Parsed(json::Value parsed);

  std::string& out_;
  const Style style_;
  std::size_t depth_ = 0;
  bool first_ = true;     // nothing was written yet into the list or object that is open
  bool has_key_ = false;  // and the value that comes now belongs to it
};

// A whole text, ending in a line break.
template <class F>
std::string Write(Style style, F&& write) {
  std::string out;
  Writer writer(out, style);
  write(writer);
  out += '\n';
  return out;
}

// One object on one line, without a line break: the body of a request.
template <class F>
std::string ObjectLine(F&& members) {
  std::string out;
  Writer writer(out);
  writer.Object([&] { members(writer); });
  return out;
}

}  // namespace sharewell::json
