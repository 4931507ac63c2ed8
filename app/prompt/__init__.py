"""What a model is asked, in no dialect."""
