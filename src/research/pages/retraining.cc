#include "research/pages/retraining.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::research {
namespace {

// A mean of logarithms as people say it.
std::string AsPercent(const std::optional<double>& error) {
  return error ? fmt::format("{:.1f} %", 100 * std::expm1(*error)) : report::kUnknown;
}

std::string Cut(const std::optional<double>& before, const std::optional<double>& after) {
  if (!before || !after || *before <= 0) return report::kUnknown;
  const double change = std::round(100 * (*after / *before - 1));
  return change == 0 ? "0 %" : fmt::format("{:+.0f} %", change);
}

constexpr const char* kWhatErrorsAre =
    "errors: the mean of how far the logarithm of a prediction is off, as a percentage\n";

std::string NextText(const NextErrors& errors, const std::string& title,
                     const std::string& given = "retrained") {
  report::Table table({{title, report::Align::kLeft},
                       {"shipped", report::Align::kRight},
                       {given, report::Align::kRight},
                       {"change", report::Align::kRight}});
  for (std::size_t f = 0; f < predict::kFigures; ++f) {
    if (!errors.shipped[f]) continue;
    table.Row({std::string(predict::kFigureNames[f]), AsPercent(errors.shipped[f]),
               AsPercent(errors.retrained[f]), Cut(errors.shipped[f], errors.retrained[f])});
  }
  return table.Text();
}

}  // namespace

std::string NextErrorsText(const NextErrors& errors, const std::string& given) {
  return fmt::format(
      "{}\n{}",
      NextText(errors, fmt::format("error on {}", core::Count(errors.runs, "row")), given),
      kWhatErrorsAre);
}

std::string NextErrorsJson(const NextErrors& errors, const std::string& given) {
  return report::JsonReport([&](json::Writer& out) {
    out.Field("trained", given);
    out.Field("rows", errors.runs);
    out.Key("figures");
    out.List([&] {
      for (std::size_t f = 0; f < predict::kFigures; ++f) {
        out.Object([&] {
          out.Field("figure", predict::kFigureNames[f]);
          out.Field("shipped_error", errors.shipped[f]);
          out.Field("trained_error", errors.retrained[f]);
        });
      }
    });
  });
}

std::string RetrainText(const RetrainReport& report) {
  const predict::Retrained& result = report.result;
  report::Table table({{"figure", report::Align::kLeft},
                       {"shipped", report::Align::kRight},
                       {"retrained", report::Align::kRight},
                       {"judged on", report::Align::kRight},
                       {"verdict", report::Align::kLeft},
                       {"why", report::Align::kLeft}});
  for (std::size_t f = 0; f < predict::kFigures; ++f) {
    const predict::FigureJudgement& figure = result.figures[f];
    table.Row({std::string(predict::kFigureNames[f]), AsPercent(figure.shipped),
               AsPercent(figure.retrained), fmt::format("{}", figure.workloads),
               std::string(predict::NameOf(figure.verdict)), figure.why});
  }
  std::string out = fmt::format(
      "learnt from {} of {}; judged on the {} after them\n\n{}\n", core::Count(result.runs, "run"),
      core::Count(result.workloads, "workload"), result.held_out, table.Text());
  if (report.next) {
    out += fmt::format("{}\n",
                       NextText(*report.next, fmt::format("error on the next {}",
                                                          core::Count(report.next->runs, "run"))));
  }
  if (report.unseen) {
    out += fmt::format(
        "{}\n",
        NextText(*report.unseen, fmt::format("on {} of them whose workload was not learnt from",
                                             core::Count(report.unseen->runs, "run"))));
  }
  out += kWhatErrorsAre;
  return out;
}

}  // namespace sharewell::research
