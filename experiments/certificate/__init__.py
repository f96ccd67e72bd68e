"""Attacks on what is published beside a release."""
