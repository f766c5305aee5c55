// Addresses and messages without the password.
#pragma once

#include <string>
#include <string_view>

namespace sharewell::store {

bool HoldsPassword(std::string_view url);

// postgresql://me:secret@host/db?password=x as postgresql://me:***@host/db?password=***.
std::string WithoutPassword(std::string_view url);

// `message` with the url, and each password of it as written or decoded, taken out.
std::string WithoutPassword(std::string_view message, std::string_view url);

}  // namespace sharewell::store
