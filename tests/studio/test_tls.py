"""The studio for others: really started, with a password and over TLS."""

import datetime
import http.client
import ipaddress
import re
import signal
import ssl
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlencode

import pytest

pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
pytest.importorskip("sse_starlette", reason="the studio's packages are not installed")
pytest.importorskip("cryptography", reason="cryptography, which makes the certificate, is not installed")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

pytestmark = pytest.mark.processes

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    """A folder with a password, and a certificate of 127.0.0.1 that signs itself."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "studio.example")])
    now = datetime.datetime.now(datetime.timezone.utc)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    (folder / "password").write_text(f"{PASSWORD}\n")
    return folder


@contextmanager
def started(folder):
    """The port of a studio for others; it is ended by Ctrl-C, which must be clean."""
    command = [
        *(sys.executable, "-m", "kohort", "studio", "--host", "127.0.0.1"),
        *("--password-file", folder / "password"),
        *("--tls-certificate", folder / "certificate.pem", "--tls-key", folder / "key.pem"),
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen([*map(str, command)], stdout=pipe, stderr=pipe, text=True) as process:
        try:
            line = process.stdout.readline()
            found = re.fullmatch(r"Kohort studio: https://127\.0\.0\.1:(\d+)/\n", line)  # no token
            assert found, line + process.stderr.read()
            yield int(found.group(1))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
            assert (process.returncode, out, err) == (0, "", "Kohort studio has ended.\n")
        finally:
            process.kill()


class Caller:
    """Calls the studio over TLS, and trusts its certificate alone."""

    def __init__(self, folder, port):
        self.port = port
        self.context = ssl.create_default_context(cafile=str(folder / "certificate.pem"))

    def __call__(self, method, path, form=None, **headers):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=20)
        headers |= {} if form is None else {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, None if form is None else urlencode(form), headers)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer


def test_a_studio_for_others_over_tls(tls):
    with started(tls) as port:
        call, origin = Caller(tls, port), {"Origin": f"https://127.0.0.1:{port}"}
        assert call("GET", "/").getheader("location") == "/login"
        assert 'name="password"' in call("GET", "/login").text
        wrong = call("POST", "/login", {"password": "wrong horse battery"}, **origin)
        assert wrong.status == 403 and wrong.getheader("set-cookie") is None
        foreign = {"Origin": f"http://127.0.0.1:{port}"}  # the same name without TLS is another site
        assert call("POST", "/login", {"password": PASSWORD}, **foreign).status == 403
        right = call("POST", "/login", {"password": PASSWORD}, **origin)
        cookie = right.getheader("set-cookie")
        flags = [part.strip().lower() for part in cookie.split(";")]
        assert right.status == 303 and {"secure", "httponly", "samesite=strict", "path=/"} <= set(flags)
        value = {"Cookie": cookie.split(";")[0]}
        home = call("GET", "/", **value)
        page = call("GET", home.getheader("location"), **value)
        assert page.status == 200 and 'id="path"' not in page.text and 'id="file"' in page.text
        assert call("GET", home.getheader("location")).getheader("location") == "/login"  # without the cookie
        _refuses_plain_calls(port)


def _refuses_plain_calls(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.request("GET", "/login")
        connection.getresponse()
    connection.close()


def test_a_key_of_another_certificate_is_refused_before_anything_is_served(tls, tmp_path):
    other = ec.generate_private_key(ec.SECP256R1())
    path = tmp_path / "other.pem"
    form = serialization.PrivateFormat.PKCS8
    path.write_bytes(other.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    command = [
        *(sys.executable, "-m", "kohort", "studio", "--host", "127.0.0.1"),
        *("--password-file", tls / "password"),
        *("--tls-certificate", tls / "certificate.pem", "--tls-key", path),
    ]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "TLS" in done.stderr and "Traceback" not in done.stderr, done.stderr
