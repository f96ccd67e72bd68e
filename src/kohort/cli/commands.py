"""Every command: its help, arguments and options. What it does is in another module, loaded when it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from kohort.cli.options import (
    A_TABLE,
    EVENTS,
    KEY_FILE,
    LEDGER,
    REQUIRED,
    Asked,
    ColumnReading,
    Command,
    Group,
    Job,
    Printing,
    Reading,
    ReleaseReading,
    Writing,
    a_header,
    a_k,
    a_spec,
    argument,
    command,
    option,
    switch,
)


class Secrets(Asked, bundle=True):
    """The key and the ledger."""

    GROUP = "Events, earlier releases and secrets"

    key_file: Path | None = KEY_FILE
    ledger: Path | None = LEDGER


class Anonymize(Writing, Job, Secrets, Reading, Printing):
    """Anonymize a table: solve, verify, write.

    Nothing is written unless the release passes its own verification.

    Example: **kohort anonymize people.csv --spec spec.yaml --out release.csv --certificate release.json**
    """

    GROUP = Secrets.GROUP
    EVERYDAY = ("spec", "out", "k", "certificate", "report", "time_limit")

    data: str = A_TABLE
    spec: Path = a_spec()
    out: str = option(
        "The release; its ending names the format. Or the URL of a database, with --out-table.", REQUIRED
    )
    events: Path | None = EVENTS


class Apply(Reading, Printing):
    """Recode another table by the maps of a release.

    The same table gives the same release. Of other tables nothing is promised, unless you ask for a k: then
    the result is verified, and not written if it fails.

    Example: **kohort apply maps.json new-people.csv --out new-release.csv --unseen suppress --k 10**
    """

    maps: Path = argument("The maps of a release, written by 'kohort anonymize --maps'.")
    data: str = A_TABLE
    out: Path = option("The recoded table; its ending names the format.", REQUIRED)
    unseen: str = option(
        "What to do with values that are not in the maps: error, or suppress (publish them as *).", "error"
    )
    k: int | None = a_k("Also verify the result: the models of the release, with this k.")
    key_file: Path | None = KEY_FILE


class Verify(ReleaseReading, Printing):
    """Check a release: exit 0 if every promise holds, 1 if not.

    k, l, alpha and t are measured from the file and the spec (or the certificate) alone. With the original,
    every published value must cover the original one, and everything else must be unchanged. With a
    certificate, the files must be those that it names, and every figure of it must be measured again. With
    a ledger, its releases are compared with their files, and checked together.

    Example: **kohort verify release.csv --spec spec.yaml --original people.csv --violations failing.csv**
    """

    release: str = argument(
        "The published table, made by any tool: a file, or the URL of a database with --table or --query."
    )
    spec: Path | None = a_spec(None)
    original: str | None = option(
        "Also check every value and record against the original: a file, or the URL of a database with "
        "--original-table or --original-query."
    )
    events: Path | None = option("The published events, where the release is people and events.")
    original_events: Path | None = option("The original of the events, beside --original.")
    order_file: Path | None = option("The order file, written by 'kohort anonymize --order-file'.")
    certificate: Path | None = option("Also check every claim of this certificate (JSON).")
    public_key: Path | None = option("Also check the certificate's signature by this key (PEM).")
    salt: Path | None = option(
        "Also check, with the salt given to anonymize, that the original is the certified one."
    )
    review: bool = switch(
        "review", "Also review it: dates of review, and the risk for each recipient of the spec, today."
    )
    on: str | None = option("The date of the review, such as 2027-06-30.", show_default="today")
    population: Path | None = option(
        "With --review: a newer table of the population, to compare the release with."
    )
    ledger: Path | None = LEDGER
    earlier: list[str] | None = option(
        "With --ledger, an earlier release, from the first on: its file, its original and its order file, "
        "separated by commas; may be repeated.",
        show_default=False,
    )
    key_file: Path | None = KEY_FILE
    violations: Path | None = option("Write the classes or itemsets that break a promise to this file.")
    k: int | None = a_k()


class Profile(Reading, Printing):
    """Look at a table before publishing it: its columns, suggested roles, and how many people stand out.

    No value of the table is shown unless you ask for it. A file with one basket per line is recognized.

    Example: **kohort profile people.csv**
    """

    data: str = A_TABLE
    show_values: bool = switch("show-values", "Also show each column's most common value.")


class Init(Reading, Printing):
    """Write a starting spec: a role for every column and why, hierarchies, and the other options as comments.

    It works as it is, but it is a suggestion: read it before you publish. A file with one basket per line, a
    transaction of different items, is recognized and gets a spec for items.

    Example: **kohort init people.csv --out spec.yaml --k 10**
    """

    data: str = A_TABLE
    out: Path = option("The spec file to write (YAML).", REQUIRED)
    k: int = a_k("How many records must look alike, at least.", 10)
    force: bool = switch("force", "Replace the spec if it already exists.")


class Algorithms(Asked):
    """List the algorithms: what each does, what it guarantees, which models and costs it supports.

    Example: **kohort algorithms --json**
    """

    json: bool = switch("json", "Print the result as JSON.")


class Models(Asked):
    """List the privacy models: what each stops, what it does not, a usual value, its cost on Adult.

    Example: **kohort models --json**
    """

    json: bool = switch("json", "Print the result as JSON.")


class Risk(Reading, Printing):
    """Estimate how likely people are found in a table, before and after it is anonymized by a spec.

    With a ledger, its releases are attacked together: intersected, subtracted and followed. With a table
    as well, also the next release of it: made afresh, as if there were no others, and by the spec.

    Example: **kohort risk people.csv --spec spec.yaml --sampling-fraction 0.01**
    """

    data: str | None = argument(
        "A table, or the URL of a database, with --table or --query; may be left out with --ledger.", None
    )
    spec: Path | None = a_spec(None, show_default=False)
    events: Path | None = EVENTS
    known: str | None = option(
        "The quasi-identifiers that the adversary knows, separated by commas.", show_default="all"
    )
    population: Path | None = option("A table of the population, with the same quasi-identifiers.")
    population_header: bool | None = a_header("population-header", "that table")
    sampling_fraction: float | None = option("The share of the population that the table holds.")
    threshold: float | None = option(
        "A record whose chance of being found is above this is at risk.", show_default="1/k, else 0.2"
    )
    targets: int = option("How many people the adversary looks up.", 1000)
    utility: bool = switch("utility", "Also measure how useful the release still is.")
    k: int | None = a_k()
    seed: int = option("The seed for choosing people to look up, and queries.", 0)
    ledger: Path | None = LEDGER
    key_file: Path | None = KEY_FILE


class Dossier(Job, Reading, Printing):
    """Write a dossier for those who must approve a release: risk, attacks carried out, utility, governance.

    The release is made as by 'kohort anonymize' with the same spec and seed, but not written. Nothing is
    claimed about compliance: chapters say which clauses they may answer, and what is left blank.

    Example: **kohort dossier people.csv --spec spec.yaml --out dossier.html**
    """

    data: str = A_TABLE
    spec: Path = a_spec()
    out: Path = option("The dossier: .html or .pdf.", REQUIRED)
    events: Path | None = EVENTS
    version: str = option("'internal' shows values of the data; 'public' does not.", "internal")
    targets: int = option("How many people each attack looks for.", 500)
    population: Path | None = option("A table of the population, with the same quasi-identifiers.")
    population_header: bool | None = a_header("population-header", "that table")
    sampling_fraction: float | None = option("The share of the population that the table holds.")
    intruder_form: Path | None = option(
        "Also write a blank form for human attempts (.csv to read back, .html to print)."
    )
    intruder_results: Path | None = option(
        "A form that was filled in (.csv), to be summarized in the dossier."
    )
    intruder_log: Path | None = option("", hidden=True)  # retired: refused
    key_file: Path | None = KEY_FILE


class Measuring(Asked, bundle=True):
    """What is swept besides k, and how the releases are measured."""

    l: str | None = option("Values of l, such as 2,3, for the spec's diversity.", None, "--l")  # noqa: E741
    alpha: str | None = option("Values of alpha, such as 0.2,0.5, instead of the spec's.")
    t: str | None = option("Values of t, such as 0.1,0.2, for the spec's closeness.", None, "--t")
    plot: Path | None = option("Also draw the figures (SVG): loss against k and time, or risk against loss.")
    queries: int = option("How many COUNT queries to ask for the query error.", 1000)
    seed: int = option("The seed of the queries and of the people looked up.", 0)
    time_limit: float | None = option("Seconds allowed for each release.")


_FIGURES = "Where to write the table of all figures (CSV); an interrupted run is continued."


class Compare(Measuring, Reading, Printing):
    """Compare algorithms: loss, gap, risk, query error, seconds and memory of each, for each k.

    Each release is made in a process of its own. One that is impossible is a row with the reason. Stopped and
    called again, it goes on where it stopped.

    Example: **kohort compare people.csv --spec spec.yaml --k 5,10 --algorithms mondrian,forest --out t.csv**
    """

    data: str = A_TABLE
    spec: Path = a_spec()
    out: Path = option(_FIGURES, REQUIRED)
    k: str | None = a_k("Values of k, such as 5,10,50.", show_default="the spec's")
    algorithms: str | None = option("Names, separated by commas.", show_default="all")
    costs: str | None = option("Costs to minimise, separated by commas.", show_default="the spec's")


class Frontier(Measuring, Reading, Printing):
    """Sweep k (or l, alpha or t) and show where the knee between risk and loss is, to help choose it.

    Example: **kohort frontier people.csv --spec spec.yaml --k 2,5,10,20,50 --plot frontier.svg**
    """

    data: str = A_TABLE
    spec: Path = a_spec()
    out: Path | None = option(_FIGURES)
    k: str | None = a_k("Values of k to sweep.", show_default="2,3,5,10,20,50,100")
    algorithm: str | None = option("The algorithm to use instead of the spec's.")


class Key(Asked):
    """Make keys to sign certificates with (Ed25519, PEM, as openssl makes them).

    The private key is for your eyes only. KOHORT_SIGN_PASSWORD, if it is set, becomes its password.

    Example: **kohort key office.pem**
    """

    private: Path = argument("Where to write the private key, which signs. Keep it secret.")
    public: Path | None = option(
        "Where to write the public key, for those who check signatures.", show_default="PRIVATE.pub"
    )


class Demo(Printing):
    """Do the whole job on built-in data: five years of RAND health records, made 10-anonymous and verified.

    Example: **kohort demo --out demo**
    """

    out: Path = option("The folder for the files; created if it does not exist.", Path("demo"))
    k: int = a_k("The fewest people in a class.", 10)


class Studio(Printing):
    """Open the studio: the whole job in a browser, from data to release, on this machine only.

    It prints its address, opens the browser, and ends with Ctrl-C. It builds the spec that the other commands
    read; a file that is given stays where it is.

    Example: **kohort studio people.csv**
    """

    file: Path | None = argument("A table to open; it stays where it is.", None)
    spec: Path | None = option("A spec to begin with (YAML).")
    port: int = option("The port to listen on.", 0, show_default="any that is free")
    browser: bool = option("Open the browser.", True, "--browser/--no-browser")
    demo: bool = switch("demo", "Begin with built-in data: RAND health records.")
    sign: Path | None = option("Sign certificates with this private key (PEM); see 'kohort key'.")
    upload_limit: int = option("The largest upload, in MB.", 1024)
    host: str | None = option(
        "Listen on another address than this machine's own; needs --password-file.", show_default="127.0.0.1"
    )
    name: str | None = option(
        "With --host: the names by which browsers call this machine, with commas between."
    )
    password_file: Path | None = option("With --host: a file with the password that opens the studio.")
    tls_certificate: Path | None = option("With --host: the TLS certificate (PEM).")
    tls_key: Path | None = option("With --host: the key of the TLS certificate (PEM).")
    header: bool | None = a_header("header", "a CSV or Excel file")


class Compile(Printing):
    """Compile the inner loops of algorithms for this processor, on all cores.

    The first command that needs an algorithm does the same for that one. Compiled code is kept for later
    commands, until Kohort, numba, Python or the processor changes.

    Example: **kohort compile mondrian improve**
    """

    algorithms: list[str] | None = argument("Names of algorithms; without any: all of them.", None)


# -- groups of commands ----------------------------------------------------------------------------


class Build(Reading, Printing):
    """Build a hierarchy over the values of a column and write it, to be read, edited and named in a spec.

    Example: **kohort hierarchy build people.csv age --intervals 5,10,20 --top 90 --out age.csv**
    """

    data: str = A_TABLE
    column: str = argument("The column.")
    out: Path = option("The hierarchy file to write: one line per value, the value first.", REQUIRED)
    auto: bool = switch("auto", "Choose the kind of hierarchy by the values (the default).")
    intervals: str | None = option("Intervals of numbers with these widths, such as 5,10,20.")
    origin: str | None = option("A number at which an interval begins.")
    top: str | None = option("Numbers from this one upwards become one interval.")
    bottom: str | None = option("Numbers below this one become one interval.")
    quantiles: int | None = option(
        "Split numbers into N parts of about equally many records, and each part into N again."
    )
    depth: int | None = option("How many times quantiles are split.")
    mask: str | None = option("Mask codes character by character, from the right or the left.")
    char: str | None = option("The character used for masking.")
    code: str | None = option("Codes with levels in them: icd10, us-zip, country and others.")
    date: str | None = option("Group dates into these periods, such as month,quarter,year.")
    order: str | None = option(
        "Group neighbours in this order: natural, frequency, file, or a list of the values: a,b,c."
    )
    fanout: str | None = option("How many neighbours form a group, level by level, such as 4 or 4,2.")
    frequency: int | None = option("Group the rarest values first, N at a time.")
    flat: bool = switch("flat", "Publish either the value itself or *.")
    force: bool = switch("force", "Replace the file if it already exists.")


class HierarchyFile(Asked, bundle=True):
    """How a hierarchy file is read, and the column that it is compared with."""

    file: Path = argument(
        "A hierarchy file: one line per value, followed by its ancestors; pairs; or a YAML tree."
    )
    data: str | None = option(
        "A table with values of the hierarchy: a file, or a database with --table or --query.", None, "--data"
    )
    column: str | None = option("The column of that table.")
    kind: str = option("The layout of the hierarchy file: leaf-first, pairs, tree, or auto.", "auto")
    header: bool = switch("header", "The first line of the hierarchy file holds headings.")


class Check(HierarchyFile, ColumnReading, Printing):
    """Check a hierarchy, alone or against data, and list everything that is wrong: exit 0 in order, 2 if not.

    Example: **kohort hierarchy check age.csv --data people.csv --column age --offending wrong.csv**
    """

    offending: Path | None = option(
        "Write the values that cause each problem to this file. It holds values of the data."
    )


class Show(HierarchyFile, ColumnReading, Printing):
    """Draw a hierarchy as a tree, with the leaves below each node and, given data, the records.

    Example: **kohort hierarchy show age.csv --data people.csv --column age --depth 2**
    """

    depth: int | None = option("How many levels below the root to draw.", min=0, show_default="all")
    children: int = option("How many children of a node to draw at most.", 12, min=2)


class ShowLedger(Printing):
    """Show the releases of a ledger: when, of how many people, what each promised. No cell of the data.

    The key is needed to check that nobody changed the file.

    Example: **kohort ledger show patients.ledger --key-file secret.key**
    """

    file: Path = argument("The ledger.")
    key_file: Path | None = KEY_FILE


@dataclass(frozen=True)
class Several:
    """A group of commands: what its help says, and each command with the module that carries it out."""

    help: str
    commands: dict[str, tuple[type[Asked], str]]


COMMANDS: dict[str, tuple[type[Asked], str] | Several] = {
    "anonymize": (Anonymize, "anonymize"),
    "apply": (Apply, "anonymize"),
    "verify": (Verify, "verify"),
    "profile": (Profile, "profile"),
    "init": (Init, "profile"),
    "algorithms": (Algorithms, "catalogue"),
    "models": (Models, "catalogue"),
    "risk": (Risk, "risk"),
    "dossier": (Dossier, "dossier"),
    "compare": (Compare, "compare"),
    "frontier": (Frontier, "compare"),
    "key": (Key, "catalogue"),
    "demo": (Demo, "demo"),
    "studio": (Studio, "studio"),
    "compile": (Compile, "catalogue"),
    "hierarchy": Several(
        "Build, draw and check hierarchies: what the values of a column may be generalized to.",
        {"build": (Build, "hierarchy"), "show": (Show, "hierarchy"), "check": (Check, "hierarchy")},
    ),
    "ledger": Several(
        "Look into a ledger, which ties releases of the same people together.",
        {"show": (ShowLedger, "catalogue")},
    ),
}
"""Each command with what it takes, and the module that has a function of its name to carry it out."""


def help_of(name: str) -> str:
    """What a command is for."""
    found = COMMANDS[name]
    return found.help if isinstance(found, Several) else found[0].__doc__ or ""


def command_named(name: str) -> Callable[..., None] | typer.Typer:
    """The function of a command, or a group of commands."""
    found = COMMANDS[name]
    if not isinstance(found, Several):
        return command(found[0], name, found[1])
    group = typer.Typer(cls=Group, help=found.help, no_args_is_help=True, **PLAIN)
    for own, (asked, module) in found.commands.items():
        group.command(cls=Command)(command(asked, own, module))
    return group


PLAIN: Any = {"rich_markup_mode": "markdown", "pretty_exceptions_enable": False}
