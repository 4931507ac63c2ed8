"""Which file is read if none is named, and whose it is."""

from pathlib import Path

import pytest

from app.settings import ConfigMistakesError, load
from tests.support.running import run
from tests.support.terminal import am_proxy, terminal

CODEX = 'model = "gpt-6"\nmodel_provider = "am"\n[model_providers.am]\nname = "AM Proxy"\n'
NOT_READ = "config.toml is not read: it is the configuration of Codex; AM Proxy's own is am-proxy.toml"
BOTH = "config.toml is not read, because there is am-proxy.toml"


def port(number: int) -> str:
    """A configuration that can be told from others."""
    return f"[server]\nport = {number}\n"


@pytest.mark.parametrize(
    ("files", "read", "notes"),
    [
        ({}, (None, 8080), ()),
        ({"am-proxy.toml": port(1)}, ("am-proxy.toml", 1), ()),
        ({"config.toml": port(2)}, ("config.toml", 2), ()),
        ({"am-proxy.toml": port(1), "config.toml": port(2)}, ("am-proxy.toml", 1), (BOTH,)),
        ({"am-proxy.toml": "", "config.toml": port(2)}, ("am-proxy.toml", 8080), (BOTH,)),
        ({"am-proxy.toml": port(1), "config.toml": "title = 'A site'"}, ("am-proxy.toml", 1), ()),
        ({"am-proxy.toml": port(1), "config.toml": "no TOML"}, ("am-proxy.toml", 1), ()),
        ({"am-proxy.toml": port(1), "config.toml": CODEX}, ("am-proxy.toml", 1), (NOT_READ,)),
        ({"config.toml": CODEX}, (None, 8080), (NOT_READ,)),
        ({"config.toml": "\ufeff" + CODEX.replace("\n", "\r\n")}, (None, 8080), (NOT_READ,)),
        ({"config.toml": 'model = "gpt-6"\n' + port(2)}, "config.toml: model: is not a setting here", ()),
        ({"config.toml": CODEX, "home/.config/am-proxy/am-proxy.toml": port(3)}, ("home", 3), (NOT_READ,)),
        ({"home/.config/am-proxy/am-proxy.toml": port(3)}, ("home", 3), ()),
        ({"home/.config/am-proxy/config.toml": port(3)}, (None, 8080), ()),
        ({"am-proxy.toml": port(1), "home/.config/am-proxy/am-proxy.toml": port(3)}, ("am-proxy.toml", 1), ()),
        ({"config.toml": port(2), "home/.config/am-proxy/am-proxy.toml": port(3)}, ("config.toml", 2), ()),
    ],
)
def test_the_first_of_the_usual_files_is_read(
    files: dict[str, str], read: str | tuple[str | None, int], notes: tuple[str, ...], tmp_path: Path
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    environ = {"HOME": str(tmp_path / "home")}
    if isinstance(read, str):
        with pytest.raises(ConfigMistakesError) as caught:
            load({}, environ, tmp_path)
        assert str(caught.value).startswith(read)
        return
    settings = load({}, environ, tmp_path)
    shown = str(tmp_path / "home/.config/am-proxy/am-proxy.toml") if read[0] == "home" else read[0]
    assert (settings.file, settings.server.port, settings.notes) == (shown, read[1], notes)


@pytest.mark.parametrize(
    ("environ", "is_read"),
    [
        ({"XDG_CONFIG_HOME": "{folder}/xdg", "HOME": "{folder}"}, True),
        ({"XDG_CONFIG_HOME": "{folder}/xdg"}, True),
        ({"XDG_CONFIG_HOME": "xdg", "HOME": "{folder}"}, False),
        ({"XDG_CONFIG_HOME": "", "USERPROFILE": "{folder}"}, False),
        ({}, False),
    ],
)
def test_the_folder_of_the_user_is_where_other_programs_look(
    environ: dict[str, str], *, is_read: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "xdg" / "am-proxy"
    folder.mkdir(parents=True)
    (folder / "am-proxy.toml").write_text('[[keys]]\nname = "a"\nvalue = "file:key"\n')
    (folder / "key").write_text("let-me-in")
    environ = {name: value.format(folder=tmp_path) for name, value in environ.items()}
    assert [key.name for key in load({}, environ, tmp_path).keys] == ["a"] * is_read


@pytest.mark.parametrize("by_flag", [True, False])
def test_the_configuration_of_codex_is_refused_where_it_is_named(tmp_path: Path, *, by_flag: bool) -> None:
    (tmp_path / "config.toml").write_text(CODEX)
    with pytest.raises(ConfigMistakesError) as caught:
        load({"config": "config.toml"} if by_flag else {}, {} if by_flag else {"AM_CONFIG": "config.toml"}, tmp_path)
    assert str(caught.value) == "config.toml: is the configuration of Codex; AM Proxy's own is am-proxy.toml"


@pytest.mark.parametrize("name", ["am-proxy.toml", "config.toml", "xdg/am-proxy/am-proxy.toml"])
def test_check_and_doctor_and_serve_name_the_file_that_they_use(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('[upstreams.u]\nvia = "demo"\n[models.m]\nupstream = "u"\n')
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    shown = str(path) if "/" in name else name
    assert f"{shown} is valid: 1 upstream, 1 model, no keys" in run("check", folder=tmp_path, environ=environ).stderr
    assert run("doctor", folder=tmp_path, environ=environ).stdout.startswith(f"configuration: {shown}\n")
    with terminal(am_proxy("serve", "--port", "0"), folder=tmp_path, environ=environ, columns=200) as serve:
        serve.wait_for(f"  config  {shown}")
