"""All questions that a worker answers, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kohort.studio.worker import describing, judging, releasing, specs, trees

_BY_THEIR_NAMES: tuple[Callable[..., Any], ...] = (
    *(describing.people, describing.people_and_events, describing.uniqueness),
    *(trees.hierarchy, trees.import_hierarchy, trees.export_hierarchy),
    *(specs.shape_in_spec, specs.algorithms, releasing.write),
    *(judging.records, judging.attack, judging.query, judging.values),
    *(judging.item_attack, judging.item_query, judging.items, judging.item_map),
)
QUESTIONS: dict[str, Callable[..., Any]] = {
    **{question.__name__: question for question in _BY_THEIR_NAMES},
    "open": describing.open_table,
    "builtin": specs.write_builtin,
    "database": specs.write_query,
    "read_spec": specs.read_spec_text,
    "read_spec_file": specs.read_spec_path,
    "check": specs.check_spec,
    "frontier": releasing.frontier_point,
    "release": releasing.make,
    "report": judging.report_parts,
    "map": judging.recoding_map,
}
