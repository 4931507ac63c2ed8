"""Which tests one worker runs one after the other, and that each is run once."""

from types import SimpleNamespace

import pytest

from tests.support.shared_out import SharedOut, unit_of

FILES = ("a", "d", "http/abuse/b", "http/abuse/c")
NAMES = [f"tests/{file}.py::test_it[{number}]" for file in FILES for number in range(3)]


@pytest.mark.parametrize(
    ("one", "other", "are_together"),
    [
        ("tests/test_a.py::test_it", "tests/test_a.py::test_that[a::b]", True),
        ("tests/test_a.py::test_it", "tests/test_b.py::test_it", False),
        ("tests/http/abuse/test_a.py::test_it", "tests/http/abuse/test_b.py::test_it", True),
        ("tests/inspector/test_page_list.py::test_it", "tests/inspector/test_page_watch.py::test_it", True),
        ("tests/inspector/test_page_list.py::test_it", "tests/inspector/test_routes.py::test_it", False),
    ],
)
def test_what_shares_a_server_or_a_browser_is_run_by_one_worker(one: str, other: str, *, are_together: bool) -> None:
    assert (unit_of(one) == unit_of(other)) is are_together


class Node:
    """A worker that takes tests."""

    shutting_down = False

    def __init__(self) -> None:
        self.gateway = SimpleNamespace(id="gw")
        self.taken: list[int] = []

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.taken += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


def test_every_test_is_given_to_one_worker_once() -> None:
    config = SimpleNamespace(getvalue=lambda _: ["popen", "popen"], option=SimpleNamespace(loadscopereorder=False))
    sharing, nodes = SharedOut(config), [Node(), Node()]
    for node in nodes:
        sharing.add_node(node)
        sharing.add_node_collection(node, NAMES)
    sharing.schedule()
    done: list[tuple[str, int]] = []
    while waiting := [node for node in nodes if node.taken]:
        for node in waiting:
            number = node.taken.pop(0)
            done.append((NAMES[number], nodes.index(node)))
            sharing.mark_test_complete(node, number)
    assert sorted(name for name, _ in done) == NAMES
    assert len({worker for name, worker in done if "abuse" in name}) == 1
    assert sharing.tests_finished
    assert [node.shutting_down for node in nodes] == [True, True]
