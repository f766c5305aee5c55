# For tools/cross_aarch64, read right after project(): packages are looked for where this machine has its own. Only their headers are used, which
# are the same for both; nothing is linked.
execute_process(COMMAND gcc -print-multiarch OUTPUT_VARIABLE CMAKE_LIBRARY_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE)
