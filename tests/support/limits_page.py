"""docs/limits.md, of which `make scan` and `make scan-answers` write a part each."""

from typing import Final

from tests.support.running import ROOT

PAGE: Final = ROOT / "docs" / "limits.md"


def write(name: str, text: str) -> None:
    """Puts this text between the two comments of this name, in the place of what was written there before."""
    page = PAGE.read_text()
    begin, end = f"<!-- {name}: written by a command, not to be edited -->\n", f"<!-- end of {name} -->\n"
    before, begun, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    assert (begun, ended) == (begin, end), f"{PAGE} lacks the comments of {name!r}"
    PAGE.write_text(f"{before}{begin}\n{text.strip()}\n\n{end}{after}")
