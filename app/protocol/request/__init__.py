"""What a client may post, validated once, with the exact path of the first fault."""
