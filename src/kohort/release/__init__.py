"""A release as users hold it: made, judged, shown and written, with all of its artefacts or none."""
