"""A random-model fuzzer: models as users write them, compiled, run, and compared with eager PyTorch.

    program.py      a model as Python text: statements, inputs, what it returns
    maker.py        grows a program statement by statement, running each one, so that shapes are always known
    statements/     what a statement can be, one file per family
    generate.py     seed → program, in one of several kinds
    truth.py        what eager PyTorch gives, and the rules by which results are judged
    check.py        program → verdict: host with sanitizers, boards, float and quantized
    shrink.py       a failing program → a small one that fails in the same way
    run.py          many seeds, each in a child process, results as JSON lines
    reproducers/    shrunk programs for what was found, each kept as a test

The user's manual is docs/fuzzing.md.
"""
