#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/commands/commands.h"

int main(int argc, char** argv) {
  return sharewell::cli::RunProgram(
      sharewell::cli::SharewellProgram(),
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
