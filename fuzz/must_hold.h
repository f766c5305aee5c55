// What a parser promises of whatever it has read: libFuzzer reports the input for which it does not
// hold.
#pragma once

namespace sharewell::fuzz {

inline void MustHold(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace sharewell::fuzz
