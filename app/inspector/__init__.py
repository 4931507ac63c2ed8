"""A page to try models with and to watch turns pass by. Static files, two addresses beside them, no library."""
