// MetricLines: the numbers that a job tells of itself, such as its loss, line by line
// (docs/formats/steps.md): "loss 0.412 1200" or "loss 0.412". Of each name the last value is kept.
//
// The bytes are the job's and may be anything; whatever is no such line, or one name too many, is
// passed over. Nothing but libc: the job's supervisor reads it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/metric_name.h"

namespace sharewell::platform {

class MetricLines {
 public:
  static constexpr std::size_t kMostLine = 96;  // with its newline
  static constexpr std::size_t kMostDigits = 15;

  struct Metric {
    char name[core::kLongestMetricName + 1] = {};
    std::int64_t at = 0;  // when it was read, in Unix milliseconds
    double value = 0;
    std::int64_t step = -1;  // -1: none was told
  };

  // What came next, cut anywhere. True: something was told.
  bool Read(const char* bytes, std::size_t size, std::int64_t now) {
    bool told = false;
    for (const char* c = bytes; c < bytes + size; ++c) {
      if (*c != '\n') {
        if (size_ < kMostLine) line_[size_++] = *c;
        continue;
      }
      if (size_ < kMostLine) {
        line_[size_] = 0;
        told = (std::strlen(line_) == size_ && TakeLine(now)) || told;
      }
      size_ = 0;
    }
    return told;
  }

  std::size_t count() const { return count_; }
  const Metric& operator[](std::size_t i) const { return metrics_[i]; }  // REQUIRES: i < count()

 private:
  // "loss 0.412 1200"
  bool TakeLine(std::int64_t now) {
    const char* const value = std::strchr(line_, ' ');
    if (value == nullptr) return false;
    const std::string_view name(line_, static_cast<std::size_t>(value - line_));
    Metric one;
    if (!core::IsMetricName(name) || !TakeNumbers(value + 1, one)) return false;
    Metric* const place = PlaceOf(name);
    if (place == nullptr) return false;
    std::memcpy(one.name, name.data(), name.size());
    one.at = now;
    *place = one;
    return true;
  }

  static bool TakeNumbers(const char* text, Metric& out) {
    const char* const step = std::strchr(text, ' ');
    const std::size_t size =
        step == nullptr ? std::strlen(text) : static_cast<std::size_t>(step - text);
    // Neither "nan" nor "inf", nor "0x1p3".
    if (size == 0 || std::strspn(text, "0123456789+-.eE") != size) return false;
    char* end = nullptr;
    out.value = std::strtod(text, &end);
    if (end != text + size) return false;
    if (!(out.value >= -core::kMostMetric && out.value <= core::kMostMetric)) return false;
    if (step == nullptr) return true;
    const std::size_t digits = std::strspn(step + 1, "0123456789");
    if (digits == 0 || digits > kMostDigits || step[1 + digits] != 0) return false;
    out.step = std::strtoll(step + 1, nullptr, 10);
    return true;
  }

  // Null: there are too many already.
  Metric* PlaceOf(std::string_view name) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (name == metrics_[i].name) return &metrics_[i];
    }
    return count_ < core::kMostMetrics ? &metrics_[count_++] : nullptr;
  }

  Metric metrics_[core::kMostMetrics];
  std::size_t count_ = 0;
  char line_[kMostLine] = {};
  std::size_t size_ = 0;  // of the line that has not ended yet; kMostLine: it is too long
};

}  // namespace sharewell::platform
