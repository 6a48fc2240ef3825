/* Ports compile for size. On a host the files that every operation uses are compiled for speed instead. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#endif
