"""Load what a report needs while the release is made: two packages that take a second together."""

from __future__ import annotations

from threading import Thread

__all__ = ["load_ahead"]


def load_ahead() -> Thread:
    """Begin to load scikit-learn and to start the engine that draws charts, in a thread; returns it."""
    thread = Thread(target=_load, name="kohort-report")
    thread.start()
    return thread


def _load() -> None:
    """Load both. Whoever needs what is not installed tells so."""
    from kohort.charts import svg_of

    svg_of({"data": {"values": []}, "mark": "bar"})
    try:
        import sklearn.linear_model  # noqa: F401
    except ImportError:
        return
