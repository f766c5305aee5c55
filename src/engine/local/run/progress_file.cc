#include "engine/local/run/progress_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace sharewell::engine {
namespace {

constexpr off_t kGiveBackEvery = 16 << 20;
constexpr int kMostDigits = 15;

}  // namespace

ProgressFile::ProgressFile(std::string path, ProgressOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  FILE* memory = options_.memory.empty() ? nullptr : std::fopen(options_.memory.c_str(), "re");
  if (memory == nullptr) return;
  long long counted = 0;
  double steps = 0;
  if (std::fscanf(memory, "%lld %lf", &counted, &steps) == 2 && counted >= 0 && steps >= 0) {
    read_ = given_back_ = counted;
    steps_ = steps;
  }
  std::fclose(memory);
}

ProgressFile::~ProgressFile() {
  if (file_ >= 0) ::close(file_);
}

bool ProgressFile::OpenIfNew() {
  struct stat at_path {};
  if (::stat(path_.c_str(), &at_path) != 0) return file_ >= 0;
  if (file_ >= 0 && at_path.st_ino == inode_) return true;
  if (!S_ISREG(at_path.st_mode)) return file_ >= 0;
  const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return file_ >= 0;
  if (file_ >= 0) {
    ::close(file_);
    read_ = given_back_ = 0;
  }
  file_ = file;
  inode_ = at_path.st_ino;
  return true;
}

bool ProgressFile::Look() {
  struct stat state {};
  if (!OpenIfNew() || ::fstat(file_, &state) != 0) return false;
  const core::Seconds written(static_cast<double>(state.st_mtim.tv_sec) +
                              static_cast<double>(state.st_mtim.tv_nsec) * 1e-9);
  if (state.st_size < read_ ||
      (state.st_size == read_ && read_ > 0 && written_.value > 0 && written != written_)) {
    read_ = given_back_ = 0;
    rewritten_ = true;
  }
  written_ = written;
  const double before = steps_;
  if (state.st_size - read_ > options_.most_behind) {
    flooded_ = true;
    GiveBack(state.st_size);
    read_ = state.st_size;
    other_ = true;
  }
  const off_t end = std::min<off_t>(state.st_size, read_ + options_.most_at_once);
  std::vector<char> block;
  while (read_ < end) {
    block.resize(static_cast<std::size_t>(std::min<off_t>(1 << 16, end - read_)));
    const ssize_t n = ::pread(file_, block.data(), block.size(), read_);
    if (n <= 0) break;
    Count(block.data(), static_cast<std::size_t>(n));
    read_ += n;
  }
  all_read_ = read_ >= state.st_size;
  if (read_ - given_back_ >= kGiveBackEvery) GiveBack(read_);
  return steps_ != before;
}

void ProgressFile::Count(const char* bytes, std::size_t size) {
  const char* const end = bytes + size;
  while (bytes < end) {
    const auto* line_end =
        static_cast<const char*>(std::memchr(bytes, '\n', static_cast<std::size_t>(end - bytes)));
    const char* const stop = line_end == nullptr ? end : line_end;
    for (const char* c = bytes; c < stop && !other_; ++c) {
      other_ = *c < '0' || *c > '9' || ++digits_ > kMostDigits;
      if (!other_) number_ = number_ * 10 + (*c - '0');
    }
    if (line_end == nullptr) return;
    EndLine();
    bytes = line_end + 1;
  }
}

void ProgressFile::EndLine() {
  const bool says = digits_ > 0 && !other_ && number_ > steps_;
  steps_ = says ? number_ : steps_ + 1;
  number_ = 0;
  digits_ = 0;
  other_ = false;
}

void ProgressFile::GiveBack(off_t end) {
  if (!options_.memory.empty()) {
    // First what was counted, then what it was counted from: between the two nothing is lost.
    const std::string draft = options_.memory + ".tmp";
    FILE* memory = std::fopen(draft.c_str(), "we");
    if (memory == nullptr) return;
    const bool kept = std::fprintf(memory, "%lld %.0f\n", static_cast<long long>(end), steps_) > 0;
    if (std::fclose(memory) != 0 || !kept ||
        std::rename(draft.c_str(), options_.memory.c_str()) != 0) {
      return;
    }
  }
  if (::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, given_back_,
                  end - given_back_) == 0) {
    given_back_ = end;
  }
}

}  // namespace sharewell::engine
