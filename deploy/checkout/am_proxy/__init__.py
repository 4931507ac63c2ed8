"""The name of the installed package, for a checkout: it leads to the modules in the folder `app`."""

from pathlib import Path

__path__ = [str(Path(__file__).resolve().parents[3] / "app")]
