"""The Python reference: every public name with its signature and its docstring, as one Markdown page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import kohort as ko
from kohort.algorithms import ALGORITHMS, ITEMS_ALGORITHMS
from kohort.comparison.compare import Comparison
from kohort.comparison.frontier import Frontier
from kohort.problem.promises import MODELS
from kohort.profiling.profile import Profile
from kohort.treatments import PERTURBATIONS

__all__ = ["markdown", "page", "sections", "signature_text"]

_OPENING = """\
# Python, name by name

Every public name with its signature and its docstring; [Python](python.md) shows them at work. All names are
reached by `import kohort as ko`.
"""
_PROMPT = re.compile(r">>> ")
_UNDERLINED = re.compile(r"-{3,}")
_MEANT = re.compile(r"(?P<name>[\w`*.]+(?:, [\w`*.]+)*)(?: {2,}| : )(?P<meaning>\S.*)")
_LONGEST = 88  # characters of a signature on one line


def page() -> str:
    """The text of the page."""
    parts = [_OPENING]
    for title, names in sections().items():
        parts += [f"## {title}", *(_entry(name, found) for name, found in names.items())]
    return "\n\n".join(parts) + "\n"


def sections() -> dict[str, dict[str, Any]]:
    """The public names by what they are: all of `kohort.__all__`, and the classes that functions return."""
    public = {name: getattr(ko, name) for name in ko.__all__ if name not in ("datasets", "__version__")}
    algorithms = {*ALGORITHMS.values(), *ITEMS_ALGORITHMS.values()}
    models = {*MODELS.values(), ko.KmAnonymity, ko.ItemConfidence, ko.RhoUncertainty}
    kinds: dict[str, Callable[[Any], bool]] = {
        "Functions": lambda found: isinstance(found, FunctionType) and not _builds(found),
        "What they return": lambda found: found in (ko.Release, ko.Verdict),
        "What columns, people, events and a ledger are": lambda found: (
            found in (ko.Person, ko.Events, ko.Ledger)
        ),
        "Privacy models": lambda found: found in models,
        "Treatments of columns": lambda found: found in PERTURBATIONS.values(),
        "Hierarchies and items": lambda found: _builds(found) or found in (ko.Hierarchy, ko.Items),
        "Algorithms": lambda found: found in algorithms,
        "Errors": lambda found: isinstance(found, type) and issubclass(found, Exception),
    }
    chosen = {
        title: {name: found for name, found in public.items() if is_one(found)}
        for title, is_one in kinds.items()
    }
    chosen["What they return"] |= {"Profile": Profile, "Comparison": Comparison, "Frontier": Frontier}
    missing = set(public) - {name for names in chosen.values() for name in names}
    assert not missing, f"In no section: {missing}"
    return chosen


def _builds(found: Any) -> bool:
    return getattr(found, "__module__", "").startswith("kohort.data.hierarchies.")


def _entry(name: str, found: Any) -> str:
    parts = [f"### {name}"]
    is_result = found in (ko.Release, ko.Verdict, ko.Hierarchy, Profile, Comparison, Frontier)
    is_error = isinstance(found, type) and issubclass(found, Exception)
    if not is_result and not is_error:
        parts.append(f"```python\n{signature_text(f'ko.{name}', found)}\n```")
    parts.append(markdown(inspect.getdoc(found) or ""))
    if is_result:
        parts += [_member(*member) for member in _members(found)]
    return "\n\n".join(parts)


def _members(found: type) -> Iterator[tuple[str, Any]]:
    """The documented methods and properties of a class and its ancestors, the class's own first."""
    seen: set[str] = set()
    for ancestor in found.__mro__:
        for name, member in vars(ancestor).items():
            if name.startswith("_") or name in seen or not inspect.getdoc(member):
                continue
            if isinstance(member, (FunctionType, classmethod, property)) or hasattr(member, "func"):
                seen.add(name)
                yield name, member


def _member(name: str, member: Any) -> str:
    called = isinstance(member, (FunctionType, classmethod))
    function = member.__func__ if isinstance(member, classmethod) else member
    shown = signature_text(name, function, method=True) if called else name
    return f"```python\n{shown}\n```\n\n{markdown(inspect.getdoc(member) or '')}\n{{ .member }}"


def signature_text(name: str, function: Callable[..., Any], *, method: bool = False) -> str:
    """A call as it is written in Python, on one line or with a line for every parameter."""
    signature = inspect.signature(function)
    parameters = [str(_plain(parameter)) for parameter in signature.parameters.values()]
    if any(p.kind is inspect.Parameter.KEYWORD_ONLY for p in signature.parameters.values()):
        kinds = [p.kind for p in signature.parameters.values()]
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    parameters = parameters[1:] if method else parameters
    returned = signature.return_annotation
    arrow = "" if returned in (signature.empty, "None", None) else f" -> {_annotation(returned)}"
    line = f"{name}({', '.join(parameters)}){arrow}"
    if len(line) <= _LONGEST:
        return line
    return "\n".join([f"{name}(", *(f"    {parameter}," for parameter in parameters), f"){arrow}"])


def _plain(parameter: inspect.Parameter) -> str:
    text = parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f" = {parameter.default!r}" if ":" in text else f"={parameter.default!r}"
    return text


def _annotation(annotation: Any) -> str:
    """An annotation without what it says to programs alone."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"^Annotated\[(.+), Option\(.*\)\]$", r"\1", text)


# -- docstrings ------------------------------------------------------------------------------------


def markdown(docstring: str) -> str:
    """A docstring as Markdown: examples as code, lists of names and meanings as lists."""
    return "\n\n".join(_paragraph(lines) for lines in _paragraphs(docstring.split("\n")))


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            yield paragraph
            paragraph = []


def _paragraph(lines: list[str]) -> str:
    if len(lines) > 1 and _UNDERLINED.fullmatch(lines[1]):
        rest = [_named(lines[2:])] if len(lines) > 2 and not _PROMPT.match(lines[2]) else []
        rest += [_example(lines[2:])] if len(lines) > 2 and _PROMPT.match(lines[2]) else []
        return "\n\n".join([f"**{lines[0]}**", *rest])
    if _PROMPT.match(lines[0]):
        return _example(lines)
    if _MEANT.fullmatch(lines[0]):
        return _meanings(lines)
    return "\n".join(line.strip() for line in lines)


def _example(lines: list[str]) -> str:
    return "\n".join(["```pycon", *(re.sub(r"  # doctest: .*", "", line) for line in lines), "```"])


def _named(lines: list[str]) -> str:
    """Names at the margin, each with its meaning indented beneath."""
    items: list[str] = []
    for line in lines:
        if line.startswith(" "):
            items[-1] += f" {line.strip()}"
        else:
            items.append(f"- {_code(line.strip())}:")
    return "\n".join(items)


def _meanings(lines: list[str]) -> str:
    """Names with their meanings behind them; deeper ones belong to the name before."""
    items: list[str] = []
    for line in lines:
        found = _MEANT.fullmatch(line.strip())
        depth = 4 * min((len(line) - len(line.lstrip())) // 4, 1)
        if found and (depth == 0 or " : " in line):
            items.append(f"{' ' * depth}- {_code(found['name'])}: {found['meaning']}")
        else:
            items[-1] += f" {line.strip()}"
    return "\n".join(items)


def _code(names: str) -> str:
    return ", ".join(f"`{name.strip('`')}`" for name in names.split(", "))
