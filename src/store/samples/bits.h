// Numbers in few bytes and bits, for chunks and segments. Readers take any bytes: what is not there
// reads as zero and sets `ok` to false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sharewell::store {

inline std::uint64_t ZigZag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t UnZigZag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

inline void PutByte(std::string& out, unsigned value) { out += static_cast<char>(value); }
inline void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) PutByte(out, static_cast<unsigned>(value % 128 + 128));
  PutByte(out, static_cast<unsigned>(value));
}
inline void PutFixed64(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i, value >>= 8) PutByte(out, static_cast<unsigned>(value & 0xff));
}

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

  unsigned Byte() {
    if (rest_.empty()) {
      ok_ = false;
      return 0;
    }
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const unsigned byte = Byte();
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    ok_ = false;
    return 0;
  }
  std::uint64_t Fixed64() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= std::uint64_t{Byte()} << (8 * i);
    return value;
  }
  std::string_view Bytes(std::uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return bytes;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// Bits are filled from the highest of each byte.
class BitWriter {
 public:
  explicit BitWriter(std::string& out) : out_(out) {}

  // The lowest `width` (0 to 64) bits of `value`; the others must be 0.
  void Put(std::uint64_t value, int width) {
    if (width > 32) {
      Put(value >> 32, width - 32);
      value &= 0xffffffffu;
      width = 32;
    }
    pending_ = (pending_ << width) | value;
    count_ += width;
    while (count_ >= 8) {
      count_ -= 8;
      PutByte(out_, static_cast<unsigned>((pending_ >> count_) & 0xff));
    }
  }
  void Finish() {
    if (count_ > 0) Put(0, 8 - count_);
  }

 private:
  std::string& out_;
  std::uint64_t pending_ = 0;  // its lowest count_ bits; those above have been written
  int count_ = 0;
};

class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }

  std::uint64_t Take(int width) {
    if (width > 32) {
      const std::uint64_t high = Take(width - 32);
      return high << 32 | Take(32);
    }
    while (count_ < width) {
      if (next_ == bytes_.size()) {
        ok_ = false;
        return 0;
      }
      pending_ = pending_ << 8 | static_cast<unsigned char>(bytes_[next_++]);
      count_ += 8;
    }
    count_ -= width;
    return (pending_ >> count_) & ((std::uint64_t{1} << width) - 1);
  }

 private:
  std::string_view bytes_;
  std::size_t next_ = 0;
  std::uint64_t pending_ = 0;
  int count_ = 0;
  bool ok_ = true;
};

}  // namespace sharewell::store
