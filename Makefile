# make demo and make test each do all the set-up they need; the second time it takes a moment.
PYTHON := .venv/bin/python
PYTEST_ARGS ?=
# Tests that need no board and hardly any compiler: together they take less than a minute.
UNIT := tests/unit
TESTS ?= $(UNIT)
# Hand-written C.
C_FOLDERS := src/pilotlight/csrc src/pilotlight/kernels src/pilotlight/micropython

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-report check coverage lint docs projects mpy torchscript torchscript-micropython sizes bench bench-compile bench-anywhere bench-server bench-fft bench-tune bench-cycles npu conformance conformance-onnx conformance-micropython fuzz fuzz-files onnx-networks fuzz-onnx fuzz-onnx-models fuzz-server fuzz-streams fuzz-tflite conformance-tflite conformance-numerics tflite-files tflite-layers cmsis-nn misra micropython-tests micropython-boards micropython-bench wheels clean

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 30

setup:
	@scripts/setup.sh

demo: setup ## 360 handwritten digits classified on an emulated Cortex-M4 board
	@.venv/bin/pilotlight demo -o build/digits

lint: setup ## style, types, and which way imports point
	$(PYTHON) -m ruff check .
	find $(C_FOLDERS) -name '*.[ch]' | xargs .venv/bin/clang-format --dry-run -Werror
	$(PYTHON) -m mypy
	PYTHONPATH=src .venv/bin/lint-imports --no-cache

check: lint ## the inner loop: lint, then the unit tests
	$(PYTHON) -m pytest -n 2 $(UNIT) $(PYTEST_ARGS)

coverage: setup ## lines that the unit tests run; TESTS="tests/kernels/test_ops.py" measures others
	$(PYTHON) -m pytest -n 2 $(TESTS) --cov --cov-report=term:skip-covered --cov-report=html $(PYTEST_ARGS)

docs: setup ## the site of docs/ and of the API in site/; warnings are errors
	@$(PYTHON) -c 'import material, mkdocstrings_handlers.python' 2>/dev/null || \
	    $(PYTHON) -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict

test: lint ## lint, then all tests on two processes
	$(PYTHON) -m pytest -n 2 $(PYTEST_ARGS)

test-report: setup ## the report page in a headless Chromium, which has to be installed
	PYTHONPATH=tests $(PYTHON) -m pytest tests/support/browser_report.py $(PYTEST_ARGS)

projects: setup ## projects of `pilotlight new` built and booted on every emulated board
	PILOTLIGHT_ALL_BOARDS=1 $(PYTHON) -m pytest -n 2 tests/projects $(PYTEST_ARGS)

mpy: setup ## native modules under stock MicroPython on every emulated core; writes benchmarks/native.md
	PILOTLIGHT_ALL_BOARDS=1 $(PYTHON) -m pytest -n 2 tests/micropython/test_native.py tests/micropython/test_native_boards.py $(PYTEST_ARGS)
	PYTHONPATH=tests $(PYTHON) benchmarks/native.py

torchscript: setup ## the models of the zoo traced and scripted, compiled and compared with PyTorch
	PILOTLIGHT_ALL_MODELS=1 $(PYTHON) -m pytest -n 2 tests/models/test_torchscript.py $(PYTEST_ARGS)

torchscript-micropython: setup ## the same archives and silero-vad through MicroPython's torch.jit.load
	PILOTLIGHT_ALL_MODELS=1 $(PYTHON) -m pytest tests/micropython/test_jit.py $(PYTEST_ARGS)

sizes: setup ## code, RAM and instructions of example networks; writes benchmarks/sizes.md
	$(PYTHON) benchmarks/sizes.py

bench: setup ## the MLPerf Tiny networks on emulated boards, with CMSIS_NN=DIR by its kernels too; writes benchmarks/results.md; BENCH_ARGS="--dask tcp://HOST:PORT"
	$(PYTHON) benchmarks/networks.py $(BENCH_ARGS)

npu: setup ## the MLPerf Tiny networks handed to an Ethos-U: TOSA against our integers, Vela's report; writes benchmarks/npu.md
	$(PYTHON) -W ignore benchmarks/npu.py

bench-compile: setup ## seconds and memory that compiling itself takes; writes benchmarks/compile.md
	$(PYTHON) benchmarks/compile.py

bench-anywhere: setup ## zig and Unicorn next to GCC and QEMU, and the first minute; writes benchmarks/anywhere.md
	$(PYTHON) benchmarks/anywhere.py

bench-server: setup ## flash, RAM and instructions of the device server; writes benchmarks/server.md
	$(PYTHON) benchmarks/server.py

bench-fft: setup ## Fourier transforms on emulated boards, next to other libraries; writes benchmarks/fft.md
	$(PYTHON) benchmarks/fft.py

bench-tune: setup ## measured kernels next to the usual ones for the int8 networks of the zoo on six emulated boards; writes benchmarks/tune.md; BENCH_ARGS="--seconds 60"
	$(PYTHON) benchmarks/tune.py $(BENCH_ARGS)

bench-cycles: setup ## estimated cycles next to public measurements of programs in build/images; writes benchmarks/cycles.md
	$(PYTHON) benchmarks/cycles.py $(IMAGES)

conformance: setup ## PyTorch's operator samples through the compiler; writes docs/operators.md; CONFORMANCE_ARGS="--dask tcp://HOST:PORT"
	PYTHONPATH=tests:examples/zoo $(PYTHON) -m conformance $(CONFORMANCE_ARGS)

conformance-onnx: setup ## ONNX's own tests through the compiler; writes docs/onnx.md
	PYTHONPATH=tests:examples/zoo $(PYTHON) -W ignore -m conformance.onnx $(CONFORMANCE_ARGS)

fuzz: setup ## random models against eager PyTorch; FUZZ_ARGS="--seed 0 --count 100 --mode int8 --jobs 2"
	PYTHONPATH=tests:examples/zoo $(PYTHON) -m fuzz $(FUZZ_ARGS)

fuzz-streams: setup ## random networks over time, streamed, against whole recordings; FUZZ_ARGS="--count 100 --int8 --recurrent --graphs"
	PYTHONPATH=tests $(PYTHON) -m fuzz.streams $(FUZZ_ARGS)

fuzz-server: ## a million good and broken frames for the device server, built with sanitizers; FUZZ_FRAMES, FUZZ_SEED
	mkdir -p build
	for debug in "" "-DPL_STEPS -DPL_CYCLES -DPL_WATCH_BYTES=48u -DPL_WINDOW_BYTES=40u"; do \
		gcc -std=c99 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all $$debug -I src/pilotlight/csrc/device \
			tests/support/fuzz_server.c src/pilotlight/csrc/device/server.c src/pilotlight/csrc/device/frame.c \
			-o build/fuzz-server && \
		build/fuzz-server $(or $(FUZZ_FRAMES),1000000) $(or $(FUZZ_SEED),1) || exit 1; \
	done

fuzz-files: setup ## mutated .pt, safetensors and weights files through MicroPython with sanitizers; FUZZ_ARGS="--count 100000"
	PYTHONPATH=tests $(PYTHON) -m support.fuzz_files $(FUZZ_ARGS)

fuzz-tflite: setup ## mutated .tflite files through the reader; FUZZ_ARGS="--count 100000"
	PYTHONPATH=. $(PYTHON) -m tests.tflm.fuzz $(FUZZ_ARGS)

conformance-tflite: setup ## random TensorFlow Lite models against TFLM; CONFORMANCE_ARGS="--count 70 --kind INT8"
	PYTHONPATH=. $(PYTHON) -m tests.tflm.conformance $(CONFORMANCE_ARGS)

conformance-numerics: setup ## random PyTorch networks with --numerics tflm against TFLM; CONFORMANCE_ARGS="--count 40 --boards host,mps2-an386"
	PYTHONPATH=. $(PYTHON) -W ignore -m tests.tflm.numerics $(CONFORMANCE_ARGS)

tflite-files: setup ## the .tflite files of MLPerf Tiny, which lie next to the project, on 100 inputs on the host and four boards against TFLM
	for board in $(or $(BOARDS),host mps2-an386 mps2-an500 mps3-an547 riscv32-virt); do \
		PYTHONPATH=. $(PYTHON) -W ignore -m tests.tflm.layers_m0 --whole --inputs 100 --board $$board \
			$(patsubst %,../shared/models/mlperf_tiny/%_int8.tflite,kws vww ic ad sww) || exit 1; \
	done

tflite-layers: setup ## layers of the .tflite files of MLPerf Tiny, which lie next to the project, on a Cortex-M0 with 16 KB against TFLM
	PYTHONPATH=. $(PYTHON) -W ignore -m tests.tflm.layers_m0 --whole --inputs 100 ../shared/models/mlperf_tiny/kws_int8.tflite
	PYTHONPATH=. $(PYTHON) -W ignore -m tests.tflm.layers_m0 $(TFLITE_ARGS) $(patsubst %,../shared/models/mlperf_tiny/%_int8.tflite,vww ic ad sww)

cmsis-nn: setup ## random layers and the networks of MLPerf Tiny through CMSIS-NN on three boards, against TFLM; CMSIS_NN=DIR
	@test -n "$(CMSIS_NN)" || { echo "make cmsis-nn: name a copy of CMSIS-NN: CMSIS_NN=DIR"; exit 2; }
	PYTHONPATH=. $(PYTHON) -W ignore -m tests.tflm.cmsis_nn $(CMSIS_NN) \
		$(if $(wildcard ../shared/models/mlperf_tiny),--networks ../shared/models/mlperf_tiny) $(CMSIS_NN_ARGS)

fuzz-onnx: setup ## mutated ONNX files through the importer; FUZZ_ARGS="--count 100000"
	PYTHONPATH=tests $(PYTHON) -W ignore -m support.fuzz_onnx $(FUZZ_ARGS)

onnx-networks: setup ## the onnx package's networks with random weights against ONNX Runtime; ONNX_ARGS="squeezenet"
	PYTHONPATH=tests:examples/zoo $(PYTHON) -W ignore -m conformance.onnx.light $(ONNX_ARGS)

fuzz-onnx-models: setup ## random ONNX models against ONNX Runtime; FUZZ_ARGS="--count 1000" or "--quantized --boards microbit"
	PYTHONPATH=tests $(PYTHON) -W ignore -m support.fuzz_onnx_models $(FUZZ_ARGS)

misra: setup ## Cppcheck's MISRA C:2012 checks of models, kernels and the device server; MISRA_ARGS="--all"
	PYTHONPATH=tests:examples/zoo $(PYTHON) -m misra $(MISRA_ARGS)

conformance-micropython: setup ## PyTorch's operator samples through MicroPython; writes docs/micropython-operators.md
	PYTHONPATH=tests:examples/zoo $(PYTHON) -m conformance.micropython $(CONFORMANCE_ARGS)

micropython-tests: setup ## MicroPython's own tests with torch built in, here and on an emulated Cortex-M4
	PYTHONPATH=tests $(PYTHON) -m support.micropython_upstream

micropython-boards: setup ## firmware with and without torch for boards that are not emulated, checked as files
	PYTHONPATH=tests $(PYTHON) -m support.micropython_boards

micropython-bench: setup ## size and speed of torch under MicroPython; writes benchmarks/micropython.md
	$(PYTHON) benchmarks/micropython.py

wheels: setup ## whether PyPI has wheels of what an installation brings for other systems; writes docs/tools.md
	$(PYTHON) scripts/check_wheels.py

clean: ## remove what was built (the .venv stays; delete it by hand to start over)
	rm -rf build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
