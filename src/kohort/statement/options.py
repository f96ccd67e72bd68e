"""Every option of a release, stated once.

An option is a field of `Options`: its name, type and default, and in `Option` its sentence, its check and
where it can be given. The spec, `kohort.anonymize`, the command line, map files, the scikit-learn transformer
and the tables of the documentation follow from these fields: a new option is a field here, and the code that
acts on it. Checks are loaded when they run, so that the command line answers `--help` at once.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, Protocol, Union, get_args, get_origin

from kohort.errors import InputError
from kohort.late import late_function
from kohort.parameters import Option, Seconds, Seed, Share, Within, annotations_of, fits, shown, wanted

__all__ = ["OPTIONS", "Declared", "Options", "Scheme", "options_of"]

Scheme = Literal["bhs", "ghs", "gops", "ops", "gsps", "sps"]


class Solver(Protocol):
    """An algorithm with its parameters, such as `Mondrian(strict=True)`."""

    name: ClassVar[str]

    def solve(self, problem: Any, run: Any) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a release that are a word, a number or a switch."""

    algorithm: Annotated[
        str | Solver,
        Option(
            "how to search",
            flag="The algorithm to use instead of the spec's; see 'kohort algorithms'.",
            check=late_function("kohort.algorithms", "refuse_unknown_algorithm"),
        ),
    ] = "auto"
    cost: Annotated[
        str,
        Option(
            "the measure to keep low",
            flag="The measure to minimise instead of the spec's.",
            check=late_function("kohort.problem.costs", "cost_named"),
        ),
    ] = "loss"
    sample: Annotated[
        float, Within(above=0, most=1), Option("the share of records that is drawn at random and published")
    ] = 1.0
    suppression: Annotated[Share, Option("the share of records that may be withheld", in_maps=True)] = 0.0
    suppressed: Annotated[
        Literal["star", "drop"],
        Option("what becomes of withheld records", in_maps=True),
    ] = "star"
    labels: Annotated[
        Literal["hierarchy", "tight"],
        Option("which labels are published"),
    ] = "hierarchy"
    nulls: Annotated[
        Literal["value", "star", "refuse"],
        Option("how missing values are treated", in_maps=True),
    ] = "value"
    formulas: Annotated[
        Literal["keep", "escape"],
        Option("what becomes of text that begins like a formula, in CSV files", in_maps=True),
    ] = "keep"
    scheme: Annotated[Scheme | None, Option("how values may be merged, in the same way in all records")] = (
        None
    )
    diversify_weight: Annotated[
        Share, Option("how much the cost counts where groups are united for a privacy model")
    ] = 0.15
    shuffle: Annotated[
        Literal["auto"] | bool,
        Option(
            "whether the records are published in another order",
            flag="The order of the records: auto, true or false, instead of the spec's.",
            in_maps=True,
        ),
    ] = "auto"
    shift_days: Annotated[
        int,
        Within(1, most=36_500),
        Option("the most days by which the dates of a person move, where a column is shifted"),
    ] = 182
    again: Annotated[
        Literal["history-keeping", "m-invariance", "fresh"],
        Option(
            "how a release is made safe together with the earlier ones of a ledger",
            flag="With --ledger: history-keeping, m-invariance or fresh, instead of the spec's.",
        ),
    ] = "history-keeping"
    counterfeits: Annotated[
        int,
        Within(0, most=1_000_000_000),
        Option("the most records of nobody's that m-invariance may publish, so that fewer people wait"),
    ] = 0
    seed: Annotated[
        Seed,
        Option(
            "the seed for everything that is drawn at random",
            flag="The seed to use instead of the spec's.",
            in_maps=True,
        ),
    ] = 0
    time_limit: Annotated[
        Seconds | None,
        Option(
            "seconds after which the best release so far is used",
            flag="Seconds after which the best release so far is used.",
        ),
    ] = None
    title: Annotated[
        str | None,
        Option(
            "the name of the data set, for the report and the certificate",
            flag="The name of the data set, for the report.",
        ),
    ] = None
    owner: Annotated[
        str | None,
        Option(
            "who is responsible for the release, for the report and the certificate",
            flag="The person or office responsible for the release, for the report.",
        ),
    ] = None
    engine: Annotated[
        str,
        Option(
            "where to compute",
            flag="Where to compute: local or spark.",
            in_spec=False,
            check=late_function("kohort.tables.source", "check_engine"),
        ),
    ] = "local"


@dataclass(frozen=True)
class Declared:
    """An option as a dataclass declares it: the name of the field, its annotation and default."""

    name: str
    annotation: Any
    default: Any
    option: Option

    @property
    def written(self) -> Any:
        """The annotation without Python objects, which YAML and the command line cannot write."""
        inner, *added = get_args(self.annotation)
        if get_origin(inner) in (Union, types.UnionType):
            inner = Union[tuple(c for c in get_args(inner) if not getattr(c, "_is_protocol", False))]  # noqa: UP007
        parts = (inner, *added)
        return Annotated[parts]

    def check_written(self, value: Any, *, say: str = "this") -> Any:
        """The value, if it may be given in text; raises InputError that begins with `say` if not."""
        if not fits(value, self.written):
            raise InputError(f"{say} must be {wanted(self.written)}. Got {shown(value)}.")
        self.check(value)
        return value

    def check(self, value: Any) -> None:
        """Raise InputError for an unknown name."""
        if self.option.check is not None and isinstance(value, str):
            self.option.check(value)


def options_of(kind: Any) -> dict[str, Declared]:
    """The options that a dataclass declares, by the name of their field."""
    found: dict[str, Declared] = {}
    for field in fields(kind):
        annotation = annotations_of(kind)[field.name]
        for option in getattr(annotation, "__metadata__", ()):
            if isinstance(option, Option):
                found[field.name] = Declared(field.name, annotation, field.default, option)
    return found


OPTIONS = options_of(Options)
