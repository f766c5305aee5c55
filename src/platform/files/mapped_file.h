// A file's bytes, mapped read-only: nothing is copied, pages are read when touched.
//
// Movable, not copyable; the text lives as long as the object. A file that is cut short by someone
// else while it is mapped ends the program (SIGBUS): read files that are finished.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sharewell::platform {

class MappedFile {
 public:
  // An empty file gives an empty text. A path that is missing, a directory or no regular file is a
  // usage error; a file that may not be read, or a failing disk, is a failure.
  // kSparse: only some of it will be read, so the disk need not be asked for what lies around.
  enum class Access { kWhole, kSparse };
  static core::Result<MappedFile> Open(const std::string& path, Access access = Access::kWhole);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view text() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, std::size_t size) : data_(data), size_(size) {}

  const char* data_ = nullptr;  // null: empty
  std::size_t size_ = 0;
};

}  // namespace sharewell::platform
