// Result<T>: a value, or an Error that a person can act on. CHECK is for what cannot happen.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace sharewell::core {

// What went wrong, by who can mend it; the CLI turns the kind into its exit code.
enum class ErrorKind {
  kUsage,   // the input or the command line is wrong: exit 2
  kFailed,  // we could not do it (disk, memory, a child process): exit 1
  kAbsent,  // hardware or a service is not there: exit 3
};

// What a caller may have to tell apart, whoever can mend it.
enum class ErrorCause : std::uint8_t {
  kOther,
  kTooSlow,   // there was no whole answer within the time
  kWentAway,  // the other side went away before its answer was whole
  kConflict,  // what was named is not in a state for this
  kTaken,     // another server does this already
};

struct Error {
  ErrorKind kind = ErrorKind::kFailed;
  std::string message;  // what, where, why, and what to do next: for people alone
  ErrorCause cause = ErrorCause::kOther;

  // Puts where it happened in front: "FILE: line 3: ..." is built from the inside out.
  Error Within(const std::string& where) && {
    message = where + ": " + message;
    return std::move(*this);
  }
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

template <class... Args>
tl::unexpected<Error> UsageError(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Error{ErrorKind::kUsage, fmt::format(format, std::forward<Args>(args)...)});
}

template <class... Args>
tl::unexpected<Error> FailedError(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(
      Error{ErrorKind::kFailed, fmt::format(format, std::forward<Args>(args)...)});
}

[[noreturn]] inline void CheckFailed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "sharewell: internal error: %s does not hold (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace sharewell::core

// Ends the function with the error of a Result (of any type, named or made on the spot), or
// does nothing. The function's own Result may be of another type.
#define RETURN_IF_ERROR(...)                                      \
  do {                                                            \
    if (auto&& checked_result = (__VA_ARGS__); !checked_result) { \
      return tl::unexpected(std::move(checked_result.error()));   \
    }                                                             \
  } while (false)

#define SHAREWELL_CHECK(condition) \
  ((condition) ? void(0) : ::sharewell::core::CheckFailed(#condition, __FILE__, __LINE__))
