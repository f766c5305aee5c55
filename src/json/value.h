// JSON as it was parsed, looked at in place: nothing is copied that nobody asks for, and files of
// hundreds of megabytes are parsed as fast as memory is read (by simdjson, which no other module
// needs to know).
//
//   const auto parsed = json::Document::Parse(text);
//   if (!parsed) return UsageError("{}: {}", name, parsed.error().message);
//   const json::Value pod = parsed->root();
//   const auto cores = pod["spec"]["cores"].Number();  // absent: not there, or no number
//
// A Value is as good as a pointer into its Document. It is never wrong to ask it: what is not
// there is null, and what is of another kind is absent. Where the person who wrote a file should
// hear what is wrong with it, json/reader.h asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace sharewell::json {

class Items;
class Members;

class Value {
 public:
  Value() = default;  // null

  bool is_null() const;
  bool is_bool() const;
  bool is_number() const;
  bool is_text() const;
  bool is_list() const;
  bool is_object() const;

  // Absent: it is of another kind. A whole number is one that is written without a fraction or
  // exponent and fits; an unsigned one too where it is not below 0.
  std::optional<bool> Bool() const;
  std::optional<double> Number() const;
  std::optional<std::int64_t> Whole() const;
  std::optional<std::uint64_t> Unsigned() const;
  std::optional<std::string_view> Text() const;
  // All numbers of a list at once; entries that are none come as NaN, which JSON does not have.
  std::optional<std::vector<double>> Numbers() const;

  // What is not there is null. Of a key that comes twice the first counts.
  Value operator[](std::string_view key) const;
  Value At(std::size_t index) const;  // takes as long as `index` is large
  bool Has(std::string_view key) const;

  // Entries of a list or members of an object; 0 for all else.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // The entries of a list, the members of an object; none for all else. In the text's order.
  Items items() const;
  Members members() const;

  // As it may stand in a message: 'text', 3.5, "a list", "an object".
  std::string Quoted() const;
  // On one line, without spaces.
  std::string Line() const;

 private:
  friend class Document;
  friend class Items;
  friend class Members;
  Value(const void* document, std::size_t at) : document_(document), at_(at) {}
  std::size_t After() const;  // where the next value begins

  const void* document_ = nullptr;  // simdjson's
  std::size_t at_ = 0;
};

class Items {
 public:
  class iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Value;
    using reference = Value;
    using pointer = const Value*;
    using iterator_category = std::input_iterator_tag;

    iterator() = default;
    explicit iterator(Value at) : at_(at) {}
    Value operator*() const { return at_; }
    iterator& operator++() {
      at_.at_ = at_.After();
      return *this;
    }
    iterator operator++(int) {
      const iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const iterator& other) const { return at_.at_ == other.at_.at_; }

   private:
    friend class Items;
    Value at_;
  };

  Items() = default;
  explicit Items(Value list);
  iterator begin() const { return begin_; }
  iterator end() const { return end_; }

 private:
  iterator begin_, end_;
};

class Members {
 public:
  class iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = std::pair<std::string_view, Value>;
    using reference = value_type;
    using pointer = const value_type*;
    using iterator_category = std::input_iterator_tag;

    iterator() = default;
    explicit iterator(Value key) : key_(key) {}
    value_type operator*() const;
    iterator& operator++();
    iterator operator++(int) {
      const iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const iterator& other) const { return key_.at_ == other.key_.at_; }

   private:
    Value key_;
  };

  Members() = default;
  explicit Members(Value object);
  iterator begin() const { return begin_; }
  iterator end() const { return end_; }

 private:
  iterator begin_, end_;
};

// A text that was parsed as a whole; it is not needed any more afterwards.
class Document {
 public:
  static constexpr std::size_t kDeepest = 1000;

  // A usage error says what is wrong and where: "line 3: is no valid JSON here (byte 41)". Texts
  // of 4 GiB, nested deeper than `deepest`, or with a number beyond 1.8e308 are errors. A whole
  // number of more than 64 bits is none any more.
  static core::Result<Document> Parse(std::string_view text, std::size_t deepest = kDeepest);

  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  Value root() const;

 private:
  struct Impl;
  explicit Document(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// The root, for those who ask a text of which nobody needs to hear what is wrong: null where it is
// no JSON. REQUIRES: the result outlives the value.
Value RootOf(const core::Result<Document>& parsed);

}  // namespace sharewell::json
