"""The browser that the page is tried in: the machine's own, if there is one."""

import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for name in NAMES if (found := shutil.which(name))), None)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # tests open one page after the other on many ports: no process for each of them
    "--disable-site-isolation-trials",
    "--renderer-process-limit=1",
]
"""Flags: nothing but the page."""
