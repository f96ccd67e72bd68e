"""What a promise is: a rule that a published table keeps, stated once; and what rules of classes look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from kohort.data.column import number_of, unsigned_zero
from kohort.errors import InputError, InternalError
from kohort.parameters import check_parameters
from kohort.problem.promises.counts import ClassCounts
from kohort.problem.promises.exact import Read, plain, read_parameters
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table

if TYPE_CHECKING:
    from kohort.problem.units import SensitiveAttribute

NEAR = 1e-9
"""Gaps nearer than this to 0 are compared with 0 without floating point."""


class Promise(ABC):
    """A rule that a published table keeps. Subclasses are frozen dataclasses; fields are their parameters.

    spec_key                its key under `privacy` in the spec
    only_counts             it looks at how many records are in a class and not at sensitive values
    limited_by              the parameter that is its limit: see `asked`
    attribute               the sensitive column that it is about; empty: it is about none
    stops, leaves, typical  for `kohort models`: what the promise stops, what it leaves open, a usual value
    """

    name: ClassVar[str]
    spec_key: ClassVar[str]
    stops: ClassVar[str]
    leaves: ClassVar[str]
    typical: ClassVar[str]
    only_counts: ClassVar[bool] = False
    limited_by: ClassVar[str] = ""
    attribute: str

    def __post_init__(self) -> None:
        read_parameters(self)
        self.check()
        check_parameters(self, say=f"The {{name!r}} parameter of {type(self).__name__}")

    def check(self) -> None:  # noqa: B027
        """Raise InputError for parameters that do not go together."""

    @property
    def asked(self) -> Fraction:
        """The limit that is asked for, exactly."""
        return Fraction(getattr(self, self.limited_by))

    @abstractmethod
    def describe(self) -> str:
        """The promise in words, without a full stop."""

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON holds them; the class called with them gives an equal promise."""
        parameters = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        for name, value in parameters.items():
            if isinstance(value, Fraction):
                parameters[name] = plain(value)
            elif isinstance(value, (tuple, Population)):
                parameters[name] = list(value) if isinstance(value, tuple) else str(value)
        return {name: value for name, value in parameters.items() if value is not None}


@dataclass(frozen=True, eq=False)
class ValueTree:
    """The taxonomy of a sensitive attribute; its leaves have height 0, a parent more than its children."""

    parent: np.ndarray  # int [nodes], -1 at the root
    leaf_node: np.ndarray  # int [values], the node of each value code
    height: np.ndarray  # int [nodes]

    @cached_property
    def depth(self) -> np.ndarray:
        """Steps from each node up to the root."""
        depth, node = np.zeros(len(self.parent), dtype=np.int64), self.parent
        while (below := node >= 0).any():
            depth += below
            node = np.where(below, self.parent[node], -1)
        return depth


@dataclass(frozen=True, eq=False)
class ValueContext:
    """What models need to know of a sensitive attribute's values besides their counts in classes."""

    labels: tuple[str | None, ...] = ()  # the text of each value, by code
    order: np.ndarray | None = None  # the rank of each value, for the ordered distance
    tree: ValueTree | None = None  # for the hierarchical distance
    overall: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # whole table

    def codes(self, labels: Iterable[str | None]) -> list[int]:
        """The codes of the values with these labels; a label that does not occur has none."""
        return [code for label in labels for code in self._codes_of.get(self._known(label), ())]

    def _known(self, label: str | None) -> str | None:
        """The label as the column spells it: a number may be written in another way, such as 1.50 for 1.5."""
        if label is None or label in self._codes_of:
            return label
        return self._label_of_number.get(number_of(unsigned_zero(label)), label)

    @cached_property
    def _label_of_number(self) -> dict[Decimal | None, str]:
        """The label of each number; empty where some value is not a number."""
        texts = [label for label in self.labels if label is not None]
        numbers = {number_of(text): text for text in texts}
        return {} if None in numbers else numbers

    @cached_property
    def _codes_of(self) -> dict[str | None, list[int]]:
        codes_of: dict[str | None, list[int]] = {}
        for code, label in enumerate(self.labels):
            codes_of.setdefault(label, []).append(code)
        return codes_of


NO_CONTEXT = ValueContext()
"""Enough for the models that look at counts only: k-anonymity and l-diversity."""


@dataclass(frozen=True)
class TallyRule:
    """A rule that can be judged from how often each value occurs in a class, as a search changes the class.

    kind    most: no value makes up more than `limit`; together: the listed values do not, added up;
            distinct: at least `limit` different values; entropy: at least `limit`, in nats;
            close: at most `limit` in excess of the shares that the values have in the whole table;
            within: the share of every value lies in its `band`
    values  the labels of the values that it looks at; None: all of them
    band    given the shares of the values in the whole table, the least and greatest share of each in a class
    """

    kind: Literal["most", "together", "distinct", "entropy", "close", "within"]
    limit: float
    values: tuple[str | None, ...] | None = None
    band: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None


class Model(Promise):
    """A rule that every class of a published table keeps. Its traits say which algorithms can meet it.

    bounds_shares              it is a limit on the share of sensitive values in a class
    compares_with_whole_table  whether a class keeps it depends on all records that are published
    by_sampling                it is kept by a mechanism of its own, which draws records at random
    of_table                   it looks at the labels of all classes, or at a population: see `TableModel`
    """

    bounds_shares: ClassVar[bool] = False
    compares_with_whole_table: ClassVar[bool] = False
    of_table: ClassVar[bool] = False
    by_sampling: ClassVar[bool] = False

    @property
    def survives_unions(self) -> bool:
        """Whether the union of two valid classes is always valid."""
        return True

    @property
    def survives_unions_of_people(self) -> bool:
        """Whether the same is true where people have several records, which may lie in both classes.

        Not of shares: two people may each have a value in one of two classes, and both in their union.
        """
        return self.only_counts

    @property
    def needed_k(self) -> int:
        """The k that keeps the rule exactly, of a rule about the size of every class; 1 of any other."""
        return 1

    @property
    def enough_k(self) -> int | None:
        """A size of classes that always keeps the rule, of a rule about all classes together; else None."""
        return None

    @property
    def of_people(self) -> Literal["having", "spread"]:
        """How the people of a class are counted by value, where they have several records: see `counts`."""
        return "having"

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        """For each class, whether it keeps the rule; decided exactly."""
        raise InternalError(f"{self.name} is a promise about a whole table, not about single classes.")

    def deficit(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        """For each class how far it is from keeping the rule: 0 if it keeps it, and 1 at most.

        Whether it is 0 is decided exactly, how large it is in floating point.
        """
        gaps, widest = self._gaps(counts, context)
        near = np.abs(gaps) < NEAR
        if near.any():
            gaps = np.where(near, np.where(self.holds(counts, context), 0.0, NEAR), gaps)
        return np.clip(gaps / max(widest, NEAR), 0.0, 1.0)

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        """By how much each class misses the rule (at most 0: it keeps it), and by how much it can at most."""
        return 1.0 - self.holds(counts, context), 1.0

    def tally_rule(self) -> TallyRule | None:
        """This rule in the form that searches can check as they count values; None if it has no such form."""
        return None

    def distinguishes(self, context: ValueContext) -> np.ndarray:
        """A number per sensitive value; the model treats values with the same number alike."""
        return np.arange(len(context.labels))

    def notes(self, context: ValueContext) -> tuple[str, ...]:
        """Sentences about this model and the values in the table that the user should read."""
        return ()

    def describe_for_people(self) -> str:
        """The promise in words where people are counted, who may have several records in a class."""
        return f"{self.describe()}, every person spread evenly over their records in the class"

    def refusal(
        self, whole_table: ClassCounts, context: ValueContext = NO_CONTEXT, *, k: int = 1
    ) -> str | None:
        """Why no classes of at least k records can keep the rule, and the strictest rule that is possible.

        None when the whole table, as a single class, keeps it. For a model that survives unions this is the
        exact answer: if there were valid classes, their union, the whole table, would be valid, too.
        """
        holds = self.holds(whole_table, context).all()
        return None if holds else self._refusal(whole_table, context)

    @abstractmethod
    def _refusal(self, whole: Any, context: ValueContext) -> str:
        """Why all records as one class do not keep it, and what is possible."""


def context_of(model: Model, sensitive: Mapping[str, SensitiveAttribute]) -> ValueContext:
    """What the model needs to know of its sensitive column, which is one of these."""
    return sensitive[model.attribute].context if model.attribute else NO_CONTEXT


class ComparedModel(Model):
    """A model that compares the values of a class with those of the whole table."""

    compares_with_whole_table = True

    @property
    def of_people(self) -> Literal["having", "spread"]:
        return "spread"

    def _overall(self, counts: ClassCounts, context: ValueContext) -> np.ndarray:
        if len(context.overall) != counts.n_values or (counts.n_classes and not context.overall.any()):
            raise InternalError(f"The counts of {self.attribute!r} in the whole table are needed.")
        return context.overall


@dataclass(frozen=True, eq=False)
class LabelledClasses:
    """All classes of a published table, with what is published of them.

    labels      classes by quasi-identifiers: the number of the label that a class has in each column
    sizes       records of each class
    people      of the population, how many each class fits; empty where no population is given
    elsewhere   how many people of the population fit no class
    apart       whether nobody of the population fits two classes
    """

    labels: np.ndarray
    sizes: np.ndarray
    people: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    elsewhere: int = 0
    apart: bool = True

    @property
    def known_people(self) -> np.ndarray:
        """The people of the population whom each class fits; raises where no population is given."""
        if len(self.people) != len(self.sizes):
            raise InternalError("The population that a promise compares with is needed.")
        return self.people


class TableModel(Model):
    """A promise that depends on all classes at once, or on a population that they are compared with.

    `survives_unions` says of these whether a table that keeps the promise still does where all values of a
    column are published at a higher level of its hierarchy. Searches over such levels meet them; other
    algorithms meet those that have an `enough_k`, by a search for a k.
    """

    of_table = True
    attribute = ""

    @abstractmethod
    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        """For each class, whether it keeps the promise; decided exactly where the rule is rational."""

    def refusal_in(self, whole: LabelledClasses) -> str | None:
        """Why no recoding can keep the promise, and what is possible; None if all records as one class do."""
        return None if self.holds_in(whole).all() else self._refusal(whole, NO_CONTEXT)


@dataclass(frozen=True, eq=False)
class Population:
    """A table with the quasi-identifiers of everybody; `name` says in a certificate where it came from."""

    table: Table
    name: str

    def __str__(self) -> str:
        return self.name


def _population(model: str, name: str, value: Any) -> str | Population:
    if isinstance(value, Population) or (isinstance(value, str) and value):
        return value
    try:
        if value is not None and not isinstance(value, str):
            return Population(MemoryTable(value), "a table in memory")
    except InputError:
        pass
    raise InputError(f"The {name!r} parameter of {model} must name a file, or be a table.")


PopulationSource = Annotated[Any, Read(_population)]
"""A file that has not been read yet, by its name; a `Population`; or a table of pandas, Polars or PyArrow."""
