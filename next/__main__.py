"""`python -m next`."""

from .cli.main import app

if __name__ == "__main__":
    app(prog_name="am-proxy")
