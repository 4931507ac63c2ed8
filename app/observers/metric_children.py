"""The children of metrics, each looked up once: prometheus_client checks and converts all labels at each look-up."""

from typing import Any


class Children(dict[tuple[Any, ...], Any]):
    """Children by their metric and their labels. It holds those that the metrics themselves keep, and no others."""

    def __missing__(self, key: tuple[Any, ...]) -> Any:
        """The child that is asked for first now."""
        metric, *labels = key
        child = self[key] = metric.labels(*labels)
        return child

    def add(self, amount: float, *key: Any) -> None:
        """Adds to the child of a counter. There is a row for it even if nothing is added."""
        child = self[key]
        if amount:
            child.inc(amount)
