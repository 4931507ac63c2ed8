"""What several processes of one server share: their table in memory, the port, and messages from their supervisor."""
