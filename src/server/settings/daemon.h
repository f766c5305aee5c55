// What commands that run until they are told to end have in common.
#pragma once

#include <optional>
#include <string>

#include "core/units.h"

namespace sharewell::server {

std::string HostName();

// REQUIRES: SIGINT, SIGTERM and SIGHUP are held (HoldInterrupts). Until one comes or `left` is
// over; absent: for ever. Whether one came.
bool WaitForSignal(std::optional<core::Seconds> left);

}  // namespace sharewell::server
