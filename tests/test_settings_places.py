"""Where each key and value of a TOML text is."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from app.settings.toml_places import places_of

TEXT = '''\
# a comment = 1
top = 1   # [not.a.table]
"quoted # key".'lit = "eral"' = { a = 1, "b" = [ 1, { c = 2 } ] }

[plain]
multi = """
[in.a.string]
key = "x" ""\\""""
after = \'\'\'
'' a = 1
\'\'\'
dotted.key = 2024-01-01 00:00:00
list = [   # with a comment ]
  "]",
  [ 1,
    2 ],
]
[ spaced . "out" ]
x = 1
[[rows]]
name = "a"
[rows.sub]
deep = true
[[rows.sub.more]]
z = 1
[[rows]]
name = "b"
'''


PLACES: tuple[tuple[str | int, ...], ...] = (
    ("top",),
    ("quoted # key",),
    ("quoted # key", 'lit = "eral"'),
    ("quoted # key", 'lit = "eral"', "a"),
    ("quoted # key", 'lit = "eral"', "b", 0),
    ("quoted # key", 'lit = "eral"', "b", 1, "c"),
    ("plain", "dotted"),
    ("plain", "dotted", "key"),
    ("plain", "list"),
    ("plain", "list", 0),
    ("spaced",),
    ("spaced", "out"),
    ("rows",),
    ("rows", 1),
    ("rows", 0, "sub", "more", 0),
)


def test_every_form_of_key_and_value_is_found() -> None:
    lines = {path: TEXT.count("\n", 0, place.key[0]) + 1 for path, place in places_of(TEXT).items()}
    assert lines == {
        ("top",): 2,
        ("quoted # key",): 3,
        ("quoted # key", 'lit = "eral"'): 3,
        ("quoted # key", 'lit = "eral"', "a"): 3,
        ("quoted # key", 'lit = "eral"', "b"): 3,
        ("quoted # key", 'lit = "eral"', "b", 0): 3,
        ("quoted # key", 'lit = "eral"', "b", 1): 3,
        ("quoted # key", 'lit = "eral"', "b", 1, "c"): 3,
        ("plain",): 5,
        ("plain", "multi"): 6,
        ("plain", "after"): 9,
        ("plain", "dotted"): 12,
        ("plain", "dotted", "key"): 12,
        ("plain", "list"): 13,
        ("plain", "list", 0): 14,
        ("plain", "list", 1): 15,
        ("plain", "list", 1, 0): 15,
        ("plain", "list", 1, 1): 16,
        ("spaced",): 18,
        ("spaced", "out"): 18,
        ("spaced", "out", "x"): 19,
        ("rows",): 20,
        ("rows", 0): 20,
        ("rows", 0, "name"): 21,
        ("rows", 0, "sub"): 22,
        ("rows", 0, "sub", "deep"): 23,
        ("rows", 0, "sub", "more"): 24,
        ("rows", 0, "sub", "more", 0): 24,
        ("rows", 0, "sub", "more", 0, "z"): 25,
        ("rows", 1): 26,
        ("rows", 1, "name"): 27,
    }


def test_the_place_of_a_setting_is_its_name_and_its_value() -> None:
    places = places_of(TEXT)
    shown = {path: (TEXT[slice(*place.key)], TEXT[slice(*place.value)]) for path, place in places.items()}
    table = '{ a = 1, "b" = [ 1, { c = 2 } ] }'
    assert [shown[path] for path in PLACES] == [
        ("top", "1"),
        ('"quoted # key"', '"quoted # key"'),
        ("'lit = \"eral\"'", table),
        ("a", "1"),
        ("1", "1"),
        ("c", "2"),
        ("dotted", "dotted"),
        ("key", "2024-01-01 00:00:00"),
        ("list", '[   # with a comment ]\n  "]",\n  [ 1,\n    2 ],\n]'),
        ('"]"', '"]"'),
        ("spaced", '[ spaced . "out" ]'),
        ('"out"', '[ spaced . "out" ]'),
        ("rows", "[[rows]]"),
        ("rows", "[[rows]]"),
        ("more", "[[rows.sub.more]]"),
    ]


def paths(value: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Every path in what the standard reader read."""
    match value:
        case dict():
            inner = [paths(below, (*path, name)) for name, below in value.items()]
        case list():
            inner = [paths(below, (*path, place)) for place, below in enumerate(value)]
        case _:
            inner = []
    return {path}.union(*inner) - {()}


def test_the_standard_reader_sees_the_same_keys() -> None:
    assert set(places_of(TEXT)) == paths(tomllib.loads(TEXT))


SPACE = st.sampled_from(["", " ", "\t"])
BREAK = st.sampled_from(["", " ", "\n", " # ] } = \n\n", "\r\n"])
NAMES = st.sampled_from(["a", "b", "c-1", "7", '"d e"', "'f.g'", '"\\u00e9#"', "h", "i", "j"])
KEYS = st.lists(NAMES, min_size=1, max_size=3).flatmap(
    lambda names: SPACE.map(lambda space: space + f"{space}.{space}".join(names) + space)
)
ATOMS = st.sampled_from(
    [
        "1",
        "-2.5e3",
        "true",
        "1979-05-27 07:32:00",
        '"s#]"',
        r'"\\\""',
        "'l\\'",
        '"""a\n"b" [x]\n"""',
        "'''\n''y = 1'''",
        '""',
        '"""""""',
    ]
)


def arrays(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Arrays over several lines."""
    return st.tuples(BREAK, st.lists(inner, max_size=3), BREAK).map(
        lambda made: f"[{made[0]}{f'{made[2]},{made[0]}'.join(made[1])}{made[2]}]"
    )


def inline_tables(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Tables on one line."""
    return st.lists(st.tuples(KEYS, inner), max_size=3).map(
        lambda pairs: "{" + ",".join(f"{key}= {value} " for key, value in pairs) + "}"
    )


VALUES = st.recursive(ATOMS, lambda inner: arrays(inner) | inline_tables(inner), max_leaves=6)
STATEMENTS = (
    st.tuples(KEYS, VALUES).map(lambda made: f"{made[0]}={made[1]}")
    | KEYS.map(lambda key: f"[{key}]")
    | KEYS.map(lambda key: f"[[{key}]]")
)


@given(st.lists(STATEMENTS, max_size=8).map("  # note\n".join))
def test_whatever_the_standard_reader_accepts_is_read_to_the_same_keys(text: str) -> None:
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(places_of(text)) == paths(read)
