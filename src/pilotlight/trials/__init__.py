"""Kernels tried on an emulated core: many candidates in one image, each counted exactly and compared with the integers
that its layer has to give.

    batches = plan_batches(...)          which candidates go into which image (batches.py)
    run_batch(batch)                     one image, built, booted, every candidate run once (image.py)
    search(...)                          all of them, on several processes or computers (search.py)
"""
