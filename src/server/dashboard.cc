#include "server/dashboard.h"

// Through the assembler, as platform/files/embedded.cc does it and for its reasons. The build
// defines SHAREWELL_WEB_DIR, the folder that tools/web filled.
#ifdef SHAREWELL_WEB_DIR

#define SHAREWELL_PAGE_PART(symbol, file)                    \
  __asm__(                                                   \
      ".pushsection .rodata\n"                               \
      ".hidden " #symbol                                     \
      "_begin\n"                                             \
      ".hidden " #symbol                                     \
      "_end\n"                                               \
      ".global " #symbol                                     \
      "_begin\n"                                             \
      ".global " #symbol                                     \
      "_end\n"                                               \
      ".balign 16\n" #symbol                                 \
      "_begin:\n"                                            \
      ".incbin \"" SHAREWELL_WEB_DIR "/" file "\"\n" #symbol \
      "_end:\n"                                              \
      ".byte 0\n"                                            \
      ".popsection\n");                                      \
  extern "C" const char symbol##_begin[], symbol##_end[]

#define SHAREWELL_PAGE_FILE(symbol, file) \
  SHAREWELL_PAGE_PART(symbol, file);      \
  SHAREWELL_PAGE_PART(symbol##_gzip, file ".gz")

SHAREWELL_PAGE_FILE(sharewell_page_index, "index.html");
SHAREWELL_PAGE_FILE(sharewell_page_script, "app.js");
SHAREWELL_PAGE_FILE(sharewell_page_style, "app.css");
SHAREWELL_PAGE_FILE(sharewell_page_icon, "favicon.svg");

#endif

namespace sharewell::server {

std::vector<api::PageFile> DashboardFiles() {
#ifdef SHAREWELL_WEB_DIR
  return {{"index.html",
           "text/html; charset=utf-8",
           {sharewell_page_index_begin, sharewell_page_index_end},
           {sharewell_page_index_gzip_begin, sharewell_page_index_gzip_end}},
          {"app.js",
           "text/javascript; charset=utf-8",
           {sharewell_page_script_begin, sharewell_page_script_end},
           {sharewell_page_script_gzip_begin, sharewell_page_script_gzip_end}},
          {"app.css",
           "text/css; charset=utf-8",
           {sharewell_page_style_begin, sharewell_page_style_end},
           {sharewell_page_style_gzip_begin, sharewell_page_style_gzip_end}},
          {"favicon.svg",
           "image/svg+xml",
           {sharewell_page_icon_begin, sharewell_page_icon_end},
           {sharewell_page_icon_gzip_begin, sharewell_page_icon_gzip_end}}};
#else
  return {};
#endif
}

}  // namespace sharewell::server
