"""A scikit-learn transformer that anonymizes: `Anonymizer`, for pipelines. Needs kohort[sklearn]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from kohort.api import anonymize
from kohort.errors import InfeasibleError, InputError
from kohort.extras import missing_package
from kohort.job.public import HoldsOriginal
from kohort.job.sides import BeforeAfter, classes_of
from kohort.parameters import shown
from kohort.problem.promises import KAnonymity, Model
from kohort.risk.assess import attributes_of_both
from kohort.risk.seen import ClassIndex
from kohort.statement.options import OPTIONS
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.verification.reading import read_covering

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise missing_package("kohort.sklearn needs", "sklearn") from None

__all__ = ["Anonymizer"]

_OPTIONS = {name: declared for name, declared in OPTIONS.items() if name not in ("shuffle", "suppressed")}


def _with_options(init: Callable[..., None]) -> Callable[..., None]:
    """The constructor with the options in its signature, where scikit-learn looks for parameters."""
    own = [p for p in signature(init).parameters.values() if p.kind is not p.VAR_KEYWORD]
    options = [Parameter(n, Parameter.KEYWORD_ONLY, default=d.default) for n, d in _OPTIONS.items()]
    init.__signature__ = Signature([*own, *options])  # type: ignore[attr-defined]
    return init


class Anonymizer(HoldsOriginal, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Anonymize a table inside a pipeline.

    `fit_transform` publishes the fitted table: every promise holds for it, or there is an error. `transform`
    publishes each record like the narrowest class of the fitted table that covers it, and as `*` where none
    does; so it looks like at least k people of the *fitted* table. Records of the fitted table keep their
    class; where equal records are in several classes, `transform` takes the first one's. The
    order of the records and the index of a pandas frame are kept, as scikit-learn expects: where the table is
    given away, leave the index out and put the records in another order.
    A fitted Anonymizer refuses to be pickled: it holds the original table.

    Parameters
    ----------
    k
        The smallest class, where `privacy` says nothing else.
    quasi_identifiers
        Columns that others may know (a list, or a mapping to hierarchies as for `kohort.anonymize`); None:
        all columns but the sensitive ones and the person.
    person
        The column that says whose record it is, where a person may have several: promises then count people.
        It is left out of what is published.
    sensitive, privacy
        Columns that nobody may be tied to; the models that are promised, instead of k-anonymity alone.
    values
        `labels`: cells are published as texts such as `[20, 30)`, for an encoder of categories. `numbers`:
        numeric columns as the mean of the values that the label covers, for estimators that want numbers.
    **options
        The options of `kohort.anonymize`, such as `algorithm`, `cost`, `suppression` and `seed`, without
        `shuffle` and `suppressed`: a transformer keeps the records and their order.

    Attributes
    ----------
    release_
        The release of the fitted table: its verdict, loss, risk and utility.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [21, 22, 41, 42], "visits": [1, 1, 5, 5]})
    >>> Anonymizer(k=2, values="numbers").fit_transform(people)
        age  visits
    0  21.5     1.0
    1  21.5     1.0
    2  41.5     5.0
    3  41.5     5.0
    """

    _instead = (
        "Pickle it before it is fitted (sklearn.base.clone), and fit it where it is used. To publish later "
        "tables in the same way, write release_.maps(path) for ko.apply_maps."
    )

    @_with_options
    def __init__(
        self,
        k: int = 10,
        *,
        quasi_identifiers: Mapping[str, Any] | Sequence[str] | None = None,
        sensitive: Sequence[str] = (),
        person: str | None = None,
        privacy: Sequence[Model] | None = None,
        values: str = "labels",
        **options: Any,
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.sensitive = sensitive
        self.person = person
        self.privacy = privacy
        self.values = values
        for name, declared in _OPTIONS.items():
            setattr(self, name, options.pop(name, declared.default))
        for name in options:
            raise TypeError(f"Anonymizer has no parameter {name!r}.")

    def fit(self, X: Any, y: Any = None) -> Anonymizer:
        """Anonymize a table, and keep the release for `transform`."""
        if self.values not in ("labels", "numbers"):
            raise InputError(f"'values' must be labels or numbers. Got {self.values!r}.")
        if not isinstance(self.person, str | None):
            raise InputError(
                f"'person' must be the name of one column. Got {shown(self.person)}. A transformer cannot "
                "link records by pseudonyms, as it keeps all of them."
            )
        table = self._table(X, reset=True)
        quasi: Any = self.quasi_identifiers
        if quasi is None:
            quasi = [name for name in table.column_names if name not in (*self.sensitive, self.person)]
        self.release_ = anonymize(
            table,
            quasi_identifiers=quasi,
            sensitive=list(self.sensitive),
            person=self.person,
            others="keep",
            privacy=[KAnonymity(self.k)] if self.privacy is None else list(self.privacy),
            shuffle=False,  # a transformer keeps the order: other columns, such as y, stay beside the table
            **{name: getattr(self, name) for name in _OPTIONS},
        )
        if self.release_.suppressed_as == "drop":
            raise InfeasibleError(
                "The withheld records would not keep every promise as `*`, and a transformer cannot leave "
                "records out. Set suppression=0."
            )
        self._sides: BeforeAfter = self.release_.sides
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """The published table: every promise holds for it."""
        self.fit(X, y)
        return self._published(X, self._sides.after.of_record)

    def transform(self, X: Any) -> Any:
        """Publish each record like the narrowest class of the fitted table that covers it."""
        check_is_fitted(self)
        return self._published(X, self._class_of(MemoryTable(self._table(X, reset=False))))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the published columns: all that came in but the person."""
        names = super().get_feature_names_out(input_features)
        return names if self.person is None else names[names != self.person]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse to be pickled once it is fitted: then it holds the original table."""
        if hasattr(self, "release_"):
            return super().__reduce_ex__(protocol)
        return object.__reduce_ex__(self, protocol)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _table(self, X: Any, *, reset: bool) -> pa.Table:
        """The records as they came, after scikit-learn's own checks."""
        checked = validate_data(
            self,
            X,
            reset=reset,
            dtype=None,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            dataset = MemoryTable(X)
            return pa.table({name: dataset.arrow(name) for name in dataset.names})
        names = [f"x{i}" for i in range(checked.shape[1])]
        return pa.table({name: _arrow(name, checked[:, i]) for i, name in enumerate(names)})

    def _class_of(self, new: Table) -> np.ndarray:
        """The class of each new record, -1 where none covers it."""
        sides, n = self._sides, self._sides.n_records
        both = attributes_of_both(self.release_.dataset, new, self.release_.request)
        codes = [attribute.column.codes for attribute in both]
        alike = classes_of(codes, n + new.n_records)
        own = np.full(len(alike.sizes), -1)
        published = np.flatnonzero(~sides.withheld)[::-1]  # among equal records, the first one decides
        own[alike.of_record[:n][sides.rows[published]]] = sides.after.of_record[published]
        found = own[alike.of_record[n:]]
        strange = np.flatnonzero(found < 0)
        if len(strange):
            coverings = [read_covering(column.texts, a) for column, a in zip(sides.labels, both)]
            known = [column[n:][strange] for column in codes]
            for block, fits in ClassIndex(sides.after.codes, coverings).fitting(known):
                nearest = np.where(fits, self._widths, np.inf).argmin(axis=1)
                found[strange[block]] = np.where(fits.any(axis=1), nearest, -1)
        return found

    @property
    def _widths(self) -> np.ndarray:
        """How much each class covers, in bits; a withheld class counts as the widest."""
        sides = self._sides
        bits = [np.log2(np.maximum(covering.widths, 1)) for covering in sides.coverings]
        total = np.sum([b[codes] for b, codes in zip(bits, sides.after.codes.T)], axis=0)
        total[sides.after.of_record[sides.withheld]] = 1e9
        return total

    def _published(self, X: Any, class_of: np.ndarray) -> Any:
        """The table with its quasi-identifiers as these classes publish them, of the kind that came in."""
        new = {
            attribute.name: self._cells(place, class_of)
            for place, attribute in enumerate(self._sides.attributes)
        }
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            made = [nw.new_series(n, c.tolist(), backend=frame.implementation) for n, c in new.items()]
            index = nw.maybe_get_index(frame)
            made = made if index is None else [nw.maybe_set_index(series, index=index) for series in made]
            made_of = frame.with_columns(*made)
            return (made_of if self.person is None else made_of.drop(self.person)).to_native()
        names = [f"x{i}" for i in range(self.n_features_in_)]
        columns = [new.get(n, np.asarray(X)[:, i]) for i, n in enumerate(names) if n != self.person]
        return np.column_stack(columns)

    def _cells(self, place: int, class_of: np.ndarray) -> np.ndarray:
        sides = self._sides
        column, labels = sides.attributes[place].column, sides.labels[place]
        label = sides.after.codes[class_of, place]
        if self.values == "numbers" and column.numbers is not None:
            known = np.append(column.numbers, [0] * column.has_null).astype(np.float64)
            counted = np.append(np.ones(len(column.numbers)), [0] * column.has_null)
            covering = sides.coverings[place]
            total = covering.totals(counted)
            means = np.divide(covering.totals(known), total, out=np.full(len(total), np.nan), where=total > 0)
            everything = float(column.numbers.mean()) if len(column.numbers) else np.nan
            return np.where(class_of < 0, everything, means[label])
        texts = np.array([*labels.texts, "*"], dtype=object)
        return texts[np.where(class_of < 0, len(labels.texts), label)]


def _arrow(name: str, values: np.ndarray) -> pa.Array:
    try:
        return pa.array(values.tolist() if values.dtype == object else values)
    except (pa.ArrowException, TypeError):
        raise InputError(
            f"Column {name!r} mixes values of different types. Convert it to one type."
        ) from None
