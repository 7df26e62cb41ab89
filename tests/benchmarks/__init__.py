"""Benchmarks of pycupc: ``python -m tests.benchmarks --help``, run from the root of the checkout.

Every answer is compared before it is timed. The raw times go into JSON files, with machine, versions and commit;
``report`` makes tables, pictures and BENCHMARKS.md from those files and from nothing else. ``paired`` compares two
checkouts of pycupc, run by run.
"""
