#include "report/text/csv.h"

#include <gtest/gtest.h>

#include <limits>

namespace sharewell::report {
namespace {

TEST(CsvText, QuotesWhatNeedsIt) {
  CsvText csv("a,b");
  csv.Field("plain").Field("a,b").EndRow();
  csv.Field("say \"hi\"").Field("two\nlines").EndRow();
  csv.Field(" edge").Field("").EndRow();
  EXPECT_EQ(std::move(csv).Take(),
            "a,b\nplain,\"a,b\"\n\"say \"\"hi\"\"\",\"two\nlines\"\n\" edge\",\n");
}

TEST(CsvText, WhatASpreadsheetWouldRunIsMadeHarmless) {
  CsvText csv("a");
  for (const char* text : {"=1+1", "+1", "-1", "@SUM(A1)", "\tx", "=a,b", "a=b", "", "ann"}) {
    csv.Harmless(text).EndRow();
  }
  EXPECT_EQ(std::move(csv).Take(), "a\n'=1+1\n'+1\n'-1\n'@SUM(A1)\n'\tx\n\"'=a,b\"\na=b\n\nann\n");
}

TEST(CsvText, NumbersReadBackTheSame) {
  CsvText csv("a,b,c,d");
  csv.Field(0.1)
      .Field(3.0)
      .Field(std::optional<double>())
      .Field(std::numeric_limits<double>::infinity());
  csv.EndRow();
  EXPECT_EQ(std::move(csv).Take(), "a,b,c,d\n0.1,3,,\n");
}

}  // namespace
}  // namespace sharewell::report
