"""Tiers and order of the tests, profiles of random examples, and fixtures that several folders share."""

import gc
import os
import shutil
from collections import Counter
from copy import copy
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from database_places import (
    PASSWORD,
    WRITTEN_OUT,
    DuckdbPlace,
    MariadbServer,
    MysqlPlace,
    PostgresqlPlace,
    PostgresqlServer,
    SqlitePlace,
    postgresql_programs,
)
from frames import AWKWARD, MAKERS, PLAIN
from kohort.kernels.compiled import Kernel
from trials import QUICK

# Tests that need more than this process have a marker, at the top of their file or above the test; fixtures
# that start Spark or a server bring theirs (OF_FIXTURES). `make test` leaves all of these out (--quick).
TIERS = {
    "spark": "Spark",
    "servers": "PostgreSQL and MariaDB",
    "browser": "browsers",
    "site": "site and notebooks",
    "packaging": "packages",
    "processes": "the studio and other processes of their own",
    "benchmarks": "benchmarks and experiments",
    "long": "large tables and long trials",
}
OF_FIXTURES = {"spark": "spark", "postgresql_server": "servers", "mariadb_server": "servers"}

TESTS = Path(__file__).parent
LONGEST = (
    "job/spark",
    "studio/test_browser_files.py",
    "studio/test_browser.py",
    "studio/test_basket_pages.py",
    "studio/test_walk.py",
    "publication/test_killed_around_commit.py",
    "studio/test_events.py",
    "publication/test_into_databases.py",
    "test_every_algorithm.py",
    "test_docs.py",
    "kernels/test_kernel_cache.py",
    "compiling/test_compile.py",
    "test_notebooks.py",
    "test_packaging.py",
    "job/test_public_figures.py",
    "algorithms/mondrian/test_regions.py",
    "io/test_folders.py",
    "report/test_page.py",
    "test_people.py",
    "algorithms/improve/test_improve.py",
    "algorithms/closed_records/test_optimal.py",
    "job/test_anonymize.py",
    "test_api.py",
    "test_every_frame.py",
    "cli/test_init.py",
)

slow_is_fine = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
always_the_same = bool(os.environ.get("CI"))  # what lands does not depend on luck; `make fuzz` looks further
examples = 20 if always_the_same else 10
settings.register_profile(
    "kohort",
    deadline=None,
    max_examples=examples,
    derandomize=always_the_same,
    suppress_health_check=slow_is_fine,
)
settings.register_profile("deep", deadline=None, max_examples=500, suppress_health_check=slow_is_fine)
settings.register_profile("stress", deadline=None, max_examples=8, suppress_health_check=slow_is_fine)
settings.load_profile("kohort")


@pytest.fixture
def interpreted(monkeypatch):
    """Kernels run as they are written, so that inner ones are not compiled for tests alone."""
    monkeypatch.setattr(Kernel, "__call__", lambda self, *args: self.py_func(*args))
    with np.errstate(over="ignore"):
        yield


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The folder that `kohort demo` writes; tests share it, so change copies only."""
    from cli.running import run

    folder = tmp_path_factory.mktemp("demo")
    assert run("demo", "--out", folder, "--quiet").exit == 0
    return folder


@pytest.fixture(scope="session")
def postgresql_server():
    """A PostgreSQL server of our own; without PostgreSQL or its driver, tests that need it are skipped."""
    pytest.importorskip("adbc_driver_postgresql", reason="kohort[database] is not installed")
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    server = PostgresqlServer(programs)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def own_place(postgresql_server):
    return PostgresqlPlace(postgresql_server, "own")


@pytest.fixture
def postgresql(own_place, monkeypatch):
    """An empty database of PostgreSQL; the password is in the environment."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    own_place.clear()
    return own_place


@pytest.fixture(scope="session")
def shared_place(postgresql_server):
    """A database that tests share which only read."""
    place = PostgresqlPlace(postgresql_server, "shared")
    place.run(
        "create sequence counter", "create table people (name text)", "insert into people values ('Ann')"
    )
    return place


@pytest.fixture
def shared_postgresql(shared_place, monkeypatch):
    """The same, with the password in the environment."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return shared_place


@pytest.fixture(scope="session")
def mariadb_server():
    """A MariaDB server of our own; without MariaDB or a driver for it, tests that need it are skipped."""
    pytest.importorskip("sqlalchemy", reason="kohort[database] is not installed")
    pytest.importorskip("pymysql", reason="pymysql is not installed")
    if shutil.which("mariadbd") is None or shutil.which("mariadb-install-db") is None:
        pytest.skip("MariaDB is not installed")
    server = MariadbServer()
    yield server
    server.stop()


@pytest.fixture
def mysql(mariadb_server, monkeypatch):
    """An empty database of MariaDB; the password is in the environment."""
    monkeypatch.setenv("KOHORT_DATABASE_PASSWORD", PASSWORD)
    return MysqlPlace(mariadb_server, "own")


@pytest.fixture(params=WRITTEN_OUT)
def database_place(request, tmp_path):
    """An empty database of each kind that releases are written to, by each way to it."""
    kind, _, driver = request.param.partition("+")
    if driver:
        pytest.importorskip("sqlalchemy", reason="kohort[database] is not installed")
    if kind == "mysql":
        return request.getfixturevalue("mysql")
    if kind == "postgresql":
        if driver:
            pytest.importorskip(driver, reason=f"{driver} is not installed")
        place = copy(request.getfixturevalue("postgresql"))
    else:
        package = "duckdb" if kind == "duckdb" else "adbc_driver_sqlite"
        pytest.importorskip(package, reason="kohort[database] is not installed")
        place = (DuckdbPlace if kind == "duckdb" else SqlitePlace)(tmp_path)
    place.scheme, place.has_lists = request.param, not driver and kind != "sqlite"
    place.url = place.url.replace(f"{kind}:", f"{request.param}:", 1)
    return place


def pytest_generate_tests(metafunc):
    """`native_frame` makes a dataframe from a mapping of lists: of the plain kinds and of three awkward ones.

    Which three depends on the name of the test; `test_every_frame` tries all kinds.
    """
    if "native_frame" in metafunc.fixturenames:
        first = crc32(metafunc.definition.nodeid.encode())
        kinds = [*PLAIN, *(list(AWKWARD)[(first + i) % len(AWKWARD)] for i in range(0, 18, 6))]
        metafunc.parametrize("native_frame", [MAKERS[kind] for kind in kinds], ids=kinds)


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out tests that have the marker of a tier")


def pytest_configure(config):
    if config.option.quick:  # before any test is imported, and before workers start
        os.environ[QUICK] = "1"
    for name, what in TIERS.items():
        config.addinivalue_line("markers", f"{name}: {what}; left out by --quick")
    config.left_out = Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    for fixture in OF_FIXTURES.keys() & set(item.fixturenames):
        item.add_marker(OF_FIXTURES[fixture])
    if _database(item).startswith(("postgresql", "mysql")):
        item.add_marker("servers")


def _database(item) -> str:
    """The kind of database that a test is repeated for; empty if there is none."""
    return (getattr(item, "callspec", None) and item.callspec.params.get("database_place", "")) or ""


def pytest_collection_modifyitems(items, config):
    """Leave out the tiers if asked to, and put files that take long first: so workers end together."""
    if config.option.quick:
        tiers = [next(filter(item.get_closest_marker, TIERS), None) for item in items]
        config.left_out.update(TIERS[tier] for tier in tiers if tier)
        config.hook.pytest_deselected(items=[item for item, tier in zip(items, tiers) if tier])
        items[:] = [item for item, tier in zip(items, tiers) if not tier]
    place = {TESTS / name: number for number, name in enumerate(LONGEST)}
    items.sort(
        key=lambda item: next((place[p] for p in (item.path, item.path.parent) if p in place), len(place))
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One more than there are cores: tests wait for files, time limits, servers and browsers."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Deal out whole files, in the order of the list; all files of Spark to one process, which starts it."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if "/job/spark/" in nodeid else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_collection_finish():
    """Leave out of every collection of garbage what is there for good: modules and thousands of tests.

    Compiling makes many short-lived objects. Without this, and with Python's own threshold, a tenth of its
    time is spent going through all living ones again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Each worker of xdist leaves out the same tests."""
    node.config.left_out = Counter(getattr(node, "workeroutput", {}).get("left_out"))


def pytest_terminal_summary(terminalreporter, config):
    """Say in one line what was not tested, and the command that tests it."""
    skipped = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")
    )
    left = [f"{what} ({number})" for what, number in (config.left_out + skipped).most_common()]
    if left:
        how = "make test-all" if config.left_out else ".ci/servers, which installs what apt has, as root"
        terminalreporter.write_line(f"Not tested: {', '.join(left)}. What brings it: {how}")
