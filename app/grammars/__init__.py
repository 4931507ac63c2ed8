"""Checks texts against Lark grammars, in processes of their own."""
