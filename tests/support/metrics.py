"""The samples of a page of metrics."""

from prometheus_client.parser import text_string_to_metric_families


def samples(page: str) -> dict[str, float]:
    """Every sample, under its name as Prometheus writes it."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found
