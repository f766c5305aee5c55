#include "store/postgres/wire.h"

namespace sharewell::store {

Parameters::Parameters(std::span<const Value> values) {
  numbers_.reserve(values.size());  // the pointers below must stay
  for (const Value& value : values) {
    std::string_view bytes;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      PutBigEndian(numbers_.emplace_back(), static_cast<std::uint64_t>(*number), 8);
      bytes = numbers_.back();
      types_.push_back(kInt8Oid);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      bytes = *text;
      types_.push_back(kTextOid);
    } else {
      bytes = std::get<Blob>(value).bytes;
      types_.push_back(kByteaOid);
    }
    // A null pointer would mean NULL.
    values_.push_back(bytes.data() == nullptr ? "" : bytes.data());
    lengths_.push_back(static_cast<int>(bytes.size()));
    formats_.push_back(1);
  }
}

std::string CopyRows(std::span<const std::vector<Value>> rows) {
  std::string out("PGCOPY\n\377\r\n\0", 11);
  PutBigEndian(out, 0, 4);  // flags
  PutBigEndian(out, 0, 4);  // no extension
  for (const auto& row : rows) {
    PutBigEndian(out, row.size(), 2);
    for (const Value& value : row) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        PutBigEndian(out, 8, 4);
        PutBigEndian(out, static_cast<std::uint64_t>(*number), 8);
        continue;
      }
      const auto* text = std::get_if<std::string_view>(&value);
      const std::string_view bytes = text != nullptr ? *text : std::get<Blob>(value).bytes;
      PutBigEndian(out, bytes.size(), 4);
      out += bytes;
    }
  }
  PutBigEndian(out, 0xffff, 2);
  return out;
}

}  // namespace sharewell::store
