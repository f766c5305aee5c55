// Walks a text that is too large to be parsed into a Document, such as a trace of gigabytes: each
// member is seen once, in the text's order, and what nobody asks for is skipped without being read
// (by simdjson's on-demand parser, at gigabytes a second).
//
//   json::Walker walker;
//   const bool right = walker.Object(text, [&](json::Field& field) {
//     if (field.key() == "name") name = field.Text().value_or("");
//     return name.empty();  // false: the rest is skipped
//   });
//
// What is skipped is not checked: that a walk ends well does not mean that all of it is JSON.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace sharewell::json {

// A member of an object that is walked. REQUIRES: its value is asked for once at most.
class Field {
 public:
  // As it stands in the text: escapes are not resolved.
  std::string_view key() const { return key_; }

  // Absent: it is of another kind.
  std::optional<double> Number();
  std::optional<std::string_view> Text();  // good until the walker walks the next text
  // Walks the object there; nothing where it is none.
  void Members(const std::function<bool(Field&)>& visit);

 private:
  friend class Walker;
  Field(std::string_view key, void* value) : key_(key), value_(value) {}

  std::string_view key_;
  void* value_;          // simdjson's
  bool broken_ = false;  // what stands there is no JSON
};

class Walker {
 public:
  using Visit = std::function<bool(Field&)>;  // false: the rest of the object is skipped

  Walker();
  ~Walker();
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  // The members of the one object that `text` is. False where it is none, or stops being JSON.
  bool Object(std::string_view text, const Visit& visit);
  // The same of each of several objects with commas between them; `end` is called behind each.
  bool Objects(std::string_view text, const Visit& visit, const std::function<void()>& end);

 private:
  friend class Field;
  struct Impl;
  static bool Members(void* object, const Visit& visit);

  std::unique_ptr<Impl> impl_;
};

}  // namespace sharewell::json
