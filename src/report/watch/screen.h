// A screen of a terminal as text with inks: what is drawn, before anything is drawn. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace sharewell::report {

// What a piece of text is, for who draws in colours; without them nothing is lost.
enum class Ink { kPlain, kDim, kHead, kGood, kWarn, kBad };

struct Piece {
  std::string text;  // fit for a terminal (PlainText)
  Ink ink = Ink::kPlain;

  friend bool operator==(const Piece&, const Piece&) = default;
};

struct ScreenLine {
  std::vector<Piece> pieces;
  bool chosen = false;  // drawn inverted, over the whole width

  friend bool operator==(const ScreenLine&, const ScreenLine&) = default;
};

using Screen = std::vector<ScreenLine>;

struct ScreenSize {
  std::size_t width = 80, height = 24;

  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};

// The line's text, without inks.
std::string TextOf(const ScreenLine& line);
// `text` in pieces of at most `width` columns, broken at spaces where that can be; those after the
// first begin with two blanks. Unlike report::Wrapped it keeps the spaces: a log has columns.
std::vector<std::string> BrokenLine(std::string_view text, std::size_t width);
// The line with everything beyond `width` left out, the last character "…" where something is. No
// word is cut, where that can be, and no short piece: "4 cores" is there or not.
ScreenLine CutLine(ScreenLine line, std::size_t width);

// "██████░░░░"; in ASCII "######....". Unknown: as wide, and plainly nothing.
std::string LoadBar(std::optional<core::Ratio> share, std::size_t width, bool ascii);
// The last `width` values, one character each, from the right; absent ones are blanks.
std::string HistoryLine(const std::vector<std::optional<core::Ratio>>& values, std::size_t width,
                        bool ascii);
// `text` filled with blanks, or cut, to `width`.
std::string LeftIn(const std::string& text, std::size_t width);
std::string RightIn(const std::string& text, std::size_t width);
// The same with everything that is not ASCII as '?', for a terminal that shows no more.
std::string InAscii(std::string_view text);

}  // namespace sharewell::report
