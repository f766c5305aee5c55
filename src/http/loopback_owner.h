// Whose the other end of a connection from this machine is, as the kernel knows it. For counting
// alone: over TCP a token says who somebody is.
#pragma once

#include <cstdint>
#include <optional>

namespace sharewell::http {

// `accepted`: a TCP connection from an address of this machine. Absent: the kernel does not say, or
// the other end has closed already.
std::optional<std::uint32_t> LoopbackOwner(int accepted);

}  // namespace sharewell::http
