// SHAREWELL_EMBED_OF(name, FOLDER, "file"): a file inside the program, from name_begin to name_end.
//
// The assembler copies it in: no generator, no copy in the build folder, and the same for GCC and
// clang on ELF, x86_64 and aarch64. FOLDER is a string that the build defines; it stays out of the
// program. The symbols are hidden, so that a static link into a library does not export them.
#pragma once

#define SHAREWELL_EMBED_OF(symbol, folder, file)  \
  __asm__(                                        \
      ".pushsection .rodata\n"                    \
      ".hidden " #symbol                          \
      "_begin\n"                                  \
      ".hidden " #symbol                          \
      "_end\n"                                    \
      ".global " #symbol                          \
      "_begin\n"                                  \
      ".global " #symbol                          \
      "_end\n"                                    \
      ".balign 16\n" #symbol                      \
      "_begin:\n"                                 \
      ".incbin \"" folder "/" file "\"\n" #symbol \
      "_end:\n"                                   \
      ".byte 0\n"                                 \
      ".popsection\n");                           \
  extern "C" const char symbol##_begin[], symbol##_end[]
