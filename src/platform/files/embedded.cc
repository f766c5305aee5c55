#include "platform/files/embedded.h"

// The assembler copies the files in: no generator, no copy in the build folder, and the same for
// GCC and clang on ELF, x86_64 and aarch64. SHAREWELL_DATA_DIR comes from the build and stays out
// of the program. The symbols are hidden, so that a static link into a library does not export
// them.
#define SHAREWELL_EMBED(symbol, file)                         \
  __asm__(                                                    \
      ".pushsection .rodata\n"                                \
      ".hidden " #symbol                                      \
      "_begin\n"                                              \
      ".hidden " #symbol                                      \
      "_end\n"                                                \
      ".global " #symbol                                      \
      "_begin\n"                                              \
      ".global " #symbol                                      \
      "_end\n"                                                \
      ".balign 16\n" #symbol                                  \
      "_begin:\n"                                             \
      ".incbin \"" SHAREWELL_DATA_DIR "/" file "\"\n" #symbol \
      "_end:\n"                                               \
      ".byte 0\n"                                             \
      ".popsection\n");                                       \
  extern "C" const char symbol##_begin[], symbol##_end[]

SHAREWELL_EMBED(sharewell_embedded_gpus, "gpus.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_profiles, "h200/profiles.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_pairs, "h200/pairs.csv");

namespace sharewell::platform {

std::string_view EmbeddedGpus() {
  return {sharewell_embedded_gpus_begin, sharewell_embedded_gpus_end};
}

std::string_view EmbeddedH200Profiles() {
  return {sharewell_embedded_h200_profiles_begin, sharewell_embedded_h200_profiles_end};
}

std::string_view EmbeddedH200Pairs() {
  return {sharewell_embedded_h200_pairs_begin, sharewell_embedded_h200_pairs_end};
}

}  // namespace sharewell::platform
