"""What the grammar requires of single values."""


def broken(rule: str) -> AssertionError:
    """The error for a broken rule; the rule is said as it should be."""
    return AssertionError(f"broken rule: {rule}")


def require(holds: bool, rule: str) -> None:
    """Refuse a stream that breaks a rule."""
    if not holds:
        raise broken(rule)


def is_number(value: object) -> bool:
    """A whole number from 0 on; true and 1.0 are not."""
    return type(value) is int and value >= 0


def is_text(value: object) -> bool:
    """A string."""
    return isinstance(value, str)


def is_object(value: object) -> bool:
    """A JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> bool:
    """A JSON array."""
    return isinstance(value, list)


def is_call_id(value: object) -> bool:
    """A string that says something: Codex drops a call without."""
    return is_text(value) and value != ""
