// Source: whom a figure of a job is from. The weakest first, so that the smaller of two is that of
// what was made from both.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sharewell::core {

enum class Source : std::uint8_t {
  kAssumed,    // nobody knows: the cautious guess
  kPredicted,  // computed from its model
  kTold,       // by its user, or by the job itself
  kObserved,   // seen of this workload, alone
};
std::string_view NameOf(Source source);  // "observed", "told", "predicted", "assumed"
std::optional<Source> SourceNamed(std::string_view name);

// Whom each figure of what a job needs is from: one may be seen while the next is still predicted.
struct Sources {
  Source busy = Source::kAssumed;  // of its GPU: the share it keeps busy, and DRAM
  Source sm = Source::kAssumed;
  Source gpu_memory = Source::kAssumed;
  Source cores = Source::kAssumed;  // that it can use
  Source host_memory = Source::kAssumed;
  Source duration = Source::kAssumed;
  Source pace = Source::kAssumed;  // steps a second alone: nobody is judged by one not observed

  static constexpr Sources All(Source one) { return {one, one, one, one, one, one, one}; }
  friend bool operator==(const Sources&, const Sources&) = default;
};

// What one source says of all figures, as it was once written and as clients may still: a rate that
// nobody says was observed was not.
Sources SourcesByOne(Source one);

}  // namespace sharewell::core
