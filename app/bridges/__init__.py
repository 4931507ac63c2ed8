"""One file per tool type: how it is declared upstream, how past calls are retold, what a streamed call becomes."""
