"""All questions that a worker answers, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kohort.studio.worker import describing, judging, releasing, specs, trees

QUESTIONS: dict[str, Callable[..., Any]] = {
    "open": describing.open_table,
    "people": describing.people,
    "people_and_events": describing.people_and_events,
    "uniqueness": describing.uniqueness,
    "hierarchy": trees.hierarchy,
    "import_hierarchy": trees.import_hierarchy,
    "export_hierarchy": trees.export_hierarchy,
    "builtin": specs.write_builtin,
    "database": specs.write_query,
    "read_spec": specs.read_spec_text,
    "read_spec_file": specs.read_spec_path,
    "shape_in_spec": specs.shape_in_spec,
    "check": specs.check_spec,
    "algorithms": specs.algorithms,
    "frontier": releasing.frontier_point,
    "release": releasing.make,
    "write": releasing.write,
    "report": judging.report_parts,
    "records": judging.records,
    "attack": judging.attack,
    "query": judging.query,
    "values": judging.values,
    "map": judging.recoding_map,
    "item_attack": judging.item_attack,
    "item_query": judging.item_query,
    "items": judging.items,
    "item_map": judging.item_map,
}
