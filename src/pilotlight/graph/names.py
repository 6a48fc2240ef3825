"""The user's names as C wants them: none may be one that C, its library, CMake or the generated code has."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

_LONGEST = 48  # characters: file names and symbols are a few words longer

# NAME.h is in an include path: it must not hide <NAME.h> of ISO C, POSIX, glibc, newlib or a compiler.
_HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbit
stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
aio aliases alloca ar argp argz byteswap cpio crypt curses devctl dirent dlfcn elf endian envlock envz err error
execinfo fastmath fcntl features fmtmsg fnmatch form fstab fts ftw getopt glob grp iconv ieeefp ifaddrs langinfo
libgen libintl link machine malloc mcheck memory menu mntent monetary mqueue ncurses ndbm netdb newlib nl_types nss
obstack panel paths poll printf pthread pty pwd reent regdef regex regexp resolv sched search semaphore shadow spawn
stab stdfix stdint_gcc strings stropts syscall sysexits syslimits syslog tar term termcap termio termios trace ucontext
ulimit unctrl unistd unwind utime utmp utmpx values varargs wait wordexp
arm_acle arm_bf16 arm_cde arm_cmse arm_fp16 arm_mve arm_mve_types arm_neon cpuid emmintrin gcov immintrin mmintrin omp
quadmath riscv_vector x86intrin xmmintrin
"""
# NAME_t is our type: it must not be one of theirs.
_TYPES = """
blkcnt blksize bool cc char8 char16 char32 clock clockid cnd cookie_io_functions dev div double eflags err errno
fexcept fpos fpregset fsblkcnt fsfilcnt gid greg gregset id idtype imaxdiv in_addr in_port ino int int_fast8 int_fast16
int_fast32 int_fast64 int_least8 int_least16 int_least32 int_least64 int8 int16 int32 int64 intmax intptr key ldiv
lldiv loff max_align mbstate mcontext mode mqd mtx nfds nlink nullptr off once_flag pid ptrdiff quad register
regmatch regoff rlim rsize rune sa_family sem sig_atomic siginfo sigset size socklen speed ssize stack suseconds tcflag
thrd timer tss uid uint uint_fast8 uint_fast16 uint_fast32 uint_fast64 uint_least8 uint_least16 uint_least32
uint_least64 uint8 uint16 uint32 uint64 uintmax uintptr useconds va_list wctrans wint
"""
# Targets that CMake has for itself, and main.c, which projects have.
_TARGETS = "all clean depend edit_cache help install list_install_components main package package_source preinstall " \
    "rebuild_cache run_tests test zero_check"
_TAKEN = frozenset(f"{_HEADERS} {_TYPES} {_TARGETS}".split())
# Prefixes of the C library, our own, and the one file that is not named after the model.
_OURS = re.compile(r"_|pl(_|$)|pilotlight|example_main$|(sys|posix|pthread|metadata)(_|$)")


def model_name(text: str) -> str:
    """What the functions and files of a model begin with: lower case, with the prefix `m_` where others would clash."""
    name = _shortened(_word(text).lower())
    if not name or name[0].isdigit() or name in _TAKEN or _OURS.match(name):
        return f"m_{name}"
    return name


def port_names(texts: Iterable[str]) -> list[str]:
    """C words for the inputs or the outputs of a model: what PyTorch calls them, told apart without regard to case,
    since macros are upper case."""
    names: list[str] = []
    taken: set[str] = set()
    for text in texts:
        word = _shortened(_word(text)) or "_"
        name, count = word, 1
        while name.lower() in taken:
            count += 1
            name = f"{word}_{count}"
        taken.add(name.lower())
        names.append(name)
    return names


def in_comment(text: str) -> str:
    """The user's text inside a C comment or after `//`: it neither ends the comment nor begins another."""
    line = " ".join(text.split()).rstrip("\\")
    return line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def _word(text: str) -> str:
    """Letters, digits and underscores of ASCII. Accents are dropped, letters of other alphabets become numbers."""
    plain = (c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return "".join("_" if not c.isalnum() else c if c.isascii() else f"u{ord(c):x}" for c in plain)


def _shortened(name: str) -> str:
    """A long name keeps its beginning and gets a few digits that tell it apart."""
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
