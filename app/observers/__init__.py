"""Who sees every turn pass, and changes none: counters, spans, the log of bodies, the ring that the inspector shows."""
