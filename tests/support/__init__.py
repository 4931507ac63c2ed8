"""What many tests use: servers, scripts, grammars and judges."""
