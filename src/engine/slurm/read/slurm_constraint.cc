#include "engine/slurm/read/slurm_constraint.h"

#include <algorithm>
#include <utility>

#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {
namespace {

constexpr std::string_view kConstraintMarks = "&,|()[]*";
constexpr int kDeepestConstraint = 16;
constexpr std::size_t kLongestConstraint = 4096;

}  // namespace

class SlurmConstraint::Reader {
 public:
  Reader(std::string_view text, int nodes) : text_(text), nodes_(nodes) {}

  // Up to `end`, or to the end of the text where that is 0.
  bool Terms(char end, int depth, std::vector<Term>& out) {
    if (depth > kDeepestConstraint) return false;
    for (bool either = false;; ++at_) {
      Term term;
      if (!One(depth, term)) return false;
      term.either = either;
      out.push_back(std::move(term));
      const char mark = at_ < text_.size() ? text_[at_] : '\0';
      if (mark == end) {
        if (end != '\0') ++at_;
        return true;
      }
      if (mark != '&' && mark != ',' && mark != '|') return false;
      either = mark == '|';
    }
  }
  // Where there is one of [a|b|c], how many.
  std::size_t one_of = 0;

 private:
  bool One(int depth, Term& term) {
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    if (mark == '(' || mark == '[') {
      ++at_;
      if (!Terms(mark == '(' ? ')' : ']', depth + 1, term.terms)) return false;
      term.kind = Term::Kind::kGroup;
      if (!Count(term.kind)) return false;
      if (mark == '[' && term.kind == Term::Kind::kGroup) TakeOneOf(term);
      return true;
    }
    const std::size_t end = std::min(text_.find_first_of(kConstraintMarks, at_), text_.size());
    term.feature = text_.substr(at_, end - at_);
    at_ = end;
    return !term.feature.empty() && Count(term.kind);
  }
  // "*2": what is asked of fewer nodes than there are says nothing of any one.
  bool Count(Term::Kind& kind) {
    if (at_ >= text_.size() || text_[at_] != '*') return true;
    const std::size_t end = std::min(text_.find_first_not_of("0123456789", at_ + 1), text_.size());
    const auto count = SlurmWhole(text_.substr(at_ + 1, end - at_ - 1), 1'000'000);
    at_ = end;
    if (!count) return false;
    if (*count < nodes_) kind = Term::Kind::kAnything;
    return true;
  }
  void TakeOneOf(Term& term) {
    const bool all_either = std::all_of(term.terms.begin() + 1, term.terms.end(),
                                        [](const Term& one) { return one.either; });
    if (!all_either || nodes_ < 2 || one_of > 0) return;
    term.kind = Term::Kind::kOneOf;
    one_of = term.terms.size();
  }

  std::string_view text_;
  int nodes_;
  std::size_t at_ = 0;
};

std::optional<SlurmConstraint> SlurmConstraint::Parse(std::string_view text, int nodes) {
  if (text.empty() || text == "(null)" || text.size() > kLongestConstraint) return std::nullopt;
  SlurmConstraint out;
  Reader reader(text, nodes);
  if (!reader.Terms('\0', 0, out.terms_)) return std::nullopt;
  out.ways_ = std::max<std::size_t>(reader.one_of, 1);
  return out;
}

// From left to right: a|b&c is (a|b)&c to Slurm.
bool SlurmConstraint::Holds(const std::vector<Term>& terms,
                            const std::vector<std::string>& features,
                            std::optional<std::size_t> way) {
  bool holds = true;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Term& term = terms[i];
    bool one = true;
    switch (term.kind) {
      case Term::Kind::kFeature:
        one = std::find(features.begin(), features.end(), term.feature) != features.end();
        break;
      case Term::Kind::kAnything:
        break;
      case Term::Kind::kGroup:
        one = Holds(term.terms, features, way);
        break;
      case Term::Kind::kOneOf:
        one = Holds({term.terms[way.value_or(0)]}, features, std::nullopt);
        break;
    }
    holds = i == 0 ? one : term.either ? holds || one : holds && one;
  }
  return holds;
}

bool SlurmConstraint::Allows(const std::vector<std::string>& features, std::size_t way) const {
  return Holds(terms_, features, way);
}

}  // namespace sharewell::engine
