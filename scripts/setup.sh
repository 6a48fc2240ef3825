#!/usr/bin/env bash
# Brings a machine with Python 3.11, make and git to the point where the demo and the tests run: .venv with pinned
# Python packages and the project itself, and, as root on Debian or Ubuntu, missing system packages (through apt).
# Without root these are left out: zig and unicorn, from PyPI, take their place, and tests that need more are skipped.
# Safe to run again: what is already there is left alone, and nothing outside this folder is written except by apt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: %s\n' "$@" >&2; exit 2; }
has() { command -v "$1" >/dev/null 2>&1; }

# The newest of these that is at least 3.11; python3 first, since it is the one the distribution supports.
find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if has "$candidate" && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# A library or header set has no command of its own: ask the compiler that would use it.
compiler_finds() { has "$1" && [[ "$("$1" "-print-file-name=$2")" == */* ]]; }
compiles() { has "$1" && printf '#include <stdint.h>\n' | "$1" -x "$2" -fsyntax-only - 2>/dev/null; }

# need PACKAGE WHAT PROBE...: the Debian package, what of it is used, and the proof that it (or its equal) is there
missing=()  # Debian packages
lacking=()  # the same as commands and files, for systems with other packages
need() {
    local package=$1 what=$2
    shift 2
    "$@" && return
    missing+=("$package")
    lacking+=("$what (Debian package $package)")
}

check_system() {
    missing=() lacking=()
    need gcc gcc has gcc
    need libc6-dev "stdint.h for gcc" compiles gcc c
    need g++ g++ compiles g++ c++
    need cmake cmake has cmake
    need make make has make
    need dpkg-dev "dpkg-source and dpkg-parsechangelog, for MicroPython's source package" has dpkg-source
    need qemu-system-arm qemu-system-arm has qemu-system-arm
    need qemu-system-misc qemu-system-riscv32 has qemu-system-riscv32
    need gcc-arm-none-eabi arm-none-eabi-gcc has arm-none-eabi-gcc
    need libnewlib-arm-none-eabi "newlib for arm-none-eabi-gcc" compiler_finds arm-none-eabi-gcc libc.a
    need gcc-riscv64-unknown-elf riscv64-unknown-elf-gcc has riscv64-unknown-elf-gcc
    need picolibc-riscv64-unknown-elf "picolibc for riscv64-unknown-elf-gcc" \
        compiler_finds riscv64-unknown-elf-gcc picolibc.specs
    [[ -x .venv/bin/python ]] || need python3-venv "Python's venv and ensurepip modules" has_venv
}
has_venv() { local python; python=$(find_python) && "$python" -c 'import ensurepip, venv' 2>/dev/null; }

# Without these nothing works; they cannot be left out.
need_venv() {
    [[ " ${missing[*]} " != *" python3-venv "* ]] || die "Python's venv and ensurepip modules are missing" \
        "install them as root: apt-get install python3-venv"
}

# What is not there is written down once, for the tests' summary.
leave_out() {
    need_venv
    mkdir -p build
    if [[ "$(cat build/missing.txt 2>/dev/null)" != "${missing[*]}" ]]; then
        say "not installed ($1):" && printf '  %s\n' "${lacking[@]}" >&2
        say "zig and unicorn take the place of compilers and emulators; tests that need more are skipped by name"
        printf '%s\n' "${missing[*]}" >build/missing.txt
    fi
}

install_system() {
    if ! has apt-get; then
        leave_out "there is no apt-get here"
        return
    fi
    local as_root=()
    if [[ $(id -u) -ne 0 ]]; then
        if ! has sudo || ! { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
            leave_out "that needs root"
            return
        fi
        as_root=(sudo)
    fi
    say "installing Debian packages, a few minutes at most: ${missing[*]}"
    local log=build/setup-apt.log
    mkdir -p build
    "${as_root[@]}" apt-get update >"$log" 2>&1 || say "apt-get update failed; trying with the lists that are there"
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
        tail -n 15 "$log" >&2
        die "apt-get install failed (all of its output: $log)"
    fi
    check_system
    [[ ${#missing[@]} -eq 0 ]] || die "still missing after installation: ${missing[*]}"
    rm -f build/missing.txt
}

pip_install() {
    mkdir -p build
    if ! .venv/bin/python -m pip install --disable-pip-version-check --quiet "$@" >build/setup-pip.log 2>&1; then
        tail -n 15 build/setup-pip.log >&2
        die "pip install $* failed (all of its output: build/setup-pip.log)"
    fi
}

# Changes when the wanted packages change, or when the folder has been moved (a venv holds absolute paths).
wanted() { { cat constraints.txt pyproject.toml scripts/setup.sh; pwd; } | sha256sum; }

install_python() {
    local python
    python=$(find_python) || die "Python 3.11 or newer is needed; found: $(python3 --version 2>&1 || true)"
    if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        say "creating .venv with $("$python" --version)"
        rm -rf .venv
        "$python" -m venv .venv
    fi
    # Alone and first, with exactly this specifier: it is the one that finds a CPU-only build where there is one.
    if ! .venv/bin/python -c 'import importlib.metadata as m; assert m.version("torch").split("+")[0] == "2.13.0"' \
            2>/dev/null; then
        say "installing PyTorch, a minute or two"
    fi
    pip_install torch==2.13.0
    pip_install torchao==0.18.0 --no-deps
    say "installing the other Python packages"
    pip_install setuptools -c constraints.txt
    pip_install --no-build-isolation -c constraints.txt -e '.[dev]'
    install_reference_model
    wanted >.venv/setup.stamp
}

# Arm's TOSA reference model, for the tests of NPUs. Its package asks for other versions of numpy and flatbuffers, which
# this one program does not need, so nothing else of it is installed. Where there is no wheel its tests are skipped.
install_reference_model() {
    say "installing the TOSA reference model"
    if ! .venv/bin/python -m pip download --disable-pip-version-check --quiet --no-deps --only-binary :all: \
            -c constraints.txt -d build/tosa-tools tosa-tools >build/setup-tosa.log 2>&1; then
        say "PyPI has no tosa-tools for this system: tests that need its reference model are skipped by name"
        return
    fi
    .venv/bin/python - build/tosa-tools/*.whl .venv/bin/tosa_reference_model <<'END'
import pathlib, sys, zipfile
*_, wheel, program = sys.argv
pathlib.Path(program).write_bytes(zipfile.ZipFile(wheel).read("bin/tosa_reference_model"))
pathlib.Path(program).chmod(0o755)
END
    rm -rf build/tosa-tools
}

check_system
if [[ ${#missing[@]} -eq 0 ]]; then rm -f build/missing.txt; else install_system; fi
if [[ ! -f .venv/setup.stamp || "$(<.venv/setup.stamp)" != "$(wanted)" ]]; then
    install_python
    say "done"
fi
