"""What is known of providers: facts, and words of their errors."""
