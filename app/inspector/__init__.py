"""A page to try models with and to watch turns: computed when somebody looks."""
