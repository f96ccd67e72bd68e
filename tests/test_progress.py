"""Progress from Python: silent in scripts, a line when asked, a bar in notebooks."""

import time

import pyarrow as pa
import pytest

import kohort as ko
from kohort import progress
from kohort.errors import InputError
from kohort.progress import shown_progress

PEOPLE = pa.table({"age": [21, 22, 41, 42]})


@pytest.fixture
def hasty(monkeypatch):
    """Progress that is shown at once and in every state."""
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    for screen in (progress._Line, progress._Lines, progress._Notebook):
        monkeypatch.setattr(screen, "every", 0.0)


def report(shown, times=1):
    deadline = time.monotonic() + 5
    while shown.drawn is None and time.monotonic() < deadline:
        time.sleep(0.01)
    for number in range(times):
        shown("searching", number / times)


@pytest.mark.parametrize("silent", [None, False])
def test_scripts_are_silent_by_default(silent, capsys, hasty):
    with shown_progress(silent) as shown:
        assert shown is None
    assert ko.anonymize(PEOPLE, quasi_identifiers=["age"], k=2, progress=silent)
    assert capsys.readouterr() == ("", "")


def test_a_function_is_called_as_it_is():
    def mine(what, share):
        pass

    with shown_progress(mine) as shown:
        assert shown is mine


def test_true_writes_lines_where_stderr_is_a_file(capsys, hasty):
    with shown_progress(True) as shown:
        report(shown, times=2)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2:] == ["searching: 0 %, 0 s", "searching: 50 %, 0 s"]


def test_true_writes_one_line_of_a_terminal_and_clears_it(capsys, hasty, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with shown_progress(True) as shown:
        report(shown, times=2)
    written = capsys.readouterr().err
    assert "\r\x1b[Ksearching: 50 %, 0 s" in written and "\n" not in written
    assert written.endswith("\r\x1b[K")


def test_states_are_drawn_now_and_then_only(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with shown_progress(True) as shown:
        report(shown, times=1000)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_short_job_shows_nothing(capsys):
    with shown_progress(True) as shown:
        shown("searching", 0.5)
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_the_display_ends_with_an_error(capsys, hasty, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with pytest.raises(InputError), shown_progress(True) as shown:
        report(shown)
        raise InputError("wrong")
    assert capsys.readouterr().err.endswith("\r\x1b[K")


CELLS = [
    """import pyarrow as pa, kohort as ko, time
from kohort import progress
progress._PATIENCE = 0.0
people = pa.table({"age": [21, 22, 41, 42], "illness": ["flu", "cold", "flu", "cough"]})""",
    """with progress.shown_progress(None) as shown:
    while shown.drawn is None: time.sleep(0.01)
    time.sleep(0.4)
    shown("searching <k>", 0.5)
    state = shown.screen.handle.display_id""",
    """with progress.shown_progress(None) as shown:
    while shown.drawn is None: time.sleep(0.01)
    print("ten lines")
    raise SystemError""",
    """release = ko.anonymize(people, quasi_identifiers=["age"], sensitive=["illness"], k=2, progress=False)
release""",
    "release.summary()",
    "ko.profile(people)",
    "release.verdict",
]


@pytest.fixture(scope="module")
def notebook():
    """A notebook that a real kernel has run."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    import nbformat

    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    made = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(made, timeout=300, kernel_name="python3", allow_errors=True)
    with client.setup_kernel():
        for number, cell in enumerate(made.cells):
            client.execute_cell(cell, number)
    return made


def shown_html(cell):
    return [output.data.get("text/html") for output in cell.outputs if "data" in output]


@pytest.mark.processes
def test_a_notebook_shows_a_bar_in_one_place_and_clears_it(notebook):
    [output] = notebook.cells[1].outputs
    assert output.output_type == "display_data"
    assert output.data["text/html"] == ""


@pytest.mark.processes
def test_a_notebook_clears_the_bar_after_an_error(notebook):
    html = shown_html(notebook.cells[2])
    assert html == [""]


@pytest.mark.processes
def test_a_notebook_shows_release_summary_profile_and_verdict(notebook):
    for cell, says in zip(
        notebook.cells[3:], ["Every promise holds", "unchanged", "suggested role", "promised"]
    ):
        [html] = shown_html(cell)
        assert says in html
