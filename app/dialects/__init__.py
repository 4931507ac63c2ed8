"""One folder for each API of model servers."""
