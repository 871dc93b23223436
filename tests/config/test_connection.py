"""Proxies and certificates as the environment names them."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from skillopt_cli.config.connection import (
    client_arguments,
    connection_to,
    is_here,
    sparing_this_machine,
)
from skillopt_cli.core.errors import ConfigError

PROXY = "http://proxy.test:3128"


@pytest.mark.parametrize(
    ("url", "variables", "used"),
    [
        ("http://model.test/v1", {"HTTP_PROXY": PROXY}, "HTTP_PROXY"),
        ("https://model.test/v1", {"HTTP_PROXY": PROXY}, ""),
        ("https://model.test/v1", {"HTTPS_PROXY": PROXY}, "HTTPS_PROXY"),
        ("https://model.test/v1", {"ALL_PROXY": PROXY}, "ALL_PROXY"),
        ("http://model.test/v1", {"all_proxy": PROXY, "ALL_PROXY": "x://"}, "all_proxy"),
        ("http://model.test/v1", {"http_proxy": PROXY, "HTTP_PROXY": "x://"}, "http_proxy"),
        ("http://model.test/v1", {"HTTP_PROXY": " "}, ""),
        ("http://model.test/v1", {}, ""),
        # This machine needs none, whatever is named.
        *(
            (f"http://{host}:8000/v1", {"ALL_PROXY": "socks5://127.0.0.1:1080"}, "")
            for host in (
                *("127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.9.9.9", "0.0.0.0"),
                *("localhost.", "[::ffff:127.0.0.1]"),
            )
        ),
        ("http://app.localhost/v1", {"ALL_PROXY": PROXY}, ""),
        # NO_PROXY.
        ("http://model.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "model.test"}, ""),
        ("http://model.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "other.test, .test"}, ""),
        ("http://model.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "*.test"}, ""),
        ("http://model.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "*"}, ""),
        ("http://model.test:80/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "model.test:80"}, ""),
        ("http://model.test/v1", {"ALL_PROXY": PROXY, "no_proxy": "MODEL.test"}, ""),
        ("http://10.1.2.3/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, ""),
        ("http://[fd00::1]/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "fd00::/8"}, ""),
        ("http://[fd00::1]/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "[fd00::1]"}, ""),
        *(
            ("https://api.model.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": spared}, "")
            for spared in (
                *("api.model.test.", "other.test model.test", "https://api.model.test/"),
                *("*model.test", "api.*", "api.model.test:443", "\tmodel.test\n"),
            )
        ),
        ("http://model.test./v1", {"ALL_PROXY": PROXY, "NO_PROXY": "model.test"}, ""),
        ("http://model.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "model.test:80"}, ""),
        ("http://10.1.2.3/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "10.1.*"}, ""),
        ("https://model.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "model.test:80"}, "ALL_PROXY"),
        ("http://model.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "api.*"}, "ALL_PROXY"),
        ("http://model.test/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "del.test"}, "ALL_PROXY"),
        ("http://model.test:81/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "model.test:80"}, "ALL_PROXY"),
        ("http://11.1.2.3/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8,x,,"}, "ALL_PROXY"),
    ],
)
def test_the_proxy_of_an_address(url: str, variables: dict[str, str], used: str) -> None:
    found = connection_to(url, variables)
    assert (found.proxy_from, found.proxy) == (used, PROXY if used else "")
    assert (used in found.proxy_hint) if used else not found.proxy_hint
    assert client_arguments(url, variables)["proxy"] == (PROXY if used else None)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        ("socks5://127.0.0.1:1080", "speaks socks5"),
        ("socks5h://user:sesame@proxy.test:1080", "speaks socks5h"),
        ("socks4://127.0.0.1:1", "speaks socks4"),
        ("ftp://proxy.test", "is no address"),
        ("http://[::1", "is no address"),
        ("http://proxy.test:99999", "is no address"),
        ("http://proxy.test:port", "is no address"),
        ("http://", "is no address"),
        ("nonsense://", "is no address"),
        ("://", "is no address"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(
    variable: str, proxy: str, said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        client_arguments("http://model.test/v1", {variable: proxy})
    assert caught.value.message.startswith(f"{variable} names a proxy that {said}")
    assert "unset it" in caught.value.hint and "NO_PROXY" in caught.value.hint
    assert "sesame" not in caught.value.message


def test_a_proxy_without_a_scheme_is_an_http_one_and_its_password_is_not_shown() -> None:
    found = connection_to("http://model.test/v1", {"ALL_PROXY": "me:sesame@proxy.test:3128"})
    assert found.proxy == "http://me:sesame@proxy.test:3128"
    assert "sesame" not in repr(found)


def certificates(name: str, text: str = "") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize(
    ("variable", "path", "said"),
    [
        ("SSL_CERT_FILE", "/nope.pem", "names /nope.pem, and there is no such file"),
        ("SSL_CERT_FILE", ".", "names ., and there is no such file"),
        ("SSL_CERT_FILE", "garbage.pem", "names garbage.pem, which holds no certificate"),
        ("SSL_CERT_FILE", "empty.pem", "names empty.pem, which holds no certificate"),
        ("SSL_CERT_DIR", "/nope", "names /nope, and there is no such folder"),
        ("SSL_CERT_DIR", "/nope:/neither", "names /nope:/neither, and there is no such folder"),
        ("SSL_CERT_DIR", "garbage.pem", "names garbage.pem, and there is no such folder"),
    ],
)
def test_certificates_that_cannot_be_read_are_named_by_their_variable(
    variable: str, path: str, said: str
) -> None:
    certificates("garbage.pem", "not a certificate\n")
    certificates("empty.pem")
    with pytest.raises(ConfigError) as caught:
        client_arguments("https://model.test/v1", {variable: path})
    assert caught.value.message == f"{variable} {said}"
    assert variable in caught.value.hint
    # Nothing is read of them where no certificate is checked.
    plain = client_arguments("http://127.0.0.1:8000/v1", {variable: path})
    assert plain["verify"] is client_arguments("https://model.test/v1", {})["verify"]


def test_certificates_of_a_folder_are_trusted_and_others_are_told_apart() -> None:
    found = client_arguments("https://model.test/v1", {"SSL_CERT_DIR": "."})
    assert isinstance(found["verify"], ssl.SSLContext)
    told = connection_to("https://model.test/v1", {"SSL_CERT_DIR": "."}).certificate_hint
    assert told.startswith("SSL_CERT_DIR is set")
    told = connection_to("https://model.test/v1", {"REQUESTS_CA_BUNDLE": "/x"}).certificate_hint
    assert "SSL_CERT_FILE" in told and "REQUESTS_CA_BUNDLE" in told
    assert "SSL_CERT_FILE" in connection_to("https://model.test/v1", {}).certificate_hint


def test_another_program_calls_this_machine_without_a_proxy() -> None:
    spared = sparing_this_machine({"NO_PROXY": "model.test", "ALL_PROXY": PROXY})
    assert connection_to("http://model.test/v1", spared).proxy == ""
    assert spared["no_proxy"] == spared["NO_PROXY"] == "model.test,localhost,127.0.0.1,::1"


@pytest.mark.parametrize("host", ["", "model.test", "10.0.0.1", "localhost.test", "1.127.0.0"])
def test_other_machines_are_not_this_one(host: str) -> None:
    assert not is_here(host)
