"""Model servers: they are asked, and their answers are read."""
