// Whether a sanitizer watches this build, which makes it ten times as slow. Tests of many random
// cases take one in kFewer there; `make soak` runs all of them, with the release build.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHAREWELL_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHAREWELL_SANITIZED true
#endif
#endif
#ifndef SHAREWELL_SANITIZED
#define SHAREWELL_SANITIZED false
#endif

namespace sharewell::fixtures {

inline constexpr bool kSanitized = SHAREWELL_SANITIZED;
inline constexpr int kFewer = kSanitized ? 8 : 1;

}  // namespace sharewell::fixtures
