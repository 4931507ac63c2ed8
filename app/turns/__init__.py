"""The life of a turn: limits, the choice of an upstream, the pump, the log line, and those who observe it."""
