// The part of zip that PyTorch writes: a central directory (zip64 too) and entries stored as they
// are. Nothing is unpacked to disk and nothing is inflated, so an archive cannot be larger than its
// bytes; names are compared, never used as paths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::graph::pt2 {

struct ZipEntry {
  std::string_view name;  // into the archive's bytes
  std::uint16_t flags = 0;
  std::uint16_t method = 0;  // 0: stored
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;  // bytes in the archive, as the directory claims
  std::uint64_t size = 0;    // bytes unpacked, as the directory claims
  std::uint64_t offset = 0;  // of the local header
};

class Zip {
 public:
  // The bytes must outlive the archive. Errors name the archive.
  static core::Result<Zip> Open(std::string_view bytes, const std::string& name);

  static bool LooksLike(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

  const std::vector<ZipEntry>& entries() const { return entries_; }

  // The entry's bytes, into the archive's. Refuses what is compressed, encrypted, outside the file,
  // overlapped by another entry, or does not have the checksum that the directory states.
  // REQUIRES: an entry of this archive.
  core::Result<std::string_view> Read(const ZipEntry& entry) const;

 private:
  Zip(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  std::string_view bytes_;
  std::string name_;
  std::uint64_t directory_ = 0;  // where the central directory begins: entries end before it
  std::vector<ZipEntry> entries_;
};

}  // namespace sharewell::graph::pt2
