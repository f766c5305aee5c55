#include "cli/client/server_flags.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "cli/client/job_names.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "json/value.h"
#include "json/writer.h"
#include "report/jobs/job_tables.h"
#include "report/text/json.h"

namespace sharewell::cli {
namespace {

using core::Result;

constexpr auto kRedrawn = std::chrono::seconds(1);
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearAll = "\x1b[2J\x1b[H";
constexpr std::string_view kClearToEnd = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

std::size_t OutHeight() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
}

// No more than fits: what scrolls cannot be drawn over.
std::string OneScreen(std::string_view text, std::size_t width, std::size_t height) {
  std::string out(kHome);
  for (std::size_t line = 1; !text.empty(); ++line) {
    const auto end = std::min(text.find('\n'), text.size());
    const bool last = line + 1 >= height && end + 1 < text.size();
    out += report::CutTo(std::string(last ? "..." : text.substr(0, end)), width);
    out += fmt::format("{}\n", kClearToEnd);
    if (last) break;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + std::string(kClearBelow);
}

}  // namespace

void ServerFlags::Add(CLI::App& app) {
  AddServer(app);
  app.add_flag("--json", json, "print JSON")->disable_flag_override();
}

void ServerFlags::AddServer(CLI::App& app) {
  app.add_option("--server", server,
                 "socket or URL of the server (default: $SHAREWELL_SERVER, else this machine's)")
      ->type_name("PATH|URL");
}

void AddJobFlag(CLI::App& app, std::string& job) {
  app.add_option("job", job, "its number, or its name")->type_name("JOB")->required();
}

Result<AskedJob> FindJob(const std::string& job, const ServerFlags& flags) {
  auto client = flags.Find();
  RETURN_IF_ERROR(client);
  const auto named = JobToLookAt(*client, job);
  RETURN_IF_ERROR(named);
  if (!named->said.empty()) WriteErr(named->said + "\n");
  return AskedJob{named->number, std::move(*client)};
}

Result<std::string> JsonText(const std::string& body) {
  const auto parsed = json::Document::Parse(body);
  const json::Value root = json::RootOf(parsed);
  if (!root.is_object()) return core::FailedError("the server's answer is not a JSON object");
  return json::Write(json::Style::kReport, [&](json::Writer& out) {
    out.Object([&] {
      const json::Value schema = root["schema"];
      schema.is_null() ? out.Field("schema", report::kSchema) : out.Field("schema", schema);
      for (const auto& [key, value] : root.members()) {
        if (key != "schema") out.Field(key, value);
      }
    });
  });
}

Result<ExitCode> PrintOut(const Result<std::string>& text) {
  RETURN_IF_ERROR(text);
  RETURN_IF_ERROR(WriteOut(*text));
  return kOk;
}

Result<ExitCode> PrintText(const Result<std::string>& text) {
  RETURN_IF_ERROR(text);
  RETURN_IF_ERROR(WriteText(*text));
  return kOk;
}

Result<ExitCode> DrawScreen(bool again,
                            const std::function<Result<std::string>(std::size_t)>& draw) {
  const auto width = OutWidth();
  const auto first = draw(width.value_or(std::numeric_limits<std::size_t>::max()));
  if (!first || !again || !width) return PrintText(first);
  RETURN_IF_ERROR(WriteOut(kClearAll));
  for (auto text = first;; text = draw(OutWidth().value_or(*width))) {
    if (!text && text.error().kind == core::ErrorKind::kUsage) return tl::unexpected(text.error());
    const std::string shown = text ? *text : text.error().message + "\n";
    auto ok = WriteOut(OneScreen(shown, OutWidth().value_or(*width), OutHeight()));
    RETURN_IF_ERROR(ok);
    std::this_thread::sleep_for(kRedrawn);
  }
}

}  // namespace sharewell::cli
