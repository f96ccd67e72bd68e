"""The documentation is complete, its examples run, its links lead somewhere."""

from __future__ import annotations

import csv
import doctest
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pyarrow as pa
import pytest

import kohort as ko
from kohort import errors
from kohort.algorithms import ALGORITHMS, ITEMS_ALGORITHMS, parameters_of
from kohort.cli.app import main
from kohort.data.hierarchies import build_hierarchy
from kohort.data.hierarchies.dates import _LEVELS
from kohort.io.formats import SUFFIXES
from kohort.io.source_file import COMPRESSIONS
from kohort.parameters import annotations_of
from kohort.problem.costs import COSTS
from kohort.problem.promises import MODELS
from kohort.problem.promises.l_diversity import KINDS
from kohort.problem.roles import ROLES
from kohort.statement import Column
from kohort.statement.from_yaml import SPEC_KEYS, Baskets, EventsPart
from kohort.statement.privacy import MODEL_KEYS, PRIVACY_KEYS
from kohort.statement.statement import OPTION_KEYS

ROOT = Path(__file__).parents[1]
NEED = {  # packages that examples need
    "certificate.md": "cryptography",
    "python.md": "sklearn",
    "kohort.sklearn": "sklearn",
    "kohort.studio.rendering": "starlette",
    "kohort.studio.uploads": "starlette",
}
DOCS = ROOT / "docs"
DEMO = "kohort demo --out demo --quiet"
WITH_FIGURES = (
    "tutorial.md",
    "maps.md",
    "verify.md",
    "hierarchies.md",
)  # figures that do not depend on the clock


def _load_generate() -> ModuleType:
    found = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["generate"] = module
    found.loader.exec_module(module)
    return module


generate = _load_generate()
PAGES = generate.pages()


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def named(text: str, word: str) -> bool:
    """Whether the word stands in the text as code, by itself or as the beginning of a call or a mapping."""
    return re.search(rf"`[^`\n]*(?<![\w-]){re.escape(word)}(?![\w-])[^`\n]*`", text) is not None


# -- everything that can be named is explained -----------------------------------------------------


ITEMS_MODELS = {model.name: model for model in (ko.KmAnonymity, ko.ItemConfidence, ko.RhoUncertainty)}


@pytest.mark.parametrize("name", ALGORITHMS | ITEMS_ALGORITHMS)
def test_every_algorithm_has_a_page(name):
    text = page(f"algorithms/{name}.md")
    assert text.startswith(f"# {name}\n")
    for heading in ("## Idea", "## Guarantee", "## Parameters", "## Example"):
        assert heading in text
    for parameter in parameters_of((ALGORITHMS | ITEMS_ALGORITHMS)[name]()):
        assert named(text, parameter), parameter
    assert f"algorithms/{name}.md" in (ROOT / "mkdocs.yml").read_text()


@pytest.mark.parametrize("name", MODELS | ITEMS_MODELS)
def test_every_model_is_explained(name):
    section = page("models.md").split(f"\n## {name}\n")[1].split("\n## ")[0]
    for field in fields((MODELS | ITEMS_MODELS)[name]):
        assert named(section, field.name), field.name
    for word in ("*Measured*" if name != "l-diversity" else "measured", "*Stops*", "*Does not stop*"):
        assert word in section


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_diversity_is_explained(kind):
    assert named(page("models.md"), kind)


@pytest.mark.parametrize("name", COSTS)
def test_every_cost_is_explained(name):
    text = page("costs.md")
    section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
    cost = COSTS[name]
    properties = " ".join(section.split()).lower()
    assert ("not separable" not in properties) == cost.separable and "separable" in properties
    assert ("not monotone" not in properties) == cost.monotone and "monotone" in properties
    row = next(line for line in text.splitlines() if line.startswith(f"| [`{name}`]"))
    assert ("| no |" not in row) == any(name in algorithm.costs for algorithm in ALGORITHMS.values())


def error_classes() -> list[str]:
    return [name for name in errors.__all__ if isinstance(getattr(errors, name), type)]


@pytest.mark.parametrize("name", error_classes())
def test_every_error_is_explained(name):
    text = page("errors.md")
    assert named(text, name)
    tree = text.split("```text\n")[1].split("```")[0]
    assert name in tree


SPEC_PARTS = {
    "the spec": dict.fromkeys(SPEC_KEYS)
    | {key: declared.annotation for key, declared in OPTION_KEYS.items()},
    "privacy": dict.fromkeys(PRIVACY_KEYS),
    **{part.__name__: annotations_of(part) for part in (Column, Baskets, EventsPart, *MODEL_KEYS.values())},
}


def spec_parts() -> list[tuple[str, str]]:
    return [(name, key) for name, part in SPEC_PARTS.items() for key in part]


@pytest.mark.parametrize(("part", "key"), spec_parts())
def test_every_key_of_the_spec_is_explained(part, key):
    text = page("spec.md")
    assert named(text, key)
    for choice in choices(SPEC_PARTS[part][key]):
        assert named(text, choice), choice


def choices(annotation: Any) -> list[str]:
    """The words that a key may be, where it may only be some."""
    inner = [word for part in get_args(annotation) for word in choices(part)]
    return inner + ([annotation] if isinstance(annotation, str) else [])


def test_choices_are_found():
    assert choices(annotations_of(Column)["treatment"]) == [
        "drop",
        "pseudonym",
        "mask",
        "keep",
        "shift",
    ]


@pytest.mark.parametrize("role", ROLES)
def test_every_role_is_explained(role):
    assert named(page("spec.md"), role)


@pytest.mark.parametrize("form", build_hierarchy._FORMS)
def test_every_way_to_write_a_hierarchy_is_explained(form):
    text = page("hierarchies.md")
    for word in (form, *build_hierarchy._FORMS[form].options):
        assert named(text, word), word


@pytest.mark.parametrize("level", _LEVELS)
def test_every_period_of_dates_is_explained(level):
    assert named(page("hierarchies.md"), level)


@pytest.mark.parametrize("name", ko.__all__)
def test_every_public_name_is_in_the_python_page(name):
    assert re.search(rf"\bko\.{name}\b", page("python.md"))


@pytest.mark.parametrize("name", ko.datasets.__all__)
def test_every_dataset_is_explained(name):
    assert f"\n## {name}\n" in page("data.md")


def test_every_field_of_the_certificate_is_explained():
    people = pa.table({"age": [1, 1, 2, 2]})
    facts = ko.anonymize(people, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)]).facts()
    text = page("certificate.md")
    baskets = pa.table({"bought": [["a"], ["a"]]})
    items = ko.anonymize(baskets, items="bought", privacy=ko.KmAnonymity(2, 1)).facts()["items"]
    for field in (
        *facts,
        *items,
        *facts["models"][0],
        *facts["checks"][0],
        *facts["seconds"],
        *facts["sha256"],
    ):
        assert named(text, field), field


@pytest.mark.parametrize("attribute", [name for name in dir(ko.Verdict) if not name.startswith("_")])
def test_every_part_of_a_verdict_is_explained(attribute):
    assert named(page("python.md").split("### The verdict")[1], attribute)


@pytest.mark.parametrize("suffix", [*SUFFIXES, *COMPRESSIONS])
def test_every_format_is_explained(suffix):
    assert f"`{suffix}`" in page("formats.md")


@pytest.mark.parametrize("name", ALGORITHMS | ITEMS_ALGORITHMS)
def test_every_algorithm_is_in_the_list_of_all(name):
    assert f"[{name}]({name}.md)" in page("algorithms/index.md")


def test_the_table_of_folders_names_all_folders():
    table = page("how-it-works.md").split("## The folders")[1].split("\n## ")[0]
    package = ROOT / "src" / "kohort"
    folders = {path.parent.relative_to(package).parts[0] for path in package.glob("*/__init__.py")}
    assert not {folder for folder in folders if f"`{folder}" not in table}


def test_the_changelog_has_the_version():
    assert f"\n## {ko.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# -- the command line ------------------------------------------------------------------------------


def test_the_reference_of_the_command_line_is_up_to_date():
    assert page("cli.md") == generate.reference(), "Run docs/generate.py."


@pytest.mark.parametrize("name", generate.TABLES)
def test_the_table_of_options_is_up_to_date(name):
    assert page(name) == generate.with_tables(name, page(name)), "Run docs/generate.py."


def test_every_command_has_help_and_an_example():
    for name, command in generate.all_commands():
        assert f"Example: **{name}" in (command.__doc__ or ""), name
        assert f"\n## {name}\n" in page("cli.md")


# -- everything that can be run runs ---------------------------------------------------------------


def runnable(path: Path) -> bool:
    return any(block.language in ("python", "console") for block in generate.blocks(path.read_text("utf-8")))


def runnable_pages(*, demo: bool) -> list[Any]:
    """The pages with blocks that run: those that show the demo's command, or all others."""
    found = [path for path in PAGES if runnable(path) and (DEMO in path.read_text("utf-8")) == demo]
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in found]


@pytest.mark.parametrize("path", runnable_pages(demo=False))
def test_the_blocks_of_a_page_run(path, tmp_path, monkeypatch, capfd):
    """In order, in an empty folder. Python prints what is shown; commands print the words that are shown."""
    run_blocks(path, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("path", runnable_pages(demo=True))
@pytest.mark.site
def test_the_blocks_of_a_page_about_the_demo_run(path, demo, tmp_path, monkeypatch, capfd):
    """The same where `kohort demo` comes first; what it writes is there already."""
    shutil.copytree(demo, tmp_path / "demo")
    run_blocks(path, tmp_path, monkeypatch, capfd)


def skip_without_what_it_needs(name: str) -> None:
    if name in NEED:
        pytest.importorskip(NEED[name], reason=f"{NEED[name]} is not installed")


def run_blocks(path, tmp_path, monkeypatch, capfd):
    skip_without_what_it_needs(path.name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(generate.COLUMNS))
    monkeypatch.setenv("NO_COLOR", "1")
    names: dict[str, Any] = {}
    for block, shown in generate.outputs(path.read_text("utf-8")):
        generate.save_file(block, tmp_path)
        if block.language == "python":
            printed = generate.run_python(block.text, names)
            assert shown is None or printed == shown.text
        elif block.language in ("console", "hidden"):
            run_commands(block.text, monkeypatch, capfd, with_figures=path.name in WITH_FIGURES)


def run_commands(
    console: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    with_figures: bool,
) -> None:
    """Each command succeeds, unless the page shows another exit code with `echo $?`."""
    in_order = generate.commands(console)
    for command, following in zip(in_order, [*in_order[1:], None]):
        if command.line in ("echo $?", DEMO):
            continue
        capfd.readouterr()
        code = run(command.line, monkeypatch)
        expected = following.printed.strip() if following and following.line == "echo $?" else "0"
        assert str(code) == expected, command.line
        if command.line.startswith("kohort") and command.printed.strip():
            printed = "\n".join(capfd.readouterr())
            compare_words(command.printed, printed)
            if with_figures:
                compare_figures(command.printed, printed)


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a command; ours run in this process, which is faster."""
    if not line.startswith("kohort"):
        return subprocess.run(line, shell=True).returncode
    monkeypatch.setattr(sys, "argv", shlex.split(line.replace("\\\n", " ")))
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


def compare_words(shown: str, printed: str) -> None:
    """Figures may differ from machine to machine, and so may lines and boxes; words may not."""
    shown_words, printed_words = words(shown), words(printed)
    assert not shown_words - printed_words
    assert not printed_words - shown_words


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[A-Za-z_]+", without_progress(text)))


def without_progress(text: str) -> str:
    """The text without the progress lines of a machine that had to compile first, and how long that took."""
    text = re.sub(r"^.+: \d+%(, about \d+ (s|min) left for this step)?$", "", text, flags=re.MULTILINE)
    compiling = r"\(and \d+ s to compile, the first time only\)"
    return re.sub(compiling.replace(" ", r"[\s│]+"), "", text)


def compare_figures(shown: str, printed: str) -> None:
    """Figures are those of today, up to what another machine may find: a twentieth, or 1 in whole numbers."""
    for ours, theirs in zip(figures(shown), figures(printed), strict=True):
        allowed = 0.05 * max(abs(float(ours)), abs(float(theirs)))
        if "." not in ours or float(ours) >= 1:  # a count, or a percentage
            allowed = max(allowed, 1.0)
        assert abs(float(ours) - float(theirs)) <= allowed, (ours, theirs, shown, printed)


def figures(text: str) -> list[str]:
    """All numbers of a text but those of seconds, sorted: notes may come before the result or after it."""
    text = re.sub(r"[│╭╮╰╯─]", " ", without_progress(text))
    seconds = r"Made by \w[\w-]* in [\d.]+ s"
    found = re.findall(r"\d[\d,]*(?:\.\d+)?(?<!,)", re.sub(seconds, "", text))
    return sorted((number.replace(",", "") for number in found), key=float)


def modules_with_examples() -> list[str]:
    """Found by their text, since to import all modules takes longer than the examples of some."""
    source = ROOT / "src"
    found = [path for path in source.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    return sorted(".".join(path.relative_to(source).with_suffix("").parts) for path in found)


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_a_module_hold(name):
    skip_without_what_it_needs(name)
    found = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert found.attempted and not found.failed


# -- links -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(path)):
        if target.startswith(("https://", "http://")):
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def without_blocks(path: Path) -> str:
    return re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", without_blocks(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for path in DOCS.rglob("*.md"):
        assert f" {path.relative_to(DOCS).as_posix()}\n" in navigation


def test_pages_name_no_place_of_a_machine():
    for path in PAGES:
        assert not re.search(r"/(home|root|work|tmp|Users)/", path.read_text(encoding="utf-8")), path


# -- figures about other tools ---------------------------------------------------------------------


def why_section(text: str) -> str:
    """The comparison with other tools, up to where its figures come from."""
    section = text.split("\n## Why leave ARX, sdcMicro, Amnesia, anonypy\n")[1].split("\n## ")[0]
    return section[: section.rindex("|\n\n")]


def test_the_readme_and_the_site_compare_alike():
    assert why_section((ROOT / "README.md").read_text(encoding="utf-8")) == why_section(page("index.md"))


def test_our_figures_are_those_of_the_experiment():
    with (ROOT / "experiments/lowest/results/adult.csv").open(encoding="utf-8", newline="") as lines:
        runs = {(run["algorithm"], run["k"], run["limit"]): run for run in csv.DictReader(lines)}
    rows = why_section(page("index.md")).replace("*", "").splitlines()
    for limit, column, opening in (
        ("60", "loss", "| Kohort, at most 60 s |"),
        ("5", "loss", "| Kohort, at most 5 s |"),
        ("60", "bound", "| proven by Kohort: no release can lose less than |"),
    ):
        [row] = [row for row in rows if row.startswith(opening)]
        shown = [float(cell) for cell in row.removeprefix(opening).split("|")[:3]]
        measured = [round(float(runs["improve", k, limit][column]), 4) for k in ("5", "10", "100")]
        assert shown == measured
