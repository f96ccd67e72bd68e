"""kohort compile: compile the inner loops of algorithms before they are needed."""

from __future__ import annotations

from typing import Annotated

import typer

from kohort.cli.bundles import Printing, command


@command
def compile_kernels(
    algorithms: Annotated[
        list[str] | None, typer.Argument(help="Names of algorithms; without any: all of them.")
    ] = None,
    *,
    printing: Printing,
) -> None:
    """Compile the inner loops of algorithms for this processor, on all cores.

    The first command that needs an algorithm does the same for that one. Compiled code is kept for later
    commands, until Kohort, numba, Python or the processor changes.

    Example: **kohort compile mondrian improve**
    """

    from kohort.algorithms import algorithm_named
    from kohort.compiling import compile_algorithms
    from kohort.compiling.calls import recorded_algorithms

    output = printing.output()
    names = list(dict.fromkeys(algorithms or recorded_algorithms()))
    for name in names:
        algorithm_named(name)
    with output.progress() as progress:
        compiled = compile_algorithms(names, progress)
    output.result({"algorithms": names, "compiled": compiled})
    output.say(f"{compiled} kernels compiled; {', '.join(names)} can start at once.")
