"""What is asked of a release: one tree of fields, which YAML, keywords and flags state.

Its names are loaded when they are asked for: the command line needs the options alone to answer `--help`.
"""

from kohort.late import late_names

_HOMES = {"columns": "Column", "items": "Items", "statement": "Statement"}
__all__, __getattr__ = late_names(__name__, {f"{__name__}.{home}": name for home, name in _HOMES.items()})
