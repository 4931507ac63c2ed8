"""`python -m app`: the command line. Nothing else."""

import sys
from collections.abc import Sequence

from app.cli.parser import parse
from app.settings import GIVEN, ConfigMistakesError, load


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Gives its exit code: 0 well, 1 it cannot run here, 2 the configuration is wrong."""
    flags = vars(parse(arguments))
    command = flags.pop("command")
    probed = flags.pop("probe", False)
    try:
        settings = load(flags)
    except ConfigMistakesError as error:
        for mistake in error.mistakes:
            print(mistake, file=sys.stderr)
        return 2
    for note in settings.notes:
        print(f"note: {note}", file=sys.stderr)
    if command == "check":
        from app.cli.check import check  # noqa: PLC0415 — a command pays for what it needs itself

        return check(settings, probed=probed, only=GIVEN if flags["upstream"] else None)
    from app.cli.serve import serve  # noqa: PLC0415 — as above

    return serve(settings)


if __name__ == "__main__":
    sys.exit(main())
