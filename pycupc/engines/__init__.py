"""Engines: where the tests of one level are run."""
