"""What a model is asked, in no dialect: a conversation, tools and settings, and the rules that belong to no dialect."""
