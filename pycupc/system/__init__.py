"""The foundation of the other packages.

jit.py, caches.py        compiled code, and the folders that keep it
garbage.py               Python's collection of cyclic garbage, which imports and compilers can do without
foreign_code.py          functions of SciPy's libraries by their addresses
numba_names.py           the names of Numba, which an interrupt of its import leaves whole
machine.py               cores, memory and devices
executors.py             work on executors: processes, machines of a cluster; clusters.py, the executor of a call
ignored_interrupts.py    interrupts that Python ignores
limits.py                what this machine refuses: memory, threads, engines; waiting for a thread that compiles
extras.py                packages that only some uses need
files.py                 files that appear when they are complete
logging.py, progress.py  what a run says while it works
text.py                  text for terminals and files
localised_message.py     messages that keep the facts they state
version.py               the version of the package
moved.py                 old names of modules, for pickles
"""
