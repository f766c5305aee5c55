#include "graph/pt2/zip.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/text/quoted.h"

namespace sharewell::graph::pt2 {
namespace {

using core::Quoted;

constexpr std::size_t kMostEntries = 1'000'000;
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kLongestComment = 0xffff;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kCentralSize = 46;
constexpr std::size_t kLocalSize = 30;
constexpr std::uint32_t kIn64 = 0xffffffff;  // the true figure stands in the zip64 field

// Little-endian fields. REQUIRES: the bytes are there.
std::uint64_t Field(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}
std::uint16_t U16(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(Field(bytes, at, 2));
}
std::uint32_t U32(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(Field(bytes, at, 4));
}
std::uint64_t U64(std::string_view bytes, std::size_t at) { return Field(bytes, at, 8); }

struct Directory {
  std::uint64_t entries = 0, size = 0, offset = 0;
};

// The end record stands last but for a comment, so it is searched from the end.
std::optional<Directory> FindDirectory(std::string_view bytes) {
  if (bytes.size() < kEndSize) return std::nullopt;
  const std::size_t last = bytes.size() - kEndSize;
  const std::size_t first = last > kLongestComment ? last - kLongestComment : 0;
  for (std::size_t at = last + 1; at-- > first;) {
    if (!bytes.substr(at).starts_with("PK\x05\x06")) continue;
    Directory found{U16(bytes, at + 10), U32(bytes, at + 12), U32(bytes, at + 16)};
    if (at < kLocatorSize || !bytes.substr(at - kLocatorSize).starts_with("PK\x06\x07")) {
      return found;
    }
    const std::uint64_t at64 = U64(bytes, at - kLocatorSize + 8);
    if (at64 > bytes.size() || bytes.size() - at64 < kEnd64Size) return std::nullopt;
    const std::string_view end64 = bytes.substr(at64);
    if (!end64.starts_with("PK\x06\x06")) return std::nullopt;
    return Directory{U64(end64, 32), U64(end64, 40), U64(end64, 48)};
  }
  return std::nullopt;
}

// Figures of 0xffffffff stand in the zip64 extra field instead, those only, in this order.
bool TakeZip64(std::string_view extra, ZipEntry& entry) {
  while (extra.size() >= 4) {
    const std::size_t length = U16(extra, 2);
    if (length > extra.size() - 4) return false;
    if (U16(extra, 0) != 1) {
      extra.remove_prefix(4 + length);
      continue;
    }
    std::string_view fields = extra.substr(4, length);
    for (std::uint64_t* figure : {&entry.size, &entry.packed, &entry.offset}) {
      if (*figure != kIn64) continue;
      if (fields.size() < 8) return false;
      *figure = U64(fields, 0);
      fields.remove_prefix(8);
    }
    return true;
  }
  return entry.size != kIn64 && entry.packed != kIn64 && entry.offset != kIn64;
}

std::uint32_t Crc32(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320 ^ value >> 1 : value >> 1;
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ crc >> 8;
  return ~crc;
}

}  // namespace

core::Result<Zip> Zip::Open(std::string_view bytes, const std::string& name) {
  const auto found = FindDirectory(bytes);
  if (!found || found->offset > bytes.size() || found->size > bytes.size() - found->offset) {
    return core::UsageError(
        "{}: begins like a zip archive but its directory, which stands at the end, is not there; "
        "the file is cut short or damaged: copy or export it again",
        name);
  }
  // Every entry takes that much of the directory; a larger count is a lie.
  if (found->entries > std::min<std::uint64_t>(kMostEntries, found->size / kCentralSize)) {
    return core::UsageError(
        "{}: its zip directory claims {} entries, more than it has room for or than we read ({}); "
        "the file is damaged: export it again",
        name, found->entries, kMostEntries);
  }
  Zip zip(bytes, name);
  zip.directory_ = found->offset;
  zip.entries_.reserve(found->entries);
  std::string_view rest = bytes.substr(found->offset, found->size);
  for (std::uint64_t i = 0; i < found->entries; ++i) {
    const auto damaged = [&] {
      return core::UsageError(
          "{}: entry {} of its zip directory is damaged; copy or export the file again", name, i);
    };
    if (rest.size() < kCentralSize || !rest.starts_with("PK\x01\x02")) return damaged();
    const std::size_t name_length = U16(rest, 28);
    const std::size_t extra_length = U16(rest, 30);
    const std::size_t whole = kCentralSize + name_length + extra_length + U16(rest, 32);
    if (whole > rest.size()) return damaged();
    ZipEntry entry{rest.substr(kCentralSize, name_length),
                   U16(rest, 8),
                   U16(rest, 10),
                   U32(rest, 16),
                   U32(rest, 20),
                   U32(rest, 24),
                   U32(rest, 42)};
    if (!TakeZip64(rest.substr(kCentralSize + name_length, extra_length), entry)) return damaged();
    zip.entries_.push_back(entry);
    rest.remove_prefix(whole);
  }
  return zip;
}

core::Result<std::string_view> Zip::Read(const ZipEntry& entry) const {
  const auto refuse = [&](std::string_view why) {
    return core::UsageError("{}: entry {} {}", name_, Quoted(entry.name), why);
  };
  if (entry.flags & 1) return refuse("is encrypted; export the model again without a password");
  if (entry.method != 0 || entry.packed != entry.size) {
    return refuse(
        "is compressed, which PyTorch never does; unpack the archive and store it again "
        "(zip -0 -r), or export the model again");
  }
  const std::string_view damaged =
      "does not lie where the archive's directory says; the file is damaged: copy or export it "
      "again";
  const std::uint64_t room = directory_ < entry.offset ? 0 : directory_ - entry.offset;
  if (room < kLocalSize) return refuse(damaged);
  const std::string_view local = bytes_.substr(entry.offset, room);
  if (!local.starts_with("PK\x03\x04")) return refuse(damaged);
  const std::uint64_t header = kLocalSize + U16(local, 26) + std::uint64_t{U16(local, 28)};
  if (header > room || entry.size > room - header ||
      local.substr(kLocalSize, U16(local, 26)) != entry.name) {
    return refuse(damaged);
  }
  const std::uint64_t end = entry.offset + header + entry.size;
  for (const ZipEntry& other : entries_) {
    if (&other != &entry && other.offset >= entry.offset && other.offset < end) {
      return refuse("overlaps another entry; no honest archive does: export the model again");
    }
  }
  const std::string_view contents = local.substr(header, entry.size);
  if (Crc32(contents) != entry.crc) {
    return refuse("does not have its checksum; the file is damaged: copy or export it again");
  }
  return contents;
}

}  // namespace sharewell::graph::pt2
