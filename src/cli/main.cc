#include <string>
#include <vector>

#include "cli/app.h"

int main(int argc, char** argv) {
  return sharewell::cli::RunProgram(
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
