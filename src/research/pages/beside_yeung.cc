#include "research/pages/beside_yeung.h"

#include <fmt/format.h>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::research {
namespace {

std::string Rmsle(double value) { return fmt::format("{:.3f}", value); }

}  // namespace

std::string BesideYeungTable(const BesideYeung& in) {
  report::Table table({{"learner", report::Align::kLeft},
                       {"paper", report::Align::kRight},
                       {"rows at random", report::Align::kRight},
                       {"families held out", report::Align::kRight}});
  for (const LearnerBesideYeung& one : in.learners) {
    if (one.learner == "analytic") table.Gap();
    table.Row({one.learner, report::Or(one.paper, Rmsle), Rmsle(one.random), Rmsle(one.family)});
  }
  return fmt::format("RMSLE of GPU utilisation: {} of {}, {} folds\n\n{}",
                     core::Count(in.rows, "workload"),
                     core::Count(in.families, "family", "families"), in.folds, table.Text()) +
         "\n"
         "yeung-*   the learner alone, on the features that Yeung et al. name, its options chosen\n"
         "          in every fold by 5-fold cross-validation, as in the paper\n"
         "+run      with the precision and the loader processes too, which the paper never varied\n"
         "analytic  our base alone; its rates were fitted to data/h200, so there it has seen the\n"
         "          rows held out (docs/prediction.md says what it is worth without that)\n"
         "mean      our predictor as users get it, on that base\n";
}

std::string BesideYeungJson(const BesideYeung& in, const std::vector<std::string>& profiles) {
  return report::JsonReport([&](json::Writer& out) {
    out.Field("profiles", profiles);
    out.Field("rows", in.rows);
    out.Field("families", in.families);
    out.Field("folds", in.folds);
    out.List("learners", in.learners, [&](const LearnerBesideYeung& one) {
      out.Object([&] {
        out.Field("name", one.learner);
        out.Field("paper_rmsle", one.paper);
        out.Field("random_rmsle", one.random);
        out.Field("family_rmsle", one.family);
      });
    });
  });
}

}  // namespace sharewell::research
