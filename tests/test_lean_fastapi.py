"""FastAPI is whole for other programs in the process, although its models are loaded late."""

import subprocess
import sys

import pytest

from tests.support.running import ROOT

MODELS = "fastapi.openapi.models"
PROGRAM = f"""
import sys
from app.lean_fastapi import FastAPI
assert "{MODELS}" not in sys.modules
import fastapi, fastapi.security
assert "{MODELS}" not in sys.modules
{{use}}
assert "pydantic" in sys.modules["{MODELS}"].BaseModel.__module__
"""
USES = {
    "a document": """
app = FastAPI()
@app.get("/things/{number}", dependencies=[fastapi.Depends(fastapi.security.APIKeyHeader(name="x-key"))])
def thing(number: int) -> str: ...
assert app.openapi()["paths"]["/things/{number}"]["get"]["security"] == [{"APIKeyHeader": []}]
""",
    "a scheme": """
scheme = fastapi.security.OAuth2PasswordBearer("token")
assert isinstance(scheme.model, fastapi.security.oauth2.OAuth2Model)
from fastapi.openapi.models import OAuth2
assert isinstance(scheme.model, OAuth2)
assert fastapi.security.OAuth2().model.model_dump(exclude_none=True)["flows"] == {}
""",
    "the models themselves": f"""
import {MODELS}
assert {MODELS}.OpenAPI(openapi="3.1.0", info={{"title": "t", "version": "1"}}).info.title == "t"
""",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_models_are_loaded_when_they_are_used(use: str) -> None:
    assert _run(PROGRAM.replace("{use}", use)) == (0, "")


def test_what_was_imported_before_is_left_as_it_is() -> None:
    models = f"sys.modules['{MODELS}']"
    assert _run(f"import fastapi, sys; first = {models}; import app.lean_fastapi; assert {models} is first") == (
        0,
        "",
    )


def _run(program: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr
