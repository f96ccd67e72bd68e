"""Kernels are compiled beforehand, whole and once."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from benchmarks.kernel_calls import encoded, jobs_of, recorded_calls
from numba.core import config

import kohort as ko
import kohort.compiling.compile as compile_module
from kohort.algorithms import ALGORITHMS, EVERY_ALGORITHM
from kohort.compiling import compile_algorithms, is_compiled
from kohort.compiling.calls import calls_of, decoded, recorded_algorithms
from kohort.datasets import generate_hospital
from kohort.errors import KohortError
from kohort.kernels.compile_time import ahead_of, compile_ahead, compile_clock, compiling

RECORD = "The kernels have changed: run `python -m benchmarks.kernel_calls`."
QUICK = ("mondrian", "hilbert", "full-domain", "k-anon-cf", "apriori-items")


def kohort(*words, cache):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "kohort", *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


def test_every_algorithm_is_recorded():
    assert set(recorded_algorithms()) == set(EVERY_ALGORITHM), RECORD


@pytest.mark.parametrize("name", EVERY_ALGORITHM)
def test_recorded_kernels_and_types_exist(name):
    for call in calls_of([name]):
        types = [decoded(written) for written in json.loads(call.types)]
        assert [encoded(kind) for kind in types] == json.loads(call.types)
        assert call.kernel.py_func.__code__.co_argcount == len(types), RECORD
        assert call.size > 0


@pytest.mark.long
@pytest.mark.parametrize("name", QUICK)
def test_an_algorithm_calls_only_recorded_kernels(name):
    table = generate_hospital(150)
    with recorded_calls() as calls:
        for job in jobs_of(name):
            try:
                ko.anonymize(table, **job)
            except KohortError:
                continue
    assert calls
    assert set(calls) <= set(calls_of([name])), RECORD


@pytest.mark.processes
def test_the_first_command_compiles_and_the_second_does_not(tmp_path):
    """With the algorithm that has the fewest kernels."""
    data, spec = tmp_path / "people.csv", tmp_path / "spec.yaml"
    data.write_text("age,town\n" + "".join(f"{20 + i % 30},t{i % 7}\n" for i in range(60)))
    spec.write_text(
        "attributes:\n  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10]}}\n"
        "  town: {role: quasi-identifier}\nprivacy: {k: 2}\nalgorithm: two-anonymity\n"
    )
    seconds = []
    for out in ("a.csv", "b.csv"):
        done = kohort(
            "anonymize", data, "--spec", spec, "--out", tmp_path / out, "--json", cache=tmp_path / "c"
        )
        seconds.append(json.loads(done.stdout)["seconds"])
    assert seconds[0]["compile"] > 0.5
    assert seconds[1].get("compile", 0.0) == 0.0
    again = kohort("compile", "two-anonymity", "--json", cache=tmp_path / "c")
    assert json.loads(again.stdout) == {"algorithms": ["two-anonymity"], "compiled": 0}


def test_waiting_for_others_to_compile_counts_as_compiling():
    with compile_clock() as clock:
        assert clock.seconds == 0
        with compiling():
            sum(range(10**5))
    assert clock.seconds > 0


def test_algorithms_are_compiled_ahead_where_somebody_sees_to_that():
    asked = []
    with ahead_of(asked.extend):
        compile_ahead(["mondrian"])
    assert asked == ["mondrian"]
    compile_ahead(["improve"])
    assert asked == ["mondrian"]  # nobody takes care of it any more


@pytest.mark.skipif(sys.platform == "win32", reason="no signals here")
@pytest.mark.processes
def test_ctrl_c_ends_it_at_once_and_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "kohort", "compile", "improve"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and not list(tmp_path.rglob("whole")):
        time.sleep(0.1)
    time.sleep(3.0)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in said and "Stopped." in said


@pytest.mark.processes
def test_unknown_algorithms_are_refused():
    done = subprocess.run(
        [sys.executable, "-m", "kohort", "compile", "mondrain"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "Did you mean" in done.stderr and "mondrian" in done.stderr


def test_auto_needs_what_it_may_choose():
    assert set(calls_of(["auto"])) == set(calls_of(["mondrian", "improve"]))
    assert "auto" in ALGORITHMS


@pytest.mark.processes
def test_where_the_cache_cannot_be_written_nothing_is_compiled_ahead(tmp_path):
    (tmp_path / "c").write_text("a file where the folder should be")
    done = kohort("compile", "hilbert", "--json", cache=tmp_path / "c")
    assert json.loads(done.stdout)["compiled"] == 0


@pytest.mark.long
def test_a_kernel_that_cannot_be_compiled_ahead_stops_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    wrong = replace(calls_of(["hilbert"])[0], types=json.dumps(["int64"]))
    monkeypatch.setattr(compile_module, "calls_of", lambda names: (wrong,))
    assert compile_algorithms(["hilbert"], lambda what, share: None, cores=1) == 0
    assert not is_compiled("hilbert")
