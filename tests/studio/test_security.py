"""Who may talk to the studio, and what it takes from them: one attack at a time."""

import gzip
import os
import subprocess
import sys
import zipfile
from html.parser import HTMLParser

import pytest

pytest.importorskip("starlette", reason="the studio's packages are not installed")

from kohort.errors import InputError
from kohort.studio.security import Access
from kohort.studio.server import _announce, private_folder, sweep
from kohort.studio.serving import Serving
from kohort.studio.uploads import refuse_bomb, safe_name
from studio.studio_client import HOST, ORIGIN, studio, write_people

MEGABYTE = 2**20


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with studio(tmp_path_factory.mktemp("private"), upload_limit=MEGABYTE) as found:
        yield found


@pytest.fixture
def stranger(browser):
    """The same app without the cookie."""
    browser.client.cookies.clear()
    yield browser.client
    browser.client.cookies.set(browser.access.cookie_name, browser.access.cookie)


def test_the_token_gives_a_strict_cookie_and_leaves_the_address(browser, stranger):
    answer = stranger.get(f"/?token={browser.access.token}", follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert browser.access.token.lower() not in cookie
    stranger.cookies.clear()
    again = stranger.get(f"/?token={browser.access.token}", follow_redirects=False)
    assert again.status_code == 403 and "set-cookie" not in again.headers  # good for one use


@pytest.mark.parametrize(
    "address", ["/", "/?token=wrong", "/?token=", "/sessions", "/s/x/data", "/s/x/data.json"]
)
def test_a_missing_or_wrong_token_is_refused(stranger, address):
    answer = stranger.get(address, follow_redirects=False)
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


def test_the_token_opens_nothing_but_the_first_page(browser, stranger):
    answer = stranger.get(f"/sessions?token={browser.access.token}", follow_redirects=False)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example:8000", "127.0.0.1:9999", "127.0.0.1", "", f"{HOST}.evil.example"]
)
def test_a_foreign_host_is_refused(browser, host):
    assert browser.client.get("/sessions", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://{HOST}", "http://127.0.0.1:9999"]
)
def test_a_foreign_origin_is_refused(browser, origin):
    assert browser.get("data", headers={"Origin": origin}).status_code == 403
    assert browser.post("undo", headers={"Origin": origin}).status_code == 403


def test_a_change_without_an_origin_is_refused(browser):
    assert browser.client.post(f"{browser.base}/undo").status_code == 403


def test_a_change_with_a_get_is_refused(browser):
    assert browser.get("undo", follow_redirects=False).status_code == 405


def test_every_answer_has_a_strict_content_policy(browser):
    answers = [browser.get("data"), browser.get("spec.yaml"), browser.client.get("/static/studio.js")]
    for answer in [*answers, browser.client.get("/nothing"), browser.client.get("/", headers={"Host": "x"})]:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


class Inline(HTMLParser):
    """Finds what a strict content policy would block, and what would be loaded from elsewhere."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.found += [name for name in given if name == "style" or name.startswith("on")]
        if (tag == "script" and not given.get("src", "").startswith("/static/")) or tag in (
            "style",
            "iframe",
        ):
            self.found.append(tag)
        self.found += [url for url in (given.get("src"), given.get("href")) if "://" in (url or "")]


def test_pages_have_no_inline_script_or_style(browser, tmp_path):
    browser.open(write_people(tmp_path / "people.csv"))
    for page in ("data", "people", "roles", "hierarchies", "promise", "run", "judge", "publish"):
        looked = Inline()
        looked.feed(browser.get(page).text)
        assert looked.found == [], page


@pytest.mark.parametrize(
    "path",
    [
        "files/1/../../../../etc/passwd",
        "files/1/..%2f..%2fspec.yaml",
        "files/1/%2e%2e%2fspec.yaml",
        "files/1/spec.yaml",
        "hierarchies/../../../etc/passwd",
        "hierarchies/99999/hierarchy.csv",
    ],
)
def test_no_path_escapes(browser, path):
    answer = browser.get(path, follow_redirects=False)
    assert answer.status_code in (303, 404) and "root:" not in answer.text


@pytest.mark.parametrize("path", ["../app.py", "..%2fapp.py", "%2e%2e/session.py", "/etc/passwd"])
def test_static_files_do_not_escape(browser, path):
    assert browser.client.get(f"/static/{path}").status_code in (404, 403)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("/etc/shadow", "shadow"),
        ("<script>alert(1)</script>.csv", "script_.csv"),
        ("a\x00b\n.csv", "a_b_.csv"),
        ("..", "upload"),
        ("x" * 500 + ".csv", "x" * 100 + ".csv"),
    ],
)
def test_names_of_uploads_are_tamed(given, kept):
    assert safe_name(given) == kept


def upload(browser, name, content, page="data/upload"):
    answer = browser.post(page, files={"file": (name, content)})
    assert answer.status_code == 200
    return answer.text


def test_an_upload_lands_in_the_private_folder(browser):
    upload(browser, "../../people.csv", b"age,sex\n" + b"31,f\n32,m\n" * 20)
    facts = browser.opened()
    assert facts["profile"]["records"] == 40
    session = browser.client.app.state.sessions[browser.base.rsplit("/", 1)[1]]
    assert session.source.path.startswith(str(session.folder))
    assert session.folder.stat().st_mode & 0o777 == 0o700


def test_an_upload_over_the_limit_is_refused_and_removed(browser):
    text = upload(browser, "large.csv", b"age\n" + b"31\n" * MEGABYTE)
    assert "larger than 1 MB" in text
    session = browser.client.app.state.sessions[browser.base.rsplit("/", 1)[1]]
    assert list(session.folder.rglob("large*")) == []


def test_an_upload_that_hides_its_length_is_refused(browser):
    def parts():
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="large.csv"\r\n\r\n'
        for _ in range(200):
            yield b"31\n" * 4096
        yield b"\r\n--x--\r\n"

    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = browser.post("data/upload", content=parts(), headers=kind)
    assert "larger than 1 MB" in answer.text


def test_an_upload_that_is_damaged_is_refused(browser):
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = browser.post("data/upload", content=b"nonsense", headers=kind)
    assert answer.status_code == 200 and "message error" in answer.text


def test_a_zip_bomb_is_refused(browser, tmp_path):
    bomb = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * (8 * MEGABYTE))
    assert "when it is unpacked" in upload(browser, "bomb.xlsx", bomb.read_bytes())
    assert browser.json("data")["opening"] is None


def test_a_compressed_bomb_is_refused(tmp_path):
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"31\n" * MEGABYTE))
    with pytest.raises(InputError, match="unpacked"):
        refuse_bomb(bomb, MEGABYTE)
    refuse_bomb(bomb, 4 * MEGABYTE)


NASTY = "<script>alert(1)</script>"


def test_html_in_names_and_values_is_shown_as_text(browser, tmp_path):
    rows = "".join(f'{20 + n % 30},"{NASTY}{n % 3}","""><img src=x onerror=alert(2)>"\n' for n in range(60))
    content = f'age,"{NASTY}","<b onmouseover=alert(3)>"\n{rows}'.encode()
    upload(browser, f"{NASTY}.csv", content)
    assert browser.opened()["profile"]["records"] == 60
    for number in (1, 2):
        browser.post("roles/choose", {"column": str(number), "role": "quasi-identifier"})
    pages = ("data", "people", "roles", "hierarchies/1", "promise", "run")
    for page in pages:
        text = browser.get(page).text
        assert NASTY not in text and "<img" not in text and "<b on" not in text, page
    assert "&lt;script&gt;" in browser.get("data").text


def test_a_spec_from_the_browser_names_no_files(browser, tmp_path):
    browser.open(write_people(tmp_path / "people.csv"))
    spec = "attributes: {age: {role: quasi-identifier, hierarchy: /etc/passwd}}\nprivacy: {k: 2}\n"
    upload(browser, "spec.yaml", spec.encode(), page="data/project")
    assert "opens no file" in browser.opened()["opening"]["error"]


def test_errors_reach_no_log(browser, capfd, monkeypatch):
    def fail(content):
        raise RuntimeError("a cell of the data")

    monkeypatch.setattr("kohort.studio.specs.spread", fail)
    answer = browser.get("project.kohort.yaml")
    assert answer.status_code == 500 and "RuntimeError" in answer.text
    assert "a cell of the data" not in answer.text + "".join(capfd.readouterr())


def test_a_session_of_another_tab_is_not_changed(browser, tmp_path):
    one = browser.base
    browser.open(write_people(tmp_path / "one.csv", 60))
    two = browser.base = browser.new_session()
    browser.open(write_people(tmp_path / "two.csv", 80))
    browser.post("roles/choose", {"column": "1", "role": "insensitive"})
    assert browser.json("data")["profile"]["records"] == 80
    assert browser.json("data")["spec"]["attributes"]["age"] == {"role": "insensitive"}
    browser.base = one
    assert browser.json("data")["profile"]["records"] == 60
    assert browser.json("data")["spec"]["attributes"]["age"]["role"] == "quasi-identifier"
    assert one != two


# -- another host ----------------------------------------------------------------------------------


def test_with_a_password_the_token_opens_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("kohort.studio.security._AFTER_WRONG", 0.0)
    with studio(tmp_path, password="correct horse battery", paths_allowed=False) as browser:
        page = browser.post("data/open", {"path": "/etc/passwd"}).text
        assert "only be named on the command line" in page
        client = browser.client
        client.cookies.clear()
        answer = client.get(f"/?token={browser.access.token}", follow_redirects=False)
        assert answer.headers["location"] == "/login"
        wrong = client.post("/login", data={"password": "wrong"}, headers={"Origin": ORIGIN})
        assert wrong.status_code == 403 and "set-cookie" not in wrong.headers
        right = {"password": "correct horse battery"}
        answer = client.post("/login", data=right, headers={"Origin": ORIGIN}, follow_redirects=False)
        assert answer.status_code == 303 and "httponly" in answer.headers["set-cookie"].lower()


# -- the private folder ----------------------------------------------------------------------------


def test_the_private_folder_is_removed_at_the_end(tmp_path):
    with private_folder(tmp_path) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "upload.csv").write_text("secret")
        sweep(tmp_path)
        assert folder.exists()
    assert not folder.exists()


def test_the_folder_of_a_crashed_studio_is_swept_at_the_next_start(tmp_path):
    crash = (
        "import os, pathlib, sys\n"
        "from kohort.studio.server import private_folder\n"
        "with private_folder(pathlib.Path(sys.argv[1])) as folder:\n"
        "    (folder / 'upload.csv').write_text('secret')\n"
        "    os._exit(1)\n"
    )
    subprocess.run([sys.executable, "-c", crash, str(tmp_path)], env=os.environ)
    [left] = tmp_path.iterdir()
    with private_folder(tmp_path) as folder:
        assert [folder] == list(tmp_path.iterdir()) and not left.exists()


def test_no_command_line_has_the_token(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("kohort.studio.server.webbrowser.open", opened.append)
    monkeypatch.setattr("kohort.studio.server.threading.Thread", _AtOnce)
    access, said = Access(frozenset({HOST}), 8000), []
    _announce(Serving(), access, said.append, tmp_path)
    assert access.token in said[0] and access.token not in opened[0]
    assert access.token in (tmp_path / "open.html").read_text()


class _AtOnce:
    def __init__(self, target, args, daemon):
        self.start = lambda: target(*args)
