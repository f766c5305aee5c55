// Paths to handlers, and the text behind a path's question mark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sharewell::http {

// Which of some routes a request means. A path is parts between slashes; {name} stands for any one
// part that is not empty.
class RouteTable {
 public:
  // The number of the route: they count from 0. The same again gives the number it had.
  std::size_t Add(const std::string& method, const std::string& path);

  struct Match {
    std::optional<std::size_t> route;
    std::vector<std::string> parameters;  // decoded
    std::string allowed;                  // the path is known, the method is not: "GET, HEAD"
  };
  // HEAD goes where GET goes.
  Match Find(std::string_view method, std::string_view path) const;
  std::vector<std::pair<std::string, std::string>> All() const;  // method, path

 private:
  struct Route {
    std::string method, path;
    std::vector<std::string> parts;
  };
  std::vector<Route> routes_;
};

// %20 and the like; what is no such thing stays. In a query '+' is a blank.
std::string Decoded(std::string_view text, bool query = false);
// a=1&b=2, in order; a name alone has an empty value. At most 100.
std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query);

}  // namespace sharewell::http
