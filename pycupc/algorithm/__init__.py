"""The PC algorithm: its arguments, the level loop, and an estimate of the cost of a run.

pc.py         `pc`: the skeleton, then its orientation
skeleton.py   `skeleton`: the level loop, independent of the hardware
arguments.py  the arguments of both, checked before anything runs
estimate.py   tests and memory, level by level, before a long run; timed_trial.py, its time
"""
