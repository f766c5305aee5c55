# Flags for every target of this project: directory-wide, so that all targets agree and one
# precompiled header can serve many.

# The same input gives the same bytes on x86_64 and aarch64: no fused multiply-add behind our back.
add_compile_options(-ffp-contract=off)
# No path of the building machine in the program.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_link_options(-Wl,--as-needed)

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g0 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g -D_GLIBCXX_ASSERTIONS")

# -Wconversion stays out: it mostly reports index arithmetic; -Wfloat-conversion finds the silent
# double-to-int losses, which are the ones that matter here.
add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wfloat-conversion -Wold-style-cast -Wextra-semi -Wvla -Wformat=2 -Wimplicit-fallthrough
  # C++20 has no trigraphs.
  -Wno-trigraphs)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wsuggest-override -Wduplicated-cond -Wduplicated-branches -Wlogical-op
    # GCC 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
    -Wno-restrict
    # On aarch64 it notes where GCC 10 passed an argument otherwise: all of this is built by one compiler.
    -Wno-psabi)
else()
  add_compile_options(-Wthread-safety -Wsuggest-override)
endif()
if(SHAREWELL_WERROR)
  add_compile_options(-Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Flow-based guesses of the optimiser, often wrong about std::optional and std::vector: reported, never fatal.
    add_compile_options(-Wno-error=maybe-uninitialized -Wno-error=array-bounds
      -Wno-error=stringop-overflow -Wno-error=stringop-overread -Wno-error=free-nonheap-object)
  endif()
endif()

if(SHAREWELL_SANITIZE)
  # A sanitizer's tests mostly wait, and optimising took 60 % of the time to compile them: only what fuzzers run a million times is
  # optimised, and what sharewell_module calls HOT. CI compiles from nothing: lines in reports are for the desk, where they are looked at.
  if(SHAREWELL_FUZZ)
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -D_GLIBCXX_ASSERTIONS")
  else()
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -D_GLIBCXX_ASSERTIONS")
  endif()
  if(SHAREWELL_WERROR)
    string(APPEND CMAKE_CXX_FLAGS_RELWITHDEBINFO " -g0")
  else()
    string(APPEND CMAKE_CXX_FLAGS_RELWITHDEBINFO " -g1")
  endif()
  add_compile_options(-fsanitize=${SHAREWELL_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  if(SHAREWELL_SANITIZE MATCHES "undefined")
    # A null or dangling pointer is AddressSanitizer's to find; these checks of every access double the code.
    add_compile_options(-fno-sanitize=null,alignment,object-size,vptr)
  endif()
  add_link_options(-fsanitize=${SHAREWELL_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Checked products of __int128 call __muloti4, which libgcc lacks.
    add_link_options(--rtlib=compiler-rt --unwindlib=libgcc)
    # A quarter of the default linker's time.
    find_program(LLD_PROGRAM ld.lld-14)
    if(LLD_PROGRAM)
      add_link_options(-fuse-ld=lld)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code confuses these two; the release build still has them.
    add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow)
  endif()
endif()
if(SHAREWELL_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "SHAREWELL_FUZZ needs clang (libFuzzer): use `cmake --preset fuzz`")
  endif()
  # clang 14 for aarch64 turns a switch over coverage counters into a table that points into sections which the
  # linker discards ("relocation against discarded section __sancov_cntrs"): without such tables it links.
  add_compile_options(-fsanitize=fuzzer-no-link "SHELL:-mllvm -switch-to-lookup=false")
endif()
if(SHAREWELL_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache's manual asks for with precompiled headers. What a source includes is read from what the compiler writes
  # for Ninja: preprocessing each source for that alone took 5 to 10 % of a build from nothing.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  else()
    # clang writes the time into a precompiled header, so that nothing compiled with it was ever found again.
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()
