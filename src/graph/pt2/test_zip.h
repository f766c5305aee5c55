// For tests: writes the zip archives that PyTorch would, and those it never would.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::graph::pt2 {

class TestZip {
 public:
  TestZip& Add(std::string_view name, std::string_view contents) {
    Entry entry{std::string(name), bytes_.size(), contents.size(), Crc(contents)};
    bytes_ += "PK\x03\x04" + Number(20, 2) + Number(0, 2) + Number(0, 2) + Number(0, 4) +
              Number(entry.crc, 4) + Number(contents.size(), 4) + Number(contents.size(), 4) +
              Number(name.size(), 2) + Number(0, 2) + entry.name + std::string(contents);
    entries_.push_back(entry);
    return *this;
  }

  // Lies, told by the directory about the entry added last.
  TestZip& Method(std::uint64_t method) { return entries_.back().method = method, *this; }
  TestZip& Flags(std::uint64_t flags) { return entries_.back().flags = flags, *this; }
  TestZip& Size(std::uint64_t size) { return entries_.back().size = size, *this; }
  TestZip& Offset(std::uint64_t offset) { return entries_.back().offset = offset, *this; }
  TestZip& Checksum(std::uint64_t crc) { return entries_.back().crc = crc, *this; }
  TestZip& Count(std::uint64_t count) { return count_ = count, *this; }
  TestZip& Zip64() { return zip64_ = true, *this; }
  TestZip& Comment(std::string comment) { return comment_ = std::move(comment), *this; }

  std::string Bytes() const {
    std::string directory;
    for (const Entry& e : entries_) {
      const std::string extra = zip64_ ? Number(1, 2) + Number(24, 2) + Number(e.size, 8) +
                                             Number(e.size, 8) + Number(e.offset, 8)
                                       : std::string();
      const auto figure = [&](std::uint64_t value) { return zip64_ ? 0xffffffff : value; };
      directory +=
          "PK\x01\x02" + Number(20, 2) + Number(20, 2) + Number(e.flags, 2) + Number(e.method, 2) +
          Number(0, 4) + Number(e.crc, 4) + Number(figure(e.size), 4) + Number(figure(e.size), 4) +
          Number(e.name.size(), 2) + Number(extra.size(), 2) + Number(0, 2) + Number(0, 2) +
          Number(0, 2) + Number(0, 4) + Number(figure(e.offset), 4) + e.name + extra;
    }
    const std::uint64_t count = count_ == kTrue ? entries_.size() : count_;
    std::string end;
    if (zip64_) {
      end += "PK\x06\x06" + Number(44, 8) + Number(45, 2) + Number(45, 2) + Number(0, 4) +
             Number(0, 4) + Number(count, 8) + Number(count, 8) + Number(directory.size(), 8) +
             Number(bytes_.size(), 8);
      end +=
          "PK\x06\x07" + Number(0, 4) + Number(bytes_.size() + directory.size(), 8) + Number(1, 4);
    }
    const auto figure = [&](std::uint64_t value, std::uint64_t most) {
      return zip64_ ? most : value;
    };
    end += "PK\x05\x06" + Number(0, 2) + Number(0, 2) + Number(figure(count, 0xffff), 2) +
           Number(figure(count, 0xffff), 2) + Number(figure(directory.size(), 0xffffffff), 4) +
           Number(figure(bytes_.size(), 0xffffffff), 4) + Number(comment_.size(), 2) + comment_;
    return bytes_ + directory + end;
  }

 private:
  static constexpr std::uint64_t kTrue = ~std::uint64_t{0};
  struct Entry {
    std::string name;
    std::uint64_t offset = 0, size = 0, crc = 0, method = 0, flags = 0;
  };

  static std::string Number(std::uint64_t value, int width) {
    std::string bytes;
    for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
    return bytes;
  }
  static std::uint32_t Crc(std::string_view bytes) {
    std::uint32_t crc = 0xffffffff;
    for (const char c : bytes) {
      crc ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? 0xedb88320 ^ crc >> 1 : crc >> 1;
    }
    return ~crc;
  }

  std::string bytes_, comment_;
  std::vector<Entry> entries_;
  std::uint64_t count_ = kTrue;
  bool zip64_ = false;
};

}  // namespace sharewell::graph::pt2
