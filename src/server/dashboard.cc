#include "server/dashboard.h"

#include "platform/files/embed.h"

// The build defines SHAREWELL_WEB_DIR, the folder that tools/web filled.
#ifdef SHAREWELL_WEB_DIR

#define SHAREWELL_PAGE_FILE(symbol, file)              \
  SHAREWELL_EMBED_OF(symbol, SHAREWELL_WEB_DIR, file); \
  SHAREWELL_EMBED_OF(symbol##_gzip, SHAREWELL_WEB_DIR, file ".gz")

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
