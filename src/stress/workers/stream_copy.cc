#include "stress/workers/stream_copy.h"

#include <cstring>
#include <numeric>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace sharewell::stress {
namespace {

#if defined(__x86_64__)

void StreamCopySse2(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t stamp) {
  const __m128i add = _mm_set1_epi64x(static_cast<long long>(stamp));
  auto* out = reinterpret_cast<__m128i*>(to);
  const auto* in = reinterpret_cast<const __m128i*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(__m128i); i += 4) {
    const __m128i a = _mm_load_si128(in + i);
    const __m128i b = _mm_load_si128(in + i + 1);
    const __m128i c = _mm_load_si128(in + i + 2);
    const __m128i d = _mm_load_si128(in + i + 3);
    _mm_stream_si128(out + i, _mm_add_epi64(a, add));
    _mm_stream_si128(out + i + 1, _mm_add_epi64(b, add));
    _mm_stream_si128(out + i + 2, _mm_add_epi64(c, add));
    _mm_stream_si128(out + i + 3, _mm_add_epi64(d, add));
  }
  _mm_sfence();
}

__attribute__((target("avx2"))) void StreamCopyAvx2(std::byte* to, const std::byte* from,
                                                    std::size_t bytes, std::uint64_t stamp) {
  const __m256i add = _mm256_set1_epi64x(static_cast<long long>(stamp));
  auto* out = reinterpret_cast<__m256i*>(to);
  const auto* in = reinterpret_cast<const __m256i*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(__m256i); i += 2) {
    const __m256i a = _mm256_load_si256(in + i);
    const __m256i b = _mm256_load_si256(in + i + 1);
    _mm256_stream_si256(out + i, _mm256_add_epi64(a, add));
    _mm256_stream_si256(out + i + 1, _mm256_add_epi64(b, add));
  }
  _mm_sfence();
}

#elif defined(__aarch64__)

void StreamCopyNeon(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t stamp) {
  const uint64x2_t add = vdupq_n_u64(stamp);
  for (std::size_t i = 0; i < bytes; i += kLine) {
    const auto* in = reinterpret_cast<const std::uint64_t*>(from + i);
    const uint64x2_t a = vaddq_u64(vld1q_u64(in), add);
    const uint64x2_t b = vaddq_u64(vld1q_u64(in + 2), add);
    const uint64x2_t c = vaddq_u64(vld1q_u64(in + 4), add);
    const uint64x2_t d = vaddq_u64(vld1q_u64(in + 6), add);
    asm volatile("stnp %q0, %q1, [%4]\n\tstnp %q2, %q3, [%4, #32]"
                 :
                 : "w"(a), "w"(b), "w"(c), "w"(d), "r"(to + i)
                 : "memory");
  }
}

#endif

}  // namespace

void StreamCopy(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t stamp) {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  if (avx2) {
    StreamCopyAvx2(to, from, bytes, stamp);
  } else {
    StreamCopySse2(to, from, bytes, stamp);
  }
#elif defined(__aarch64__)
  StreamCopyNeon(to, from, bytes, stamp);
#else
  for (std::size_t i = 0; i < bytes; i += sizeof stamp) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + i, sizeof word);
    word += stamp;
    std::memcpy(to + i, &word, sizeof word);
  }
#endif
}

std::size_t TouchLines(std::byte* memory, std::size_t lines, std::size_t stride, std::size_t at,
                       std::size_t touches) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < touches; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory + at * kLine, sizeof word);
    sum += word;
    if (at % kMarkEvery == 0) {
      ++word;
      std::memcpy(memory + at * kLine, &word, sizeof word);
    }
    at += stride;
    if (at >= lines) at -= lines;
  }
  asm volatile("" : : "r"(sum));  // used: the loads must happen
  return at;
}

std::size_t ScatterStride(std::size_t lines) {
  if (lines < 3) return lines - (lines > 1 ? 1 : 0);
  auto stride = static_cast<std::size_t>(static_cast<double>(lines) * 0.6180339887);
  if (stride == 0) stride = 1;
  while (std::gcd(stride, lines) != 1) ++stride;
  return stride;
}

}  // namespace sharewell::stress
