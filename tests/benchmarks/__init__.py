"""Benchmarks of pycupc: ``python tests/benchmarks --help``.

An experiment is a function that yields a line per measurement; they go into the CSV file of its name. Every answer is
compared before it is timed. ``report`` makes tables and pictures from these files and from nothing else.
"""
