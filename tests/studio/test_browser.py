"""The studio in a real Chromium: the whole walk, trees by mouse and by keyboard, Stop, reloads, two tabs."""

import filecmp
import os
from pathlib import Path

import pytest

from cli.running import run as command
from studio.real_browser import first_page, needs_chromium, started_chromium, started_studio
from studio.studio_client import write_people

pytestmark = [pytest.mark.browser, needs_chromium]

STEPS = ("data", "people", "roles", "hierarchies", "promise", "run", "judge", "publish")
WIDE = {"width": 1300, "height": 900}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


@pytest.fixture(scope="module")
def chromium():
    with started_chromium() as found:
        yield found


def go_on(page, step):
    page.click("#next")
    page.wait_for_selector(f"html[data-ready] body[data-page={step}]")


def test_the_whole_walk_on_the_demo(chromium, tmp_path):
    with started_studio("--demo") as address, first_page(chromium, address, viewport=WIDE) as page:
        assert "token" not in page.url
        assert "20,190 records" in page.inner_text("#loaded")
        go_on(page, "people")
        assert "5,912 people" in page.inner_text("#counted")
        go_on(page, "roles")
        assert "of 5,912 people" in page.inner_text("#uniqueness")
        page.focus("#role-8-quasi-identifier")  # income, by one key
        page.keyboard.press("s")
        page.wait_for_selector("#role-8-sensitive[aria-pressed=true]:focus")
        page.click("#undo")
        page.wait_for_selector("#role-8-quasi-identifier[aria-pressed=true]")
        go_on(page, "hierarchies")
        go_on(page, "promise")
        page.fill("#k", "12")
        page.keyboard.press("Enter")
        page.wait_for_selector("#spec:has-text('k: 12')")
        go_on(page, "run")
        page.click("#start")
        page.wait_for_selector("#run-status:text-is('done')")
        go_on(page, "judge")
        page.wait_for_selector("#verdict")
        page.click("#riskiest button >> nth=0")
        page.wait_for_selector("#records-table tbody tr")
        page.click("#run-attack")
        page.wait_for_selector("#attack-answer:not(:empty)")
        go_on(page, "publish")
        page.click("#write")
        page.wait_for_selector("#files")
        for selector in ("#download-data", *_links(page)):
            with page.expect_download() as waiting:
                page.click(selector)
            waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    _repeats_on_the_command_line(tmp_path)


def _links(page):
    """The files that are needed to verify the release and to make it again."""
    names = ("release.csv", "certificate.json", "spec.yaml", "order.json")
    return [f"#files a:text-is('{name}')" for name in names]


def _repeats_on_the_command_line(folder):
    again, spec = folder / "again.csv", folder / "spec.yaml"
    assert command("anonymize", folder / "health.csv", "--spec", spec, "--out", again).exit == 0
    assert filecmp.cmp(again, folder / "release.csv", shallow=False)
    original = ("--original", folder / "health.csv", "--order-file", folder / "order.json")
    assert command("verify", folder / "release.csv", "--spec", spec, *original).exit == 0
    certificate = ("--certificate", folder / "certificate.json")
    assert command("verify", folder / "release.csv", *certificate).exit == 0


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    table = write_people(tmp_path_factory.mktemp("browser") / "people.csv")
    with started_studio(table) as found:
        yield found


@pytest.fixture(scope="module")
def page(chromium, address):
    """A page that the tests of this file share."""
    with first_page(chromium, address, viewport=WIDE) as page:
        yield page


def show(page, step):
    page.goto(f"{page.url.split('/s/')[0]}/s/{page.url.split('/s/')[1].split('/')[0]}/{step}")


def labels(page):
    """The labels of the tree, each with its depth."""
    items = page.query_selector_all("[role=treeitem]")
    return [(int(i.get_attribute("aria-level")), i.query_selector(".label").inner_text()) for i in items]


TOWNS = [(1, "*"), (2, "Ayr"), (2, "Bath"), (2, "Cork"), (2, "Deal")]


def show_towns(page):
    show(page, "hierarchies/3")
    page.select_option("#kind", "flat")
    page.click("#build")
    page.wait_for_selector("#tree-editor")
    assert labels(page) == TOWNS


def test_a_tree_is_edited_by_mouse(page):
    show_towns(page)
    page.click("#node-1")
    page.click("#node-2", modifiers=["Control"])
    page.fill("#label", "West")
    page.click("#edit-split")
    page.wait_for_selector(".label:text-is('West')")
    page.drag_and_drop("#node-4", "#node-1")  # Cork onto West
    page.wait_for_selector("#node-4[aria-level='3']")
    assert labels(page) == [(1, "*"), (2, "West"), (3, "Ayr"), (3, "Bath"), (3, "Cork"), (2, "Deal")]
    assert "- West:" in page.inner_text("#spec")
    page.click("#undo")
    page.wait_for_selector("#node-4[aria-level='2']")
    page.click("#undo")
    page.wait_for_selector(".label:text-is('West')", state="detached")
    assert labels(page) == TOWNS


def test_a_tree_is_edited_by_keyboard_alone(page):
    show_towns(page)
    page.focus("#node-0")
    for key in ("ArrowDown", "Space", "ArrowDown", "Space"):
        page.keyboard.press(key)
    assert page.get_attribute("#node-2", "aria-selected") == "true"
    page.focus("#label")
    page.keyboard.type("West")
    page.keyboard.press("Enter")  # a new group of the selected
    page.wait_for_selector(".label:text-is('West')")
    page.focus("#node-5")
    page.keyboard.press("x")
    page.focus("#node-1")
    page.keyboard.press("v")  # Deal into West
    page.wait_for_selector("#node-4:has-text('Deal')")
    page.focus("#node-1")
    page.keyboard.press("F2")
    page.keyboard.type("Seaside")
    page.keyboard.press("Enter")
    page.wait_for_selector(".label:text-is('Seaside')")
    assert labels(page) == [(1, "*"), (2, "Seaside"), (3, "Ayr"), (3, "Bath"), (3, "Deal"), (2, "Cork")]
    page.focus("#node-1")
    page.keyboard.press("Delete")
    page.wait_for_selector(".label:text-is('Seaside')", state="detached")
    assert {depth for depth, _ in labels(page)} == {1, 2}


def test_two_tabs_have_sessions_of_their_own(page):
    other = page.context.new_page()
    other.goto(page.url.split("/s/")[0] + "/")
    other.wait_for_selector("#loaded")
    show(other, "roles")
    show(page, "roles")
    assert other.url != page.url
    other.click("#role-1-insensitive")
    other.wait_for_selector("#role-1-insensitive[aria-pressed=true]")
    page.reload()
    page.wait_for_selector("#role-1-quasi-identifier[aria-pressed=true]")
    assert "age: {role: quasi-identifier" in page.inner_text("#spec")


SLOW = """
attributes:
  patient: {role: identifier}
  age: {role: quasi-identifier, hierarchy: {intervals: [2, 4, 8, 16, 32]}}
  sex: {role: quasi-identifier}
  town: {role: quasi-identifier}
  illness: {role: sensitive}
  height: {role: quasi-identifier, hierarchy: {intervals: [2, 4, 8, 16, 32]}}
privacy: {k: 3}
algorithm: improve
time_limit: 300
"""


@pytest.fixture
def slow_page(chromium, tmp_path):
    """A page of a studio whose run takes half a minute."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SLOW)
    table = write_people(tmp_path / "people.csv", 20_000, hard=True)
    with started_studio(table, "--spec", spec) as address, first_page(chromium, address) as page:
        yield page


def test_a_run_survives_a_reload_and_stop_keeps_the_best_so_far(slow_page):
    page = slow_page
    page.goto(page.url.replace("/data", "/run"))
    page.click("#start")
    page.wait_for_selector("#run-status:text-is('running')")
    page.reload()
    page.wait_for_selector("#run-status:text-is('running')")
    page.wait_for_selector("#run-chart polyline", state="attached")  # cost and bound, while it runs
    page.click("#stop")
    page.wait_for_selector("#run-status:text-is('stopped by hand')")
    page.goto(page.url.replace("/run", "/publish"))
    assert "stopped by hand" in page.inner_text("main")


@pytest.mark.skipif("AXE_CORE" not in os.environ, reason="AXE_CORE does not name axe.min.js of axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_of_axe(chromium, address, scheme):
    source = Path(os.environ["AXE_CORE"]).read_text()
    with first_page(chromium, address, viewport=WIDE, color_scheme=scheme) as page:
        base = page.url.removesuffix("/data")
        page.goto(f"{base}/run")
        page.select_option("#algorithm", "mondrian")
        page.wait_for_selector("#spec:has-text('algorithm: mondrian')")
        page.click("#start")
        page.wait_for_selector("#run-status:text-is('done')")
        page.goto(f"{base}/judge")
        page.wait_for_selector("#verdict")
        for step in STEPS:
            page.goto(f"{base}/{step}")
            page.evaluate(source)
            found = page.evaluate("tags => axe.run({ runOnly: tags })", WCAG)
            serious = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
            assert serious == [], (step, [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in serious])


def test_what_is_typed_counts_without_a_press_of_apply(page):
    show(page, "promise")
    page.wait_for_selector("html[data-ready]")
    page.fill("#diversity-0", "2")
    page.click("#next")
    page.wait_for_selector("html[data-ready] body[data-page=run]")
    assert "l: 2" in page.inner_text("#spec")
    show(page, "promise")
    assert page.input_value("#diversity-0") == "2"
    page.fill("#diversity-0", "two")
    page.click("#next")
    page.wait_for_selector("#message:has-text('must be a number')")  # and it says what was not applied
    assert page.url.endswith("/promise")


def test_two_tabs_of_a_session_do_not_overwrite_each_other(page):
    show(page, "promise")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("html[data-ready]")
    page.fill("#k", "25")
    page.keyboard.press("Enter")
    page.wait_for_selector("#spec:has-text('k: 25')")
    other.fill("#suppression", "5")
    other.click("#apply")
    other.wait_for_selector("#message:has-text('changed since this page was drawn')")
    assert other.input_value("#k") == "25" and "suppression" not in other.inner_text("#spec")
    for value in ("5", "6", "7"):  # one change after the other is no conflict
        page.fill("#k", value)
        page.keyboard.press("Enter")
    page.wait_for_selector("#spec:has-text('k: 7')")
    assert page.inner_text("#message") == ""
    other.close()


def test_a_refused_upload_says_why(chromium, tmp_path):
    large = tmp_path / "large.csv"
    large.write_text("age,town\n" + "33,Ayr\n" * 400_000)
    table = write_people(tmp_path / "people.csv")
    with (
        started_studio(table, "--upload-limit", 1) as address,
        first_page(chromium, address, viewport=WIDE) as page,
    ):
        show(page, "people")
        page.set_input_files("#file", large)
        page.click("#upload")
        page.wait_for_selector("#message:has-text('limit of uploads')")
