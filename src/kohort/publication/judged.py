"""How a release is judged, wherever its records are: its risk, its utility, a summary, and its maps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from kohort.pipeline.maps import Maps, maps_of

if TYPE_CHECKING:
    from kohort.pipeline import VerifiedRelease
    from kohort.report.summary import Summary


class JudgedRelease:
    """Methods of a verified release that say how safe and how useful it is."""

    def risk(self, **options: Any) -> dict[str, Any]:
        """How likely people are found, before and after; the options are those of `kohort.assess_risk`."""
        from kohort.risk import assess_risk

        return assess_risk(self._verified, **options)

    def utility(self, **options: Any) -> dict[str, Any]:
        """How useful the release still is; the options are those of `kohort.measure_utility`."""
        from kohort.utility import measure_utility

        return measure_utility(self._verified, **options)

    def summary(self) -> Summary:
        """What a person asks first: is it safe, what did it cost, what became of each column.

        It prints well in a terminal and in a notebook, shows no value, and `to_dict()` makes it plain data.

        >>> import pyarrow as pa, kohort as ko
        >>> people = pa.table({"age": [21, 22, 41, 42]})
        >>> print(ko.anonymize(people, quasi_identifiers=["age"], k=2).summary())  # doctest: +ELLIPSIS
        Every promise holds...
        4 records in 2 classes, the smallest with 2; 0 withheld...
        """
        from kohort.report.summary import summary_of

        return summary_of(self._verified)

    def _repr_html_(self) -> str:
        """How a notebook shows a release: the verdict and its figures, no value of the data."""
        from kohort.report.html import notebook_page

        return notebook_page(self._verified)

    def value_maps(self, spec_sha256: str | None = None) -> Maps:
        """The maps of every value; refused unless a value is published alike wherever it occurs."""
        release = self._verified
        maps = maps_of(release.request, release.problem, release.recoding, algorithm=release.algorithm)
        return replace(maps, spec_sha256=spec_sha256)

    @property
    def _verified(self) -> VerifiedRelease:
        return cast("VerifiedRelease", self)
