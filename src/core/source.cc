#include "core/source.h"

namespace sharewell::core {

std::string_view NameOf(Source source) {
  switch (source) {
    case Source::kMeasured:
      return "measured";
    case Source::kPredicted:
      return "predicted";
    case Source::kAssumed:
      break;
  }
  return "assumed";
}

}  // namespace sharewell::core
