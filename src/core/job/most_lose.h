// Who gives way where users share a bounded room: whoever has most, so that a flood of one user's
// never drives out another's.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace sharewell::core {

// How many each must lose so that at most `most` stay: one at a time from whoever has most then; of
// equals the last by name. Those who lose nothing are not in it.
std::map<std::string, std::size_t> MostLose(const std::map<std::string, std::size_t>& by_user,
                                            std::size_t most);

}  // namespace sharewell::core
