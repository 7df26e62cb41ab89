"""Compiled code, and the cases in which plain Python runs."""

from collections import Counter


def test_plain_python_takes_few_steps_for_each_part(monkeypatch):
    from pycupc.system import jit

    monkeypatch.setattr(jit, "_plain_steps", Counter())
    half = jit.MOST_PLAIN_STEPS // 2
    taken = [(half, "a", True), (half, "a", True), (1, "a", False), (half, "b", True), (2 * half, "b", False)]
    for steps, part, wanted in taken:
        with jit.plain_if_small(steps, part) as plain:
            assert plain == wanted, (steps, part)
    with jit.always_compiled(), jit.plain_if_small(0, "c") as plain:
        assert not plain
    with jit.plain_if_small(0, "c") as plain:
        assert plain


def test_plain_python_takes_more_steps_while_another_process_compiles(monkeypatch):
    from pycupc.system import code_cache, jit

    monkeypatch.setattr(jit, "_plain_steps", Counter())
    monkeypatch.setattr(code_cache, "_awaited", {test_plain_python_takes_few_steps_for_each_part})
    stored = False
    monkeypatch.setattr(code_cache, "_is_stored", lambda function: stored)
    awaited = test_plain_python_takes_few_steps_for_each_part
    taken = [
        (jit.MOST_PLAIN_STEPS + 1, awaited, True),
        (0, None, False),
        (jit.MOST_PLAIN_STEPS * jit.PATIENCE, awaited, False),
    ]
    for steps, function, wanted in taken:
        with jit.plain_if_small(steps, "a", function) as plain:
            assert plain == wanted, (steps, function)
    jit._plain_steps["a"] = jit.MOST_PLAIN_STEPS + 1
    stored = True
    with jit.plain_if_small(0, "a", awaited) as plain:
        assert not plain


def test_an_inlined_function_is_plain_python_for_python_and_compiled_for_compiled_code():
    from pycupc.system.jit import compiled, jit_inlined

    @jit_inlined
    def kind(x):
        return x if isinstance(x, list) else [x]  # no compiled code can return either

    @jit_inlined
    def twice(x):
        return x + x

    def four_times(x):
        return twice(twice(x))

    assert kind([1]) == kind(1) == [1]
    assert four_times("ab") == "abababab"
    assert compiled(four_times)(1.5) == 6.0
    assert not twice.signatures
