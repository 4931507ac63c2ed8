"""What the base URL says to a browser."""

import httpx
import pytest

from tests.support.serving import serving


@pytest.mark.parametrize("path", ["/v1", "/v1/"])
def test_the_base_url_says_in_a_browser_what_is_here(path: str) -> None:
    with serving() as url, httpx.Client(base_url=url, timeout=10) as client:
        said = client.get(path, headers={"accept": "text/html"}).json()
        assert (said["name"], said["answers"]) == ("AM Proxy", "POST /v1/responses")
        for name in ("models", "description"):
            method, listed = said[name].split(" ")
            assert client.request(method, listed).status_code == 200
        assert client.head(path).status_code == 200
        assert "This is the Responses API of AM Proxy. It takes POST" in client.get("/v1/responses").text
