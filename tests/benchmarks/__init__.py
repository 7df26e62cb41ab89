"""Benchmarks of pycupc: ``python -m tests.benchmarks --help``, run from the root of the checkout.

Every run compares its answer before a time is taken. Raw repeats go into JSON files with machine, versions and commit;
``report`` turns those files, and nothing else, into tables, figures and BENCHMARKS.md.
"""
