// Values as PostgreSQL's binary protocol has them, and rows for COPY in that form.
#pragma once

#include <libpq-fe.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/sql.h"

namespace sharewell::store {

// Object ids of the types, fixed since PostgreSQL 7.
constexpr Oid kByteaOid = 17, kInt8Oid = 20, kTextOid = 25;

// Most significant byte first.
inline void PutBigEndian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}
// A whole number of 2, 4 or 8 bytes.
inline std::int64_t TakeBigEndian(std::string_view bytes) {
  if (bytes.empty()) return 0;
  std::uint64_t value = static_cast<signed char>(bytes[0]) < 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

// Parameters of one statement, in the form PQexecPrepared asks for.
class Parameters {
 public:
  explicit Parameters(std::span<const Value> values);

  int count() const { return static_cast<int>(types_.size()); }
  const Oid* types() const { return types_.data(); }
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  std::vector<std::string> numbers_;
  std::vector<Oid> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_, formats_;
};

// What COPY ... FROM STDIN (FORMAT binary) takes: begin, rows, end.
std::string CopyRows(std::span<const std::vector<Value>> rows);

}  // namespace sharewell::store
