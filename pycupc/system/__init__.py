"""What the other packages stand on.

compiled.py, caches.py     compiled code, and the folders that keep it
machine.py                 cores, memory and devices
log.py, progress.py        what a run says while it works
message.py                 messages that keep the facts they state
text.py, whole_file.py     text for terminals and files; files that appear only when they are complete
version.py                 the version of the package
"""
