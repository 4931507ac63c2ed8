"""From a posted body to the nouns of `protocol/request`, or to a refusal by the exact path of the first fault."""
