"""The studio in a real Chromium: people and events, baskets, and the walk by keyboard alone."""

import filecmp

import pytest

import kohort as ko
from cli.running import run as command
from kohort.io.data_files import write_basket_file
from kohort.io.tables import write_table
from kohort.statement.items import BasketShape
from studio.real_browser import first_page, needs_chromium, started_chromium, started_studio
from studio.studio_client import write_people
from two_file_cases import many

pytestmark = [pytest.mark.browser, needs_chromium]

WIDE = {"width": 1300, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def chromium():
    with started_chromium() as found:
        yield found


def show(page, step):
    page.goto(f"{page.url.split('/s/')[0]}/s/{page.url.split('/s/')[1].split('/')[0]}/{step}")
    page.wait_for_selector(f"html[data-ready] body[data-page={step}]")


def download(page, folder, *names):
    """Download files of the page Publish."""
    for name in names:
        with page.expect_download() as waiting:
            page.click(f"#files a:text-is('{name}')")
        waiting.value.save_as(folder / name)


def test_people_and_events(chromium, tmp_path):
    people, events = many()
    write_table(people, tmp_path / "patients.csv")
    write_table(events, tmp_path / "stays.csv")
    with (
        started_studio(tmp_path / "patients.csv") as address,
        first_page(chromium, address, viewport=WIDE) as page,
    ):
        show(page, "people")
        page.fill("#path", str(tmp_path / "nothing.csv"))
        page.click("#open-events")
        page.wait_for_selector("[role=alert]:has-text('does not exist')")
        page.set_input_files("#file", tmp_path / "stays.csv")
        page.click("#upload")
        page.wait_for_selector("#counted:has-text('60 people and 60 events')")
        page.select_option("#items", "ill")
        page.click("#apply")
        page.wait_for_selector("#spec:has-text('items: ill')")
        page.click("#undo")
        page.wait_for_selector("#spec:not(:has-text('items: ill'))")
        page.reload()
        assert "60 events" in page.inner_text("#counted") and page.input_value("#key") == "patient"
        page.click("#close-events")
        page.wait_for_selector("#open-events")
        page.fill("#path", str(tmp_path / "stays.csv"))
        page.click("#open-events")
        page.wait_for_selector("#close-events")
        show(page, "promise")
        page.fill("#k", "2")
        page.fill("#suppression", "50")
        page.click("#apply")
        page.wait_for_selector("#frontier-chart .point >> nth=2")
        show(page, "run")
        page.select_option("#algorithm", "mondrian")
        page.wait_for_selector("#spec:has-text('algorithm: mondrian')")
        page.click("#start")
        page.wait_for_selector("#run-status:text-is('done')")
        show(page, "publish")
        page.click("#write")
        download(page, tmp_path, "release.csv", "events.csv", "spec.yaml", "certificate.json")
    checked = command(
        *("verify", tmp_path / "release.csv", "--events", tmp_path / "events.csv"),
        *("--spec", tmp_path / "spec.yaml", "--certificate", tmp_path / "certificate.json"),
    )
    assert checked.exit == 0, checked.err


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_baskets(chromium, tmp_path, viewport):
    table = ko.datasets.generate_baskets(400, n_items=20, mean_size=3, seed=2)
    file = tmp_path / "baskets.txt"
    write_basket_file(table, file, BasketShape())
    with started_studio(file) as address, first_page(chromium, address, viewport=viewport) as page:
        assert "400 baskets" in page.inner_text("#loaded")
        for step in ("people", "roles", "hierarchies"):
            page.click("#next")
            page.wait_for_selector(f"html[data-ready] body[data-page={step}]")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.select_option("#kind", "items-id")
        page.click("#build")
        page.wait_for_selector("#spec:has-text('order: id')")
        page.click("[role=treeitem][aria-level='2'] >> nth=0")
        page.fill("#label", "the first")
        page.click("#edit-rename")
        page.wait_for_selector(".label:text-is('the first')")
        show(page, "promise")
        page.fill("#k", "4")
        page.check("#suppress")
        page.click("#apply")
        page.wait_for_selector("#spec:has-text('suppress: true')")
        show(page, "run")
        page.click("#start")
        page.wait_for_selector("#run-status:text-is('done')")
        show(page, "judge")
        page.wait_for_selector("#verdict")
        page.click("#show-records")
        page.wait_for_selector("#records-table tbody tr")
        page.click("#run-attack")
        page.wait_for_selector("#attack-answer:has-text('knew 2 items')")
        page.select_option("#asked-items", index=[0, 1])
        page.click("#ask-query")
        page.wait_for_selector("#query-answer:has-text('baskets in the original')")
        page.click("#show-map")
        page.wait_for_selector("#map-tables tr >> nth=5")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        show(page, "publish")
        page.click("#write")
        download(page, tmp_path, "release.txt", "spec.yaml")
    again = tmp_path / "again.txt"
    assert command("anonymize", file, "--spec", tmp_path / "spec.yaml", "--out", again).exit == 0
    assert filecmp.cmp(again, tmp_path / "release.txt", shallow=False)


def tab_to(page, selector):
    """Go to a part of the page as people without a mouse do."""
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab does not reach {selector}")


def press(page, selector, then):
    tab_to(page, selector)
    page.keyboard.press("Enter")
    page.wait_for_selector(then)


def test_the_walk_by_keyboard_alone(chromium, tmp_path):
    table = write_people(tmp_path / "people.csv")
    with started_studio(table) as address, first_page(chromium, address, viewport=WIDE) as page:
        press(page, "#next", "html[data-ready] body[data-page=people]")
        tab_to(page, "#unit-record")
        page.keyboard.press("ArrowDown")  # a person who may have several records
        tab_to(page, "#column")
        page.keyboard.type("patient")
        press(page, "#apply", "#counted:has-text('100 people with 200 records')")
        press(page, "#next", "html[data-ready] body[data-page=roles]")
        tab_to(page, "#role-4-sensitive")
        page.keyboard.press("s")
        page.wait_for_selector("#role-4-sensitive[aria-pressed=true]:focus")
        press(page, "#next", "html[data-ready] body[data-page=hierarchies]")
        press(page, "#next", "html[data-ready] body[data-page=promise]")
        tab_to(page, "#k")
        page.keyboard.press("Control+A")
        page.keyboard.type("4")
        page.keyboard.press("Enter")
        page.wait_for_selector("#spec:has-text('k: 4')")
        press(page, "#next", "html[data-ready] body[data-page=run]")
        tab_to(page, "#algorithm")
        page.keyboard.type("full")
        page.wait_for_selector("#spec:has-text('algorithm: full-domain')")
        press(page, "#start", "#run-status:text-is('done')")
        press(page, "#next", "html[data-ready] body[data-page=judge]")
        page.wait_for_selector("#lattice-picture rect.chosen")
        press(page, "#lattice-nodes summary", "#lattice-nodes[open]")
        press(page, "#riskiest button", "#records-table tbody tr")
        press(page, "#run-attack", "#attack-answer:not(:empty)")
        tab_to(page, "#condition-0")
        page.keyboard.type("age")
        tab_to(page, "#to-0")
        page.keyboard.press("Home")  # ages from the least to the least: the release can only guess
        press(page, "#ask-query", "#query-answer:has-text('expected from the release')")
        assert page.inner_text("#message") == ""
        press(page, "#next", "html[data-ready] body[data-page=publish]")
        press(page, "#write", "#files")
