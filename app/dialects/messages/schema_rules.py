"""Which schemas of a prompt Claude's server is asked to enforce, and what becomes of the others.

It compiles all schemas of a request to one grammar, whose size is limited. The format of the answer comes first, then
the tools in their order. A tool that it cannot enforce is offered without `strict`; a format becomes an instruction.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ...bridges.base import FunctionSpec
from ...prompt.nouns import Entry, JsonSchema, OutputFormat, Prompt
from ...prompt.output_format import instructed, schema_instruction
from ...protocol.warnings import ClientWarning
from .enforced_schemas import EnforcedSchema, UnenforceableError

Json = dict[str, Any]

MOST_STRICT: Final = 20
"""Tools with `strict` that one request may have."""
MOST_OPTIONAL: Final = 24
"""Properties that may be left out, in all schemas of a request."""
MOST_UNIONS: Final = 16
"""Schemas of several types, in all schemas of a request."""
NO_ARGUMENTS: Final[Json] = {"type": "object", "properties": {}, "additionalProperties": False}
TOO_MUCH: Final = "the schemas of the request are too many, or have too many optional properties or types"
_AT_THE_TOP: Final = ("anyOf", "oneOf", "allOf")
_MOST_NAMED: Final = 5
"""Tools that one warning names."""


class EnforcedPrompt(NamedTuple):
    """The parts of a prompt that may change."""

    entries: Sequence[Entry]
    functions: Sequence[FunctionSpec]
    output: OutputFormat | None
    warnings: list[ClientWarning]


def enforceable(prompt: Prompt, *, as_user: bool) -> EnforcedPrompt:
    """The prompt with schemas that the server takes. `as_user`: instructions are messages of the user."""
    rules = _Rules()
    output, entries = prompt.output, prompt.entries
    if isinstance(output, JsonSchema):
        enforced, why = rules.enforced(output.schema)
        if enforced is not None:
            output = replace(output, schema=enforced)
            rules.described("text.format.schema", "the schema of 'text.format'")
        else:
            instruction = schema_instruction(output, tools=bool(prompt.functions))
            entries = tuple(instructed([*entries], instruction, as_user=as_user))
            output = None
            rules.unenforced_format(why)
    functions = [rules.tool(spec) for spec in prompt.functions]
    rules.described("tools", "schemas of tools")
    return EnforcedPrompt(entries, functions, output, rules.warnings())


class _Rules:
    """Counts over all schemas of one request."""

    def __init__(self) -> None:
        self._strict = self._optional = self._unions = 0
        self._moved: dict[str, None] = {}
        self._warnings: list[ClientWarning] = []
        self._lenient: dict[str, str] = {}
        """Tools whose `strict` has no effect, and why."""
        self._chosen: list[str] = []
        """Tools whose parameters were a choice between schemas."""

    def enforced(self, schema: Json, *, of_tool: bool = False) -> tuple[Json | None, str]:
        """The schema as the server takes it; or None, and why it does not."""
        try:
            own = EnforcedSchema(schema)
        except UnenforceableError as error:
            return None, str(error)
        if of_tool and own.schema.get("type") != "object":
            return None, "it is not that of one object"
        optional, unions = self._optional + own.optional, self._unions + own.unions
        if optional > MOST_OPTIONAL or unions > MOST_UNIONS or (of_tool and self._strict >= MOST_STRICT):
            return None, TOO_MUCH
        self._optional, self._unions = optional, unions
        self._moved |= own.moved
        return own.schema, ""

    def tool(self, spec: FunctionSpec) -> FunctionSpec:
        """The tool, with `strict` if the server enforces its schema."""
        if spec.strict:
            enforced, why = self.enforced(spec.parameters or NO_ARGUMENTS, of_tool=True)
            if enforced is not None:
                self._strict += 1
                return replace(spec, parameters=enforced)
            self._lenient[spec.name] = why
            spec = replace(spec, strict=None)
        if spec.parameters is not None and any(key in spec.parameters for key in _AT_THE_TOP):
            self._chosen.append(spec.name)
            return replace(spec, parameters=merged_choice(spec.parameters))
        return spec

    def described(self, param: str, where: str) -> None:
        """Warns of what is only described in the schemas so far."""
        moved, self._moved = self._moved, {}
        if moved:
            details = f"{_names(moved)} in {where}: the model reads it, but its server does not enforce it."
            self._warnings.append(ClientWarning(param, "JSON schema", details))

    def unenforced_format(self, why: str) -> None:
        """Warns of a format that became an instruction."""
        details = (
            f"'text.format: json_schema' is sent to the model as an instruction: its server cannot enforce it, {why}."
        )
        self._warnings.append(ClientWarning("text.format", "json_schema", details))

    def warnings(self) -> list[ClientWarning]:
        """All that was changed."""
        if self._lenient:
            names = [f"'{name}' ({why})" for name, why in self._lenient.items()]
            details = f"'strict' has no effect on tools that this model's server cannot enforce: {_some(names)}."
            self._warnings.append(ClientWarning("tools", "strict", details))
        if self._chosen:
            names = [f"'{name}'" for name in self._chosen]
            details = (
                f"Choices between schemas at the top of parameters are only described to the model: {_some(names)}."
            )
            self._warnings.append(ClientWarning("tools", "JSON schema", details))
        return self._warnings


def merged_choice(schema: Json) -> Json:
    """Parameters without a choice between schemas at the top, which the server refuses: with the properties of all."""
    chosen = {key: schema[key] for key in _AT_THE_TOP if key in schema}
    rest = {key: value for key, value in schema.items() if key not in chosen}
    properties: Json = {}
    for variants in chosen.values():
        for variant in variants if isinstance(variants, list) else ():
            own = _referred(variant, schema)
            held = own.get("properties") if isinstance(own, dict) else None
            properties |= held if isinstance(held, dict) else {}
    properties |= rest["properties"] if isinstance(rest.get("properties"), dict) else {}
    lines = [rest["description"]] if isinstance(rest.get("description"), str) else []
    lines.append(msgspec.json.encode(chosen).decode())
    return {**rest, "properties": properties, "description": "\n\n".join(lines)}


def _referred(variant: Any, schema: Json) -> Any:
    """The definition that a schema refers to, or itself."""
    reference = variant.get("$ref") if isinstance(variant, dict) else None
    if not isinstance(reference, str):
        return variant
    for key in ("$defs", "definitions"):
        held = schema.get(key)
        if isinstance(held, dict) and reference.startswith(f"#/{key}/"):
            return held.get(reference.removeprefix(f"#/{key}/"))
    return None


def _names(keys: dict[str, None]) -> str:
    return _some([f"'{key}'" for key in keys])


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
